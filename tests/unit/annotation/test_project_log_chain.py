from pathlib import Path

import pytest

from builders.annotation import SHARED, WorkflowDriver, small_cases, two_teams
from nodulebench.annotation.workflow import Workflow
from nodulebench.core.errors import InputError
from nodulebench.security.event_log import FolderStore


def test_an_event_that_does_not_follow_is_found(tmp_path: Path) -> None:
    driver = WorkflowDriver(Workflow(two_teams(), small_cases("a")), FolderStore(tmp_path))
    driver.opens()
    driver.reads("r1", SHARED)
    first, _ = driver.store.read()
    changed = first.model_copy(update={"change": "other"})
    (tmp_path / "00000001.json").write_bytes(changed.to_bytes())
    with pytest.raises(InputError, match=r"02.json: does not follow from .*01.json: one of the"):
        driver.store.read()
