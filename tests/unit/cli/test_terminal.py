"""Streams that a command writes to: no text of others commands a terminal."""

import os
import subprocess
import sys
import unicodedata

import click
import pytest

from nodulebench.cli.terminal import guarded, harmless


def test_all_control_characters_and_orders_of_writing_are_shown() -> None:
    for character in map(chr, range(0x3000)):
        is_order = unicodedata.bidirectional(character) in {
            *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
        }
        is_command = (
            unicodedata.category(character) in ("Cc", "Zl", "Zp") and character not in "\n\t"
        )
        if is_order or is_command:
            assert harmless(character) == character.encode("unicode_escape").decode()


def test_words_of_every_language_stay_as_they_are() -> None:
    words = "Größe 5\u202fmm – 肺结节\u3000检出 █░ 🫁 é नि\tx\n"
    assert harmless(words) == words


def test_only_standard_output_has_our_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    passed = click.style("PASS", fg="green", bold=True)
    with guarded():
        mine = click.style("PASS", fg="green", bold=True)
        click.echo(mine + "\x1b[8mhidden\x1b[7m")
        click.secho("loud", bold=True)
        click.secho("quiet", bold=False, fg="cyan")
        click.echo("\x1b[32mpassed\x1b[0m, says its name")
        click.echo("\x1b[31mx" + mine, err=True)
        sys.stderr.writelines(["y\x1b[2J", "\r"])
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        passed + "\\x1b[8mhidden\\x1b[7m",
        click.style("loud", bold=True),
        click.style("quiet", bold=False, fg="cyan"),
        "\\x1b[32mpassed\\x1b[0m, says its name",
    ]
    assert err == "\\x1b[31mxPASS\ny\\x1b[2J\\r"


def test_colours_are_left_out_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with guarded():
        click.secho("loud", fg="red", bold=True)
        click.secho("quiet", bold=False)
    assert capsys.readouterr().out == "loud\nquiet\n"
    assert click.style("x", bold=True) == "\x1b[1mx\x1b[0m"


@pytest.mark.parametrize("is_bold", [True, False])
def test_no_secret_word_is_left_in_a_styled_row(
    is_bold: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with guarded():
        click.secho("a row", bold=is_bold)
    assert capsys.readouterr().out == "a row\n"


def test_streams_are_given_back_and_guarded_once() -> None:
    before = sys.stdout, sys.stderr
    with guarded():
        inner = sys.stdout
        assert not hasattr(inner, "buffer")
        with guarded():
            assert sys.stdout is inner
        assert sys.stdout is inner
    assert (sys.stdout, sys.stderr) == before


def test_a_locale_of_ascii_does_not_circumvent_it() -> None:
    program = (
        "import sys; from nodulebench.cli import run; "
        "sys.argv[1:] = ['formats', '\\x9b2J\u2013']; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"},
    )
    assert done.returncode == 1
    assert "'\\x9b2J\u2013'" in done.stderr.decode()
