import pytest

from nodulebench.curation.design import load_design
from nodulebench.curation.header_facts import DERIVED_BY, vendor_of


@pytest.mark.parametrize(
    ("manufacturer", "vendor"),
    [
        ("GE MEDICAL SYSTEMS", "GE"),
        ("SIEMENS", "Siemens"),
        ("Siemens Healthineers", "Siemens"),
        ("Philips Medical Systems", "Philips"),
        ("TOSHIBA", "Canon"),
        ("Canon Medical Systems", "Canon"),
        ("UIH", "United Imaging"),
        ("United Imaging Healthcare", "United Imaging"),
        ("Genoray", "Genoray"),
        ("Neusoft Medical Systems", "Neusoft Medical Systems"),
    ],
)
def test_manufacturers_have_the_vendors_that_designs_name(manufacturer: str, vendor: str) -> None:
    assert vendor_of(manufacturer) == vendor


def test_every_vendor_of_a_published_design_is_known() -> None:
    (rule,) = [rule for rule in load_design("fg-ai4h").rules if rule.name == "vendors"]
    assert set(rule.values) == set(DERIVED_BY["vendor"])
