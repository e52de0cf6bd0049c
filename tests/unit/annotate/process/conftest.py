"""A workflow of two teams, for every test of the process."""

import pytest

from builders.annotation import Desk, small_cases, two_teams
from nodulebench.annotate.process.rules import NIFDC
from nodulebench.annotate.process.workflow import Workflow


@pytest.fixture
def desk() -> Desk:
    return Desk(Workflow(two_teams(), small_cases("a", "b"), NIFDC))
