import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.core.text import in_a_line, shown


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a b.dcm", "a b.dcm"),
        ("Größe", "Größe"),
        ("im\udcff\udcfe", r"im\xff\xfe"),
        ("\ud800\udc7f\udfff\udcff", r"\ud800\udc7f\udfff\xff"),
    ],
)
def test_bytes_that_are_not_text_are_shown_as_such(name: str, text: str) -> None:
    assert shown(name) == text


def test_nothing_begins_a_line_or_commands_a_terminal() -> None:
    assert in_a_line("a\n  9  evaluated\r\x1b[31m\u2028b") == r"a\n  9  evaluated\r\x1b[31m\u2028b"


@given(st.text(st.characters(categories=["Cs", "L", "Cc"])))
def test_whatever_is_shown_is_text_and_is_shown_as_it_is(name: str) -> None:
    assert shown(name).encode().decode() == shown(name) == shown(shown(name))


@given(st.text())
def test_a_line_stays_one_line(text: str) -> None:
    assert len(in_a_line(text.encode("utf-8", "ignore").decode()).splitlines()) <= 1
