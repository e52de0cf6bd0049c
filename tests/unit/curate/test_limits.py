import pytest

from nodulebench.curate.limits import Limits, read_limits
from nodulebench.errors import InputError


def test_without_a_design_the_defaults_hold():
    assert read_limits(None) == Limits()


def test_a_design_changes_what_it_names_and_may_hold_other_tables(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text('name = "x"\n[limits]\nlargest_thickness_mm = 5\nwaived = ["gantry_tilt"]\n')
    limits = read_limits(path)
    assert (limits.largest_thickness_mm, limits.smallest_matrix) == (5.0, 512)
    assert limits.waived == ("gantry_tilt",)


def test_unknown_limits_and_values_out_of_range_are_all_told(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text("[limits]\nthickness = 5\nsmallest_matrix = 0\n")
    with pytest.raises(InputError) as caught:
        read_limits(path)
    assert [problem.where for problem in caught.value.problems] == [
        "design.toml limits.smallest_matrix",
        "design.toml limits.thickness",
    ]


def test_a_file_that_is_no_toml_is_refused(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text("[limits\n")
    with pytest.raises(InputError, match="cannot be read as TOML"):
        read_limits(path)
    with pytest.raises(InputError, match="cannot be read as TOML"):
        read_limits(tmp_path / "nothing.toml")


def test_a_slip_in_the_name_of_a_table_or_of_a_waived_code_is_told(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text('[limts]\nsmallest_matrix = 128\n[limits]\nwaived = ["gantry_tlit"]\n')
    with pytest.raises(InputError) as caught:
        read_limits(path)
    assert [str(problem).partition(" Known:")[0] for problem in caught.value.problems] == [
        "design.toml limts: is no part of a design (did you mean 'limits'?).",
        "design.toml limits.waived: there is no code 'gantry_tlit' (did you mean 'gantry_tilt'?).",
    ]


def test_codes_of_duplicates_can_be_waived():
    assert Limits(waived=("near_duplicate",)).waived == ("near_duplicate",)
