"""Marks are neither lost nor doubled: a small part of what the campaign does."""

import pytest
from benchmarks.reading_faults import interrupted, reading_folder, stored_draft, trial_of

from nodulebench.web.viewer.drafts import Edit, open_drafts
from nodulebench.web.viewer.findings import Finding

pytest.importorskip("fastapi", reason="needs the viewer")


def test_a_server_that_goes_and_comes_back_loses_and_doubles_nothing() -> None:
    outcome = interrupted("", edits=15, pauses_s=[0.3])
    assert outcome.made >= 15
    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert outcome.faults == "kills: 1, away 0.3 s"


def test_the_campaign_sees_what_is_lost_and_doubled() -> None:
    with reading_folder() as scans:
        with open_drafts(scans.with_name("scans-reading"), "anna") as drafts:
            for number, name in enumerate(("first", "doubled"), 1):
                finding = Finding(kind="small_nodule", position_mm=(1.0, 1.0, 1.0))
                edit = Edit(client="tab", number=number, finding_id=name, finding=finding)
                drafts.edit("scan", edit)
        assert len(stored_draft(scans).present) == 2
        outcome = trial_of("", "", {"first": 1.0, "lost": 2.0}, scans, [1.0])
    assert (outcome.made, outcome.lost, outcome.doubled) == (2, 1, 1)
