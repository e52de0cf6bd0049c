"""No edit is lost or made twice, and none overwrites what somebody else did."""

import json
from pathlib import Path
from typing import Any

import pytest

from nodulebench.core.errors import InputError
from nodulebench.web.viewer.drafts import JOURNAL, ConflictError, Edit, open_drafts


def edit(number: int, *, based_on: int = 0, client: str = "tab", **finding: Any) -> Edit:
    told = {"position_mm": (1, 2, 3), **finding} if finding != {"gone": True} else None
    return Edit.model_validate(
        {
            "client": client,
            "number": number,
            "finding_id": "f1",
            "based_on": based_on,
            "finding": told,
            "seconds": 2.5,
        }
    )


def test_edits_are_there_after_the_server_was_started_again(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1, comment="first"))
        drafts.edit("a", edit(2, based_on=1, comment="second"))
    with open_drafts(tmp_path, "anna") as drafts:
        draft = drafts.of("a")
        assert draft.findings["f1"].version == 2
        assert draft.present["f1"].comment == "second"
        assert draft.seconds == 5.0
        assert drafts.of("b").present == {}


def test_an_edit_that_is_sent_again_changes_nothing(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        for _ in range(3):
            kept = drafts.edit("a", edit(1, comment="once"))
            assert kept is not None
            assert kept.version == 1
        assert drafts.of("a").seconds == 2.5
    assert len((tmp_path / JOURNAL).read_text().splitlines()) == 1


def test_the_second_of_two_tabs_is_told_what_stands(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1, comment="here"))
        with pytest.raises(ConflictError, match="changed_elsewhere") as caught:
            drafts.edit("a", edit(1, client="other", comment="there"))
        assert caught.value.kept is not None
        assert caught.value.kept.finding is not None
        assert caught.value.kept.finding.comment == "here"
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


def test_what_was_handed_in_is_frozen(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1, comment="x"))
        drafts.hand_in("a")
        drafts.hand_in("a")
    with open_drafts(tmp_path, "anna") as drafts:
        with pytest.raises(ConflictError, match="submitted"):
            drafts.edit("a", edit(2, based_on=1, comment="y"))
        drafts.edit("a", edit(1, comment="x"))  # sent again: it was made before
        drafts.edit("b", edit(1, comment="y"))


@pytest.mark.parametrize("cut", range(1, 200, 13))
def test_a_process_killed_while_it_wrote_loses_that_edit_alone(tmp_path: Path, cut: int) -> None:
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


def test_a_line_that_was_changed_by_hand_is_named(tmp_path: Path) -> None:
    with open_drafts(tmp_path, "anna") as drafts:
        drafts.edit("a", edit(1))
    with (tmp_path / JOURNAL).open("a") as file:
        file.write('{"case_id": "a"}\n')
    with pytest.raises(InputError, match=r"line 2: cannot be read\."), open_drafts(tmp_path, "x"):
        pass
