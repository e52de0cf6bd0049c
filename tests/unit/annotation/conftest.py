"""A workflow of two teams, for every test of the process."""

import pytest

from builders.annotation import WorkflowDriver, small_cases, two_teams
from nodulebench.annotation.actions import NIFDC
from nodulebench.annotation.workflow import Workflow


@pytest.fixture
def driver() -> WorkflowDriver:
    return WorkflowDriver(Workflow(two_teams(), small_cases("a", "b"), NIFDC))
