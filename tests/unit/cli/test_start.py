"""What the command line does before any command runs."""

import os
import subprocess
import sys

import pytest

from nodulebench.cli import main


def test_a_plugin_of_another_package_has_no_say_in_how_records_are_checked(tmp_path):
    about = tmp_path / "meddler-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: meddler\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[pydantic]\nmeddler = meddler\n")
    (tmp_path / "meddler.py").write_text("raise SystemExit('the plugin was loaded')\n")
    load = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    check = "import nodulebench.core.protocol"
    for first, status in (("", 1), ("import nodulebench.cli", 0)):
        program = "\n".join((load, first, check))
        bare = {name: value for name, value in os.environ.items() if "PYDANTIC" not in name}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=bare
        )
        assert done.returncode == status, done.stderr


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("ev", ["plain,evaluate"]),
        ("compare --no", ["plain,--no-worse-than"]),
        ("annotate review de", ["plain,decide"]),
    ],
)
def test_the_shell_completes_commands_and_options(
    typed: str, completed: list[str], monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setenv("_NODULEBENCH_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"nodulebench {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.split() == completed
