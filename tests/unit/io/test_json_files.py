import gzip
from pathlib import Path

import pytest

from nodulebench.core.errors import InputError, Problems
from nodulebench.io import json_files as json_text
from nodulebench.io.json_files import number, numbers, position_numbers, read_json, write_json


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x.json: is empty."),
        (b" \n", "x.json: is empty."),
        (b"{\n  'a': 1}", "x.json line 2 column 3: is not valid JSON: Expecting property name"),
        (b'{"a": NaN}', "x.json: is not valid JSON: NaN is not a JSON number."),
        (b'{"a": -Infinity}', "x.json: is not valid JSON: -Infinity is not a JSON number."),
        (b"\xff{}", "x.json: is not UTF-8 text."),
        (b"[" * 100_000 + b"]" * 100_000, "x.json: is nested too deeply to be read."),
        (b"[" + b"9" * 5000 + b"]", "x.json: is not valid JSON: Exceeds the limit (4300 digits)"),
        (b'["a\\ud800"]', r"x.json: holds \ud800, which is half of a character. Write whole"),
        (b'{"\\uDFFF\\ud83d": 1}', r"x.json: holds \udfff, which is half of a character."),
        (gzip.compress(b"{}", mtime=0)[:-5], "x.json: is a damaged gzip file"),
        (b'{"a": 1', "x.json line 1 column 8: is not valid JSON: Expecting ',' delimiter."),
    ],
)
def test_what_is_not_a_json_is_reported(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_json(tmp_path / "x.json")
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(message)


def test_a_character_in_two_halves_is_whole(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(rb'["\ud83d\ude00", "\\ud800"]')
    assert read_json(tmp_path / "x.json") == ["\N{GRINNING FACE}", r"\ud800"]


def test_a_byte_order_mark_and_gzip_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b'\xef\xbb\xbf{"a": [1]}')
    assert read_json(tmp_path / "x.json") == {"a": [1]}
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(b"[true]"))
    assert read_json(tmp_path / "x.json.gz") == [True]


def test_a_file_too_large_for_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_text, "_MOST_BYTES", 10)
    (tmp_path / "x.json").write_text('{"a": "0123456789"}')
    with pytest.raises(InputError, match=r"is larger than 0 GB\. Write one file per case\."):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1", "p: is the text '1', not a number."),
        (True, "p: is true or false, not a number."),
        (None, "p: is null, not a number."),
        ([1], "p: is a list, not a number."),
        ({}, "p: is an object, not a number."),
        (float("inf"), "p: is not a finite number."),
        (10**400, "p: is not a finite number."),
    ],
)
def test_what_is_not_a_number_is_reported(value: object, message: str) -> None:
    problems = Problems()
    assert number(value, "p", problems) is None
    assert [str(problem) for problem in problems] == [message]


def test_a_list_of_numbers_has_the_right_length() -> None:
    problems = Problems()
    assert numbers([1, 2.5], 2, "p", problems) == [1.0, 2.5]
    assert numbers([1], 2, "p", problems) is None
    assert numbers("12", 2, "p", problems) is None
    assert numbers([1, None], 2, "p", problems) is None
    assert [str(problem) for problem in problems] == [
        "p: has 1 values; expected a list of 2 numbers.",
        "p: is the text '12'; expected a list of 2 numbers.",
        "p[1]: is null, not a number.",
    ]


def test_nan_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json([float("nan")], tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_a_place_beyond_a_kilometre_is_refused() -> None:
    problems = Problems()
    assert position_numbers([1, -1e6, 3], 3, "p", problems) == [1.0, -1e6, 3.0]
    assert position_numbers([1, -2e6, 3], 3, "p", problems) is None
    assert [str(problem) for problem in problems] == [
        "p: -2e+06 is too large for a position in a patient."
    ]
