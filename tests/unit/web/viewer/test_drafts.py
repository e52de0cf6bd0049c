"""No edit is lost, applied twice, or overwrites the edit of another client."""

import json
from pathlib import Path
from typing import Any

import pytest

from nodulebench.core.errors import InputError
from nodulebench.web.viewer.drafts import JOURNAL, ConflictError, Edit, open_drafts


def edit(number: int, *, based_on: int = 0, client: str = "tab", **finding: Any) -> Edit:
    state = {"position_mm": (1, 2, 3), **finding} if finding != {"gone": True} else None
    return Edit.model_validate(
        {
            "client": client,
            "number": number,
            "finding_id": "f1",
            "based_on": based_on,
            "finding": state,
            "seconds": 2.5,
        }
    )


def test_edits_survive_a_restart(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1, comment="first"))
        drafts.edit("a", edit(2, based_on=1, comment="second"))
    with open_drafts(tmp_path, "anna") as drafts:
        draft = drafts.of("a")
        assert draft.findings["f1"].version == 2
        assert draft.present["f1"].comment == "second"
        assert draft.seconds == 5.0
        assert drafts.of("b").present == {}


def test_an_edit_sent_twice_counts_once(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        for _ in range(3):
            saved = drafts.edit("a", edit(1, comment="once"))
            assert saved is not None
            assert saved.version == 1
        assert drafts.of("a").seconds == 2.5
    assert len((tmp_path / JOURNAL).read_text().splitlines()) == 1


def test_the_second_of_two_tabs_gets_the_current_state(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1, comment="here"))
        with pytest.raises(ConflictError, match="changed_elsewhere") as caught:
            drafts.edit("a", edit(1, client="other", comment="there"))
        assert caught.value.current is not None
        assert caught.value.current.finding is not None
        assert caught.value.current.finding.comment == "here"
        drafts.edit("a", edit(2, client="other", based_on=1, comment="there"))
        assert drafts.of("a").present["f1"].comment == "there"


def test_a_removed_finding_keeps_its_version(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1, comment="x"))
        drafts.edit("a", edit(2, based_on=1, gone=True))
        assert drafts.of("a").present == {}
        with pytest.raises(ConflictError):
            drafts.edit("a", edit(3, based_on=1, comment="y"))
        drafts.edit("a", edit(4, based_on=2, comment="again"))
        assert drafts.of("a").findings["f1"].version == 3


def test_a_submitted_reading_is_frozen(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1, comment="x"))
        drafts.submit("a")
        drafts.submit("a")
    with open_drafts(tmp_path, "anna") as drafts:
        with pytest.raises(ConflictError, match="submitted"):
            drafts.edit("a", edit(2, based_on=1, comment="y"))
        drafts.edit("a", edit(1, comment="x"))  # sent again: it was made before
        drafts.edit("b", edit(1, comment="y"))


@pytest.mark.parametrize("cut", range(1, 200, 13))
def test_a_process_killed_while_writing_loses_only_that_edit(tmp_path: Path, cut: int) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1, comment="first"))
        whole = (tmp_path / JOURNAL).stat().st_size
        drafts.edit("a", edit(2, based_on=1, comment="second"))
    content = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(content[: whole + cut])
    with open_drafts(tmp_path, "anna") as drafts:
        assert drafts.of("a").present["f1"].comment == "first"
        drafts.edit("a", edit(2, based_on=1, comment="second"))
    with open_drafts(tmp_path, "anna") as drafts:
        assert drafts.of("a").present["f1"].comment == "second"
    lines = (tmp_path / JOURNAL).read_text().splitlines()
    assert [json.loads(line)["reader"] for line in lines] == ["anna", "anna"]


def test_a_second_server_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with (
        open_drafts(tmp_path, "anna"),
        pytest.raises(InputError, match="being written by another process"),
        open_drafts(tmp_path, "bob"),
    ):
        raise AssertionError("two write into one file")


def test_an_invalid_line_is_named(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1))
    with (tmp_path / JOURNAL).open("a") as file:
        file.write('{"case_id": "a"}\n')
    with pytest.raises(InputError, match=r"line 2: cannot be read\."), open_drafts(tmp_path, "x"):
        pass
