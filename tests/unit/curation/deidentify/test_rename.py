"""A reference gets the names of de-identified slices, and keeps no other."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.people import person_key
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES, NODULES, Reference
from nodulebench.curation.deidentify.key_table import open_key_table, rename_files, rename_reference
from nodulebench.io.bundle import write_reference
from nodulebench.io.formats import read_reference

pytest.importorskip("cryptography")


def row(number: int, days: int = 31) -> dict[str, Any]:
    return {
        "patient": f"MRN-{number}",
        "issuer": "",
        "pseudonym": f"P-{number}",
        "days": days,
        "study": f"1.2.{number}",
        "new_study": f"2.25.{number}0",
        "series": f"1.2.{number}.1",
        "new_series": f"2.25.{number}1",
    }


ROWS = [row(1), row(2)]


def reference(**columns: list[str]) -> Reference:
    cases = {
        "case_id": ["1.2.1.1", "1.2.2.1", "1.2.9.1"],
        "patient_id": ["MRN-1", "MRN-2", "MRN-9"],
        "study_uid": ["1.2.1", "1.2.2", "1.2.9"],
        "study_date": ["20240301", "2024-03-01", "unknown"],
        **columns,
    }
    nodules = {
        "case_id": ["1.2.2.1", "1.2.9.1"],
        "nodule_id": ["n1", "n1"],
        **{name: [1.0, 2.0] for name in ("x_mm", "y_mm", "z_mm", "diameter_mm")},
        "is_ignored": [False, False],
    }
    return Reference(
        "lidc",
        CASES.conform(pl.DataFrame(cases), "c"),
        NODULES.conform(pl.DataFrame(nodules), "n"),
    )


def test_series_studies_patients_and_dates_are_those_of_the_clean_slices() -> None:
    renamed = rename_reference(reference(), ROWS)
    columns = ("case_id", "patient_id", "study_uid", "study_date")
    assert renamed.reference.cases.select(columns).rows() == [
        ("2.25.11", "P-1", "2.25.10", "20240130"),
        ("2.25.21", "P-2", "2.25.20", "2024-01-30"),
    ]
    assert renamed.reference.nodules.select("case_id", "nodule_id").rows() == [("2.25.21", "n1")]
    assert renamed.left_out == 1


def test_cases_of_another_name_are_known_by_their_series() -> None:
    named = reference()
    uids = named.cases["case_id"]
    cases = named.cases.with_columns(case_id=pl.Series(["a", "b", "c"]), series_uid=uids)
    nodules = named.nodules.with_columns(case_id=pl.Series(["b", "c"]))
    renamed = rename_reference(replace(named, cases=cases, nodules=nodules), ROWS).reference
    assert renamed.cases.select("case_id", "series_uid").rows() == [
        ("2.25.11", "2.25.11"),
        ("2.25.21", "2.25.21"),
    ]
    assert renamed.nodules["case_id"].to_list() == ["2.25.21"]


def test_a_column_that_still_names_an_original_is_refused() -> None:
    hidden = reference(note=["see MRN-2, left", "-", "-"])
    with pytest.raises(InputError, match="cases column 'note': still holds original names"):
        rename_reference(hidden, ROWS)


def test_a_reference_that_the_table_does_not_know_is_refused() -> None:
    with pytest.raises(InputError, match="has no case of the reference"):
        rename_reference(reference(), [row(5)])


def test_files_are_written_with_their_provenance_renamed_and_need_a_key(
    tmp_path: Path,
) -> None:
    key, table = person_key("Ada"), tmp_path / "who.keys"
    open_key_table(table, key).add(ROWS)
    write_reference(reference(), tmp_path / "named")
    types = {"rule": "majority", "events": [{"case_id": "1.2.2.1", "change": "drew in 1.2.2.1: 3"}]}
    (tmp_path / "named" / "provenance.json").write_text(json.dumps(types))
    made = rename_files(tmp_path / "named", tmp_path / "clean", table, key)
    assert made.reference.cases.equals(read_reference(tmp_path / "clean").cases)
    provenance = json.loads((tmp_path / "clean" / "provenance.json").read_text())
    assert provenance["events"] == [{"case_id": "2.25.21", "change": "drew in 2.25.21: 3"}]
    with pytest.raises(InputError, match="does not open"):
        rename_files(tmp_path / "named", tmp_path / "x", table, person_key("Eve"))
    assert not (tmp_path / "x").exists()
