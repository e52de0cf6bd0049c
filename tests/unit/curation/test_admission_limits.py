import pytest

from nodulebench.core.errors import InputError
from nodulebench.curation.admission_checks import Limits
from nodulebench.curation.design import load_design


def test_a_design_changes_what_it_names_and_may_hold_other_tables(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text('name = "x"\n[limits]\nlargest_thickness_mm = 5\nwaived = ["gantry_tilt"]\n')
    limits = load_design(str(path)).limits
    assert (limits.largest_thickness_mm, limits.smallest_matrix) == (5.0, 512)
    assert limits.waived == ("gantry_tilt",)


def test_all_unknown_limits_and_values_out_of_range_are_reported(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text("[limits]\nlargest_thicknes_mm = 5\nsmallest_matrix = 0\n")
    with pytest.raises(InputError) as caught:
        load_design(str(path))
    messages = [str(problem).removeprefix(f"{path} ") for problem in caught.value.problems]
    assert messages[0] == (
        "field 'limits.smallest_matrix': Input should be greater than or equal to 1, got 0."
    )
    assert messages[1] == (
        "field 'limits.largest_thicknes_mm': is unknown. Did you mean 'largest_thickness_mm'?"
    )


def test_a_file_that_is_not_toml_is_refused(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text("[limits\n")
    with pytest.raises(InputError, match="is not valid TOML"):
        load_design(str(path))
    with pytest.raises(InputError, match="cannot be read"):
        load_design(str(tmp_path / "nothing.toml"))


def test_a_misspelt_table_or_waived_code_is_reported(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text('[limts]\nsmallest_matrix = 128\n[limits]\nwaived = ["gantry_tlit"]\n')
    with pytest.raises(InputError) as caught:
        load_design(str(path))
    assert sorted(str(problem) for problem in caught.value.problems) == [
        f"{path} field 'limits.waived': 'gantry_tlit' is not a code. Did you mean 'gantry_tilt'?",
        f"{path} field 'limts': is unknown. Did you mean 'limits'?",
    ]


def test_codes_of_duplicates_can_be_waived():
    assert Limits(waived=("near_duplicate",)).waived == ("near_duplicate",)
