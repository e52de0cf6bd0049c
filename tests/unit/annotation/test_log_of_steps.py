from pathlib import Path

import pytest

from builders.annotation import NOON, SHARED, WorkflowDriver, small_cases, two_teams
from nodulebench.annotation.actions import OpenBatch
from nodulebench.annotation.project_log import act, annotation_log
from nodulebench.annotation.workflow import Workflow
from nodulebench.core.errors import InputError
from nodulebench.security.event_log import FolderStore


def test_files_keep_the_log_and_show_tampering(tmp_path: Path) -> None:
    driver = WorkflowDriver(
        Workflow(two_teams(), small_cases("a")), FolderStore(tmp_path / "events")
    )
    driver.opens()
    driver.reads("r1", SHARED)
    again = annotation_log(FolderStore(tmp_path / "events"), "root").read()
    assert [event.step for event in again] == ["open", "read"]
    assert again[1].at == NOON
    assert again[1].previous == again[0].digest
    file = tmp_path / "events" / "00000002.json"
    file.write_text(file.read_text().replace('"length_mm": 8.0', '"length_mm": 9.0'))
    with pytest.raises(InputError, match=r"head.json: states another digest of event 2"):
        driver.store.read()
    file.unlink()
    file.with_name("00000003.json").write_bytes(again[1].to_bytes())
    with pytest.raises(InputError, match=r"00000003.json: follows a gap: event 2 does not exist"):
        driver.store.read()
    file.with_name("00000003.json").rename(file)
    file.with_name("00000001.json").rename(file.with_name("00000003.json"))
    with pytest.raises(InputError, match=r"00000003.json: was changed: it states the number 1"):
        driver.store.read()


def test_a_damaged_file_of_the_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "00000001.json").write_text('{"number": 1}')
    message = r"00000001.json: was changed: NoduleBench did not write it like this. Restore the log"
    with pytest.raises(InputError, match=message):
        annotation_log(FolderStore(tmp_path), "root").read()


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    driver = WorkflowDriver(Workflow(two_teams(), small_cases("a")), FolderStore(tmp_path))
    driver.opens()
    (event,) = driver.store.read()
    payload = {**event.payload, "case_ids": ["a\ud800"]}
    harmful = event.model_copy(update={"number": 2, "payload": payload, "previous": event.digest})
    with pytest.raises(InputError, match=r"00000002.json: was not written: .* log is unchanged"):
        driver.store.append(lambda _: harmful)
    assert driver.store.read() == [event]


def test_of_two_simultaneous_steps_the_second_sees_the_first(tmp_path: Path) -> None:
    workflow = Workflow(two_teams(), small_cases("a"))
    first = OpenBatch(batch_id="b1", team_id="one", case_ids=("a",), reviewer_id="lead2")
    other = first.model_copy(update={"batch_id": "b2"})
    log = annotation_log(FolderStore(tmp_path), "root")

    class Raced(FolderStore):
        """Another person opens a batch just before."""

        def append(self, number: int, content: bytes) -> bool:
            if number == 1:
                act(workflow, log, "office", first)
            return super().append(number, content)

    raced = annotation_log(Raced(tmp_path), "root")
    assert act(workflow, raced, "office", other).number == 2
    with pytest.raises(InputError, match="was opened before"):
        act(workflow, raced, "office", first)
    assert [event.batch_id for event in log.read()] == ["b1", "b2"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
