"""Similar names are one developer, and names that mix scripts are refused."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.core.errors import InputError
from nodulebench.custody.developers import Names, require_one_developer, same_developer
from nodulebench.custody.permitted_tests import NotPermittedError, require_known
from nodulebench.custody.policy import Reuse


def are_same(*names: str) -> bool:
    known = Names()
    return len({known.first(name) for name in names}) == 1


@pytest.mark.parametrize(
    "name",
    [
        "Exa\u034fmple",  # combining grapheme joiner
        "Example\ufe0f",  # variation selector
        "Ex\u3164ample",  # Hangul filler
        "Ex\uffa0ample",
        "Ex\u2800ample",
        "E\U000e0101xample",
        "\u202eExample",
        "Exam\u200fple",
        "\uff25xample",  # full width
        "Ex\u0430mple",  # Cyrillic a
        "\u0415\u0425\u0410\u041c\u0420L\u0415",  # capitals, all Cyrillic but one
        "\u0395xample",  # Greek capital epsilon
        "Examp1e",
        "ExampIe",
        "Exarnple",
        "\U0001d404xample",  # mathematical bold E
        "\u1d07xample",  # small capital E
    ],
)
def test_similar_names_are_one_developer(name: str) -> None:
    assert are_same("Example", name)
    assert are_same(name, "Example", name)


@pytest.mark.parametrize(
    "names",
    [
        ("Example", "Exemple"),
        ("Lab A", "Lab B"),
        ("北京大学", "北京大字"),
        ("Siemens", "Samsung"),
        ("Médical", "Medical"),
        ("Lab 2", "Lab 3"),
    ],
)
def test_different_names_are_two_developers(names: tuple[str, str]) -> None:
    assert not are_same(*names)


@pytest.mark.parametrize("word", ["νico", "ΝΕΑ ΙΑΤΡΙΚΗ", "Сомех", "ԼՕՍՏ"])
def test_neither_case_makes_a_developer(word: str) -> None:
    assert are_same(word, word.upper(), word.lower(), word.title())


def test_whole_words_of_another_script_resemble_latin_ones() -> None:
    assert are_same("COMEX", "СОМЕХ")  # Cyrillic
    assert are_same("Vivo", "νινο")  # Greek
    assert are_same("NEO", "ΝΕΟ")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Ex\u0430mple", "is written in letters of cyrillic and latin"),
        ("\u13aa\u13ac", "is written in letters of cherokee"),
        ("\u0395xample", "is written in letters of greek and latin"),
    ],
)
def test_names_that_mix_scripts_are_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        require_one_developer(name)


@pytest.mark.parametrize(
    "name",
    [
        "Example Ltd. 2",
        "Médical Œuvre",
        "推想医疗 InferVision",
        "エルピクセル",
        "루닛 Lunit",
        "Медицина",
        "1",
    ],
)
def test_names_of_one_script_are_not(name: str) -> None:
    require_one_developer(name)


def test_a_policy_can_list_who_may_come() -> None:
    reuse = Reuse(developers=("Example Ltd", "Other"))
    require_known("EXAMPLE  ltd", reuse)
    with pytest.raises(NotPermittedError, match="developer 'example': is not among the developers"):
        require_known("Example", reuse)
    with pytest.raises(InputError, match="developer: has no name"):
        require_known("\u3164", reuse)


@pytest.mark.slow
@given(st.text(max_size=20))
def test_a_name_is_one_developer_with_what_is_written_down_of_it(name: str) -> None:
    assert are_same(name, same_developer(name), unicodedata.normalize("NFD", name))


def test_scripts_that_are_written_together_may_be_in_one_name() -> None:
    require_one_developer("\u3105北한あ〆カーa")


def test_names_that_were_met_before_are_known() -> None:
    known = Names(["Example", "Other"])
    assert known.first("EXAMP1E") == "example"
    assert known.first("0ther") == "other"
    assert known.first("Third") == "third"


INVISIBLE = (
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2060, 0x206F), (0xFE00, 0xFE0F)),
    *((0x034F, 0x034F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""Unicode 15, DerivedCoreProperties.txt, Default_Ignorable_Code_Point, and the empty Braille."""


@pytest.mark.parametrize(("first", "last"), INVISIBLE)
def test_what_unicode_shows_to_no_one_counts_for_nothing(first: int, last: int) -> None:
    for code in (first, (first + last) // 2, last):
        assert same_developer(f"a{chr(code)}b") == "ab"
    for code in (first - 1, last + 1):
        if unicodedata.category(chr(code)) not in ("Cc", "Cf"):
            assert same_developer(f"a{chr(code)}b") != "ab"
