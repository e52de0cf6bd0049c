import pytest

from nodulebench.curation.design import load_design
from nodulebench.curation.header_facts import DERIVED_BY, kernel_class_of


@pytest.mark.parametrize(
    ("vendor", "kernel", "kind"),
    [
        ("GE", "LUNG", "lung"),
        ("GE", "BONE", "bone"),
        ("GE", "BONEPLUS", "bone"),
        ("GE", "STANDARD", "standard"),
        ("GE", "SOFT", "standard"),
        ("Siemens", "B30f", "standard"),
        ("Siemens", "B70f", "lung"),
        ("Siemens", "I70f\\3", "lung"),
        ("Siemens", "Bl57d", "lung"),
        ("Siemens", "Br40d", "standard"),
        ("Siemens", "B10s", "standard"),
        ("Siemens", "B41s", "standard"),
        ("Siemens", "B50s", "lung"),
        ("Siemens", "B80s", "lung"),
        ("Siemens", "S80s", "bone"),
        ("Siemens", "S40s", None),
        ("Siemens", "U70u", "bone"),
        ("Siemens", "H40s", "standard"),
        ("Siemens", "H60s", "bone"),
        ("Philips", "L", "lung"),
        ("Philips", "B", "standard"),
        ("Philips", "D", "bone"),
        ("Canon", "FC08", "standard"),
        ("Canon", "FC30", "bone"),
        ("Canon", "FC13", "standard"),
        ("Canon", "FC51", "lung"),
        ("Canon", "FC55", "lung"),
        ("Canon", "FC86", "lung"),
        ("United Imaging", "B_SOFT_B", "standard"),
        ("United Imaging", "B_LUNG_A", "lung"),
        (None, "Lung", "lung"),
        ("GE", "B70f", None),
        ("Siemens", "X9", None),
        ("Canon", "FC99", None),
        ("Philips", "", None),
        ("Philips", None, None),
    ],
)
def test_kernels_have_the_classes_that_designs_name(
    vendor: str | None, kernel: str | None, kind: str | None
) -> None:
    assert kernel_class_of(kernel, vendor) == kind


def test_no_kernel_is_of_two_classes_and_every_class_is_one_that_designs_know() -> None:
    (rule,) = [rule for rule in load_design("fg-ai4h").rules if rule.name == "kernels"]
    assert set(rule.values) == set(DERIVED_BY["kernel_class"]["words"])
    for family in DERIVED_BY["kernel_class"]["families"].values():
        named = [
            (letters, number)
            for prefixes, low, high, kind in family
            if kind in rule.values
            for letters in prefixes.split("|")
            for number in range(low, high + 1)
            if letters != "bl"
        ]
        assert len(named) == len(set(named))
    for classes in DERIVED_BY["kernel_class"]["letters"].values():
        letters = [letter for several in classes.values() for letter in several]
        assert len(letters) == len(set(letters))
