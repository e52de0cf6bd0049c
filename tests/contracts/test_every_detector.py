"""Every registered candidate detector and every check of admission."""

import pytest

from nodulebench.curation.admission_checks import CHECKS
from nodulebench.detection.candidates import DETECTORS
from nodulebench.testing import check_admission_check, check_detector


@pytest.mark.slow
@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_keeps_to_the_contract(name: str) -> None:
    check_detector(name)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_of_admission_keeps_to_the_contract(name: str) -> None:
    check_admission_check(name)
