import csv
import gzip
import io
import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nodulebench.core.errors import InputError
from nodulebench.io import csv_files as csv_text
from nodulebench.io.csv_files import CsvFile, Dialect, marked, unmarked, write_csv
from nodulebench.io.manifests import bytes_digest


def written(folder: Path, content: bytes, name: str = "x.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def rows(folder: Path, content: bytes, known: list[str] | None = None) -> list[tuple]:
    cases = None if known is None else pl.Series(known)
    file = CsvFile(written(folder, content))
    return file.read_columns(text=("case",), numbers=("x",), known_cases=cases).rows()


def messages_of(folder: Path, content: bytes, known: list[str] | None = None) -> list[str]:
    with pytest.raises(InputError) as caught:
        rows(folder, content, known)
    return [str(problem).replace(str(folder) + "/", "") for problem in caught.value.problems]


@pytest.mark.parametrize(
    "content",
    [
        b"case,x\na,1\nb,2\n",
        b"case,x\r\na,1\r\nb,2\r\n",
        b"\xef\xbb\xbfcase,x\na,1\nb,2",
        b'"case","x"\n"a","1"\n"b",2\n',
        b"x,more,case\n1,?,a\n2,,b\n",
        b"case,x\na, 1\nb,+2.0 \n",
        gzip.compress(b"case,x\na,1\nb,2\n", mtime=0),
    ],
    ids=["plain", "crlf", "bom", "quoted", "other order", "spaces", "gzip"],
)
def test_the_same_table_in_different_clothes(tmp_path: Path, content: bytes) -> None:
    assert rows(tmp_path, content) == [(2, "a", 1.0), (3, "b", 2.0)]


def test_blank_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    assert rows(tmp_path, b"case,x\n\na,1\n\n\nb,2\n\n") == [(3, "a", 1.0), (6, "b", 2.0)]


def test_a_header_only_is_a_table_without_rows(tmp_path: Path) -> None:
    assert rows(tmp_path, b"case,x\n") == []


def test_every_row_that_cannot_be_used_is_named_with_its_line(tmp_path: Path) -> None:
    content = b'case,x\na,1\n"b\nc",left\n\nd\ne,nan\nf,1e400\n,3\ng,1,5\n'
    assert messages_of(tmp_path, content) == [
        "x.csv line 3: x 'left' is not a finite number. Correct the value or remove the row.",
        "x.csv line 6: x is missing; the row is cut short or empty there. Complete the row or "
        "remove it.",
        "x.csv line 7: x 'nan' is not a finite number. Correct the value or remove the row.",
        "x.csv line 8: x '1e400' is not a finite number. Correct the value or remove the row.",
        "x.csv line 9: case is empty. Fill it in for every row.",
        "x.csv line 10: has 3 values, but the header names 2 columns. Is there a comma inside a "
        "value? Quote the value, and write 1.5, not 1,5.",
    ]


def test_many_problems_of_one_kind_are_counted(tmp_path: Path) -> None:
    problems = messages_of(tmp_path, b"case,x\n" + b"a,?\n" * 25)
    assert len(problems) == 11
    assert problems[-1] == "x.csv: 15 more rows like this in x."


def test_rows_of_unknown_cases_may_hold_anything(tmp_path: Path) -> None:
    content = b"case,x\na,1\nother,?\nother\nother,1,2,3\ncase,x\n"
    assert rows(tmp_path, content, ["a"])[0] == (2, "a", 1.0)
    assert messages_of(tmp_path, content + b"a,?\n", ["a"]) == [
        "x.csv line 7: x '?' is not a finite number. Correct the value or remove the row."
    ]


def test_numbers_that_only_python_reads_are_refused(tmp_path: Path) -> None:
    for value in ("1_0", "infinity", "0x10", "１"):
        assert (
            f"x '{value}' is not a finite number"
            in messages_of(tmp_path, f"case,x\na,{value}\n".encode())[0]
        )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x.csv: is empty. A submission without marks still needs its header."),
        (b"case,x\na,\xff\n", "x.csv line 2: is not UTF-8 text."),
        (b"\xffcase,x\n", "x.csv line 1: is not UTF-8 text. Save it as UTF-8."),
        (b"\x00\x01\x02", "x.csv: is a binary file, not comma-separated text."),
        (
            b"PK\x03\x04rest",
            "x.csv: is a ZIP archive or an Excel workbook, not comma-separated text. Save it as "
            "UTF-8 CSV.",
        ),
        (
            "case,x\na,1\n".encode("utf-16"),
            "x.csv: is UTF-16 text, not comma-separated text. Save it as UTF-8 CSV.",
        ),
        (b"x" * 1_000_000, "x.csv: has no line break in its first 64 kB."),
        (b"case,x\n" + b"a" * 3_000_000, "x.csv line 2: is longer than 1 MB."),
        (
            b'case,x\n"a,1\nb,2\n',
            "x.csv line 2: is not comma-separated text (unexpected end of data).",
        ),
        (b"case,case\na,1\n", "x.csv: column 'case' occurs twice in the header."),
        (
            b"case;y\na;1\n",
            "x.csv: column 'x' is missing; found: case, y. Needed: case, x.",
        ),
        (
            b'case;x\n"a;1\n',
            "x.csv: cannot be read as text with semicolons between columns: unexpected end of "
            "data.",
        ),
        (
            gzip.compress(b"case,x\na,1\n", mtime=0)[:-9],
            "x.csv: is a damaged gzip file (Compressed file ended before the end-of-stream marker "
            "was reached). Compress it again.",
        ),
    ],
)
def test_a_file_that_is_not_a_table_is_reported(
    tmp_path: Path, content: bytes, message: str
) -> None:
    assert messages_of(tmp_path, content)[0] == message


