import polars as pl
import pytest

from builders.tables import case, ignored, nodule, reference
from nodulebench.core.errors import InputError
from nodulebench.core.tables import DENSITIES, DENSITY_OF_TYPE, NODULE_TYPES

TRUTH = reference(case("a", nodule(8)), case("b", nodule(5), ignored(9)), case("c"))


def test_case_ids_lead_to_their_rows_and_unknown_ones_to_minus_one() -> None:
    assert TRUTH.rows_of(pl.Series(["c", "zzz", "a"])).tolist() == [2, -1, 0]


def test_a_restricted_reference_keeps_the_given_order() -> None:
    part = TRUTH.restricted(pl.Series(["c", "b"]), "fold.csv")
    assert part.cases["case_id"].to_list() == ["c", "b"]
    assert part.nodules["case_id"].to_list() == ["b", "b"]
    assert part.nodule_case.tolist() == [1, 1]


def test_a_case_listed_twice_is_an_error_that_names_the_official_behaviour() -> None:
    with pytest.raises(InputError) as caught:
        TRUTH.restricted(pl.Series(["a", "a"]), "fold.csv")
    assert str(caught.value).startswith("fold.csv: case 'a' is listed more than once.")
    assert "official LUNA16 program would count" in str(caught.value)


def test_an_unknown_case_in_the_list_is_an_error() -> None:
    with pytest.raises(InputError, match=r"case 'x' is not in the test set 'test' \(3 cases\)"):
        TRUTH.restricted(pl.Series(["a", "x"]), "fold.csv")


def test_cases_without_a_patient_are_their_own_unit() -> None:
    truth = reference(
        case("a", patient_id="p"), case("b", patient_id=None), case("c", patient_id="p")
    )
    units = truth.unit_of_case
    assert units[0] == units[2] != units[1]


def test_every_type_has_a_density() -> None:
    assert set(DENSITY_OF_TYPE) == set(NODULE_TYPES)
    assert set(DENSITY_OF_TYPE.values()) <= set(DENSITIES)
