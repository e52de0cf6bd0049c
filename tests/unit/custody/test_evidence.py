"""What curation and annotation wrote down answers questions of the datasheet by itself."""

from typing import Any

import pytest

from nodulebench.custody.datasheet import DOCUMENTS, evidence_answers


def event(step: str, actor: str) -> dict[str, str]:
    return {"step": step, "actor_id": actor}


def test_who_read_by_which_rule_and_what_fell_out_is_reported_only_as_counts() -> None:
    steps = [("open", "office"), ("read", "ann"), ("read", "bo"), ("read", "ann")]
    steps += [("review", "dee"), ("add", "dee"), ("arbitrate", "eve"), ("release", "eve")]
    made = {"rule": "nifdc-2022", "events": [event(*step) for step in steps]}
    curated = {"series": 12, "admitted": 9, "excluded": {"small_matrix": 2, "not_ct": 1}}
    answers = evidence_answers({"provenance.json": made, "curation.json": curated})
    assert answers == {
        "reference_rule": "nifdc-2022; provenance.json lists every setting.",
        "readers": "2 readers, 1 reviewer, 1 arbitrator, blind to each other until all had read.",
        "exclusions": "12 series found, 9 admitted; excluded: small_matrix 2, not_ct 1.",
    }
    assert not {"ann", "bo", "dee", "eve"} & set(" ".join(answers.values()).split())


def test_a_rule_says_how_sizes_were_measured() -> None:
    made = {"rule": "majority", "size_definition": "volume_equivalent"}
    message = "majority, sizes by volume_equivalent; provenance.json lists every setting."
    assert evidence_answers({"provenance.json": made}) == {"reference_rule": message}


def test_how_cases_were_drawn_and_what_for() -> None:
    record = {"design": "lung", "purpose": "To test.", "seed": 7, "pool": 40, "drawn": 30}
    answers = evidence_answers({"draw.json": {**record, "strata": [{}, {}]}})
    assert answers == {
        "purpose": "To test.",
        "sampling": "30 of 40 admitted cases drawn at random in 2 strata, design 'lung', seed 7.",
    }
    assert "strata" not in evidence_answers({"draw.json": {**record, "strata": [{}]}})["sampling"]


@pytest.mark.parametrize("written", [None, [], "text", {}, {"rule": 3, "events": "x"}])
def test_what_says_nothing_answers_nothing(written: Any) -> None:
    assert evidence_answers(dict.fromkeys(DOCUMENTS, written)) == {}


@pytest.mark.parametrize(
    "curated", [{"series": 3, "admitted": None}, {"series": "3", "admitted": 2}, {"admitted": 2}]
)
def test_half_a_count_of_series_answers_nothing(curated: dict[str, Any]) -> None:
    assert evidence_answers({"curation.json": curated}) == {}


def test_one_of_each_is_reported_in_the_singular_and_none_not_at_all() -> None:
    steps = [("read", "ann"), ("arbitrate", "eve"), ("arbitrate", "fay")]
    made = {"events": [event(*step) for step in steps]}
    readers = evidence_answers({"provenance.json": made})["readers"]
    assert readers == "1 reader, 2 arbitrators, blind to each other until all had read."
    curated = {"series": 3, "admitted": 3, "excluded": {}}
    answers = evidence_answers({"curation.json": curated})
    assert answers["exclusions"] == "3 series found, 3 admitted."