def test_damage_far_inside_a_gzip_file_is_found(tmp_path: Path) -> None:
    text = b"case,x\n" + b"".join(b"case-%d,%d\n" % (n, n * 7919 % 1000) for n in range(50_000))
    packed = bytearray(gzip.compress(text))
    packed[-8] ^= 0xFF
    assert "is a damaged gzip file (CRC check failed" in messages_of(tmp_path, bytes(packed))[0]
    assert "is a damaged gzip file" in messages_of(tmp_path, bytes(packed[: len(packed) // 2]))[0]


def test_a_gzip_file_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_text, "_MOST_UNPACKED_BYTES", 1 << 26)
    packed = gzip.compress(b"a,1\n" * (1 << 18)) * 70
    path = written(tmp_path, gzip.compress(b"case,x\n") + packed)
    with pytest.raises(InputError, match=r"unpacks to more than 0\.0625 GB\. Split it"):
        CsvFile(path).read_columns(text=("case",), numbers=("x",))


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv: cannot be read: No such file"):
        CsvFile(tmp_path / "nowhere.csv").header()


def test_every_property_of_a_file_comes_from_one_opening(tmp_path: Path) -> None:
    for name, content in (("x.csv", b"case;x\na;1,5\n"), ("y.csv", b"case,x\na,1.5\n")):
        for packed in (content, gzip.compress(content, mtime=0)):
            path = written(tmp_path, packed, name)
            file = CsvFile(path)
            header = file.header()
            path.unlink()
            assert header == ["case", "x"]
            assert (file.dialect == Dialect()) == (name == "y.csv")
            assert file.digest == bytes_digest(packed)
            assert file.read_strings(header).height == 1
            assert file.read_columns(text=("case",), numbers=("x",)).rows() == [(2, "a", 1.5)]


def test_a_damaged_file_is_opened_once_too(tmp_path: Path) -> None:
    path = written(tmp_path, b"case,x\na,?\n")
    file = CsvFile(path)
    assert file.header() == ["case", "x"]
    path.unlink()
    with pytest.raises(InputError, match=r"line 2: x '\?' is not a finite number"):
        file.read_columns(text=("case",), numbers=("x",))


def test_a_file_of_another_kind_is_not_read_whole_to_recognise_it(tmp_path: Path) -> None:
    for content in (b"\x00" * 200_000, b"[" + b"1," * 100_000, b"PAR1" + b"\x00" * 200_000):
        path = written(tmp_path, content)
        file = CsvFile(path)
        assert file.start == content[: 1 << 16]
        assert file.digest == bytes_digest(content)


def test_a_folder_is_not_a_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read: Is a directory\."):
        CsvFile(tmp_path).header()


def test_optional_numbers_may_be_empty_but_not_wrong(tmp_path: Path) -> None:
    path = written(tmp_path, b"case,y\na,\nb,2\n")
    table = CsvFile(path).read_columns(text=("case",), optional_numbers=("y", "z"))
    assert table.rows() == [(2, "a", None), (3, "b", 2.0)]
    written(tmp_path, b"case,y\na,?\n")
    with pytest.raises(InputError, match=r"line 2: y '\?' is not a finite number"):
        CsvFile(path).read_columns(text=("case",), optional_numbers=("y",))


def test_what_is_written_is_read_to_the_last_bit(tmp_path: Path) -> None:
    numbers = [0.1 + 0.2, 1e-300, -1 / 3, 123456789.123456789]
    for name in ("x.csv", "x.csv.gz"):
        write_csv(pl.DataFrame({"case": ["a"] * 4, "x": numbers}), tmp_path / name)
        back = CsvFile(tmp_path / name).read_columns(text=("case",), numbers=("x",))
        assert back["x"].to_list() == numbers
    assert (tmp_path / "x.csv.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_gaps_in_rows_of_unknown_cases_do_not_matter(tmp_path: Path) -> None:
    assert rows(tmp_path, b"case,x\na,1\nother,\nother,inf\n", ["a"])[0] == (2, "a", 1.0)
    assert messages_of(tmp_path, b"case,x\na,\nother,\n", ["a"]) == [
        "x.csv line 2: x is missing; the row is cut short or empty there. Complete the row or "
        "remove it."
    ]


def test_lines_that_end_in_carriage_returns_only_are_reported(tmp_path: Path) -> None:
    assert messages_of(tmp_path, b"case,x\ra,1\rb,2\r")[0].startswith(
        "x.csv line 1: is not comma-separated text (new-line character seen in unquoted field"
    )


FORMULAS = ["=1+1", "+cmd", "-x", "@sum(A1)", "\t=1", "＝1", "-1+2", "'=x", "''-x", "'-5"]
PLAIN = ["a", "'a", "-5", "+1.5e-3", "1.2.840", "a=b", "–", "'", "-.5"]


def test_no_text_is_a_formula_and_all_of_it_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    texts = [*FORMULAS, *PLAIN]
    numbers = [-1.5 * place for place in range(len(texts))]
    table = pl.DataFrame({"case": texts, "x": numbers, "=name": texts})
    write_csv(table, path)
    with path.open(encoding="utf-8", newline="") as file:
        header, *cells = csv.reader(file)
    assert header == ["case", "x", "'=name"]
    assert [row[0] for row in cells] == [*(f"'{formula}" for formula in FORMULAS), *PLAIN]
    assert [float(row[1]) for row in cells] == numbers

    file = CsvFile(path)
    names = file.header()
    assert names == table.columns
    assert file.read_strings(names)["=name"].to_list() == texts
    back = file.read_columns(text=("case", "=name"), numbers=("x",))
    assert back.select(table.columns).rows() == table.rows()


def test_a_table_without_formulas_is_written_as_ever() -> None:
    table = pl.DataFrame(
        {"a": ["x", None, "", "-5"], "b": [-1.0, 1e-7, None, 3], "c": [-1, 0, 1, 2]}
    )
    assert csv_text.csv_content(table) == table.write_csv()
    assert csv_text.csv_content(table.head(0)) == table.head(0).write_csv()


def test_a_damaged_row_of_a_case_with_such_a_name_is_reported(tmp_path: Path) -> None:
    assert messages_of(tmp_path, b"case,x\n'=a,?\n", ["=a"])[0].startswith("x.csv line 2: x")
    assert rows(tmp_path, b"case,x\n'=a,1\nother,?\n", ["=a"])[0] == (2, "=a", 1.0)


@example("-1\n")
@given(st.text(st.sampled_from("'=+-@\t\n\r1a.e ＝"), max_size=6))
def test_one_cell_is_marked_as_in_a_table(cell: str) -> None:
    once = marked(cell)
    assert unmarked(once) == cell
    table = pl.DataFrame({"x": [cell, "a"]})
    written_text = io.StringIO(csv_text.csv_content(table), newline="")
    assert list(csv.reader(written_text, strict=True))[1] == [once]
    assert not once.startswith(tuple("=@\t\r\n＝"))
    if once.startswith(("+", "-")):
        assert math.isfinite(float(once))


def test_no_module_writes_csv_past_this_door() -> None:
    source = Path(csv_text.__file__).parents[1]
    past = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if any(way in path.read_text(encoding="utf-8") for way in (".write_csv(", "csv.writer("))
    ]
    assert sorted(past) == [
        "custody/withdrawal.py",  # cells of a kept file as they stood there
        "io/csv_files.py",
        "runner/robustness.py",  # marks every cell itself
    ]
