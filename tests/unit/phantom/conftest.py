"""One small patient and scan for all tests of the phantom."""

import pytest

from nodulebench.phantom.patient import NodulePlan, make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

PLANS = (
    NodulePlan("solid", "smooth", "isolated", 14.0),
    NodulePlan("part_solid", "lobulated", "juxtavascular", 18.0),
    NodulePlan("pure_ground_glass", "smooth", "isolated", 16.0),
    NodulePlan("calcified", "smooth", "juxtapleural", 10.0),
    NodulePlan("pleural", "smooth", None, 20.0),
    NodulePlan("pleural_calcified", "smooth", None, 16.0),
    NodulePlan("solid", "spiculated", "juxtapleural", 12.0),
)
SMALL = Scanner(2.5, 2.5, 2.7, 128, "standard", 300.0)


@pytest.fixture(scope="session")
def patient():
    """Seven nodules of the six types."""
    return make_patient(11, 1, PLANS)


@pytest.fixture(scope="session")
def scan(patient):
    """The patient on a coarse grid."""
    return scan_patient(patient, SMALL, position_mm=(3.0, -4.0, 120.0))
