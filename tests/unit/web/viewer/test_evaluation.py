"""An evaluation over a scan: the labels of the rules, and outlines on their slices."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from builders.reading import BALL_MM, write_scans
from builders.tables import Slice, case, ignored, mark, nodule, protocol, reference, submission
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import RuleChoice
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.recompute import evaluated_of
from nodulebench.web.viewer.app import LocalAuth, workbench_app
from nodulebench.web.viewer.evaluation import EvaluationLayer, open_evaluation_session
from nodulebench.web.viewer.session import ReadingSession

X, Y, Z = BALL_MM.tolist()
AUTH = LocalAuth(8040)
BOX = Slice(12, X, Y, 12, 10)
CASES = (
    case(
        "a",
        nodule(12, at=(X, Y, Z)),
        nodule(6, at=(X - 20, Y, Z)),
        ignored(5, at=(X, Y + 18, Z)),
        mark(0.9, at=(X + 1, Y, Z)),
        mark(0.8, at=(X + 14, Y - 14, Z)),
        mark(0.7, at=(X, Y + 18, Z)),
    ),
    case("b", nodule(8, at=(X, Y, Z))),
    case("c", nodule(8, at=(X, Y, Z))),
)


@pytest.fixture
def layer() -> EvaluationLayer:
    truth, submitted = reference(*CASES), submission(*CASES, name="cad")
    return EvaluationLayer(evaluated_of(evaluate(truth, [submitted], protocol("luna16"))))


@pytest.fixture
def session(tmp_path: Path, layer: EvaluationLayer) -> Iterator[ReadingSession]:
    folder = write_scans(tmp_path / "scans", "b", "a", "other")
    with open_evaluation_session(folder, layer) as opened:
        yield opened


def test_a_session_has_the_scans_in_the_order_of_the_cases(
    session: ReadingSession, layer: EvaluationLayer, tmp_path: Path
) -> None:
    assert [scan.case_id for scan in session.scans] == ["a", "b"]
    with (
        pytest.raises(InputError, match="holds no scan of the 3 cases"),
        open_evaluation_session(write_scans(tmp_path / "others", "x"), layer),
    ):
        pass


def test_nodules_and_marks_have_the_labels_of_the_rule(
    layer: EvaluationLayer, session: ReadingSession
) -> None:
    tiles = session.tiles(0, waits_s=600)
    assert tiles is not None
    shown = layer.case_findings("a", "luna16", "cad", tiles)
    labels = [(finding["label"], finding["is_mark"]) for finding in shown]
    assert labels == [
        ("found", False),
        ("missed", False),
        ("ignored_finding", False),
        ("hit", True),
        ("false_positive", True),
        ("ignored", True),
    ]
    assert [finding["score"] for finding in shown if finding["is_mark"]] == [0.9, 0.8, 0.7]


def test_a_diameter_is_drawn_as_a_ball_else_a_point(
    layer: EvaluationLayer, session: ReadingSession
) -> None:
    tiles = session.tiles(0, waits_s=600)
    assert tiles is not None
    shown = layer.case_findings("a", "luna16", "cad", tiles)
    circles = shown[0]["finding"]["slices"]
    assert shown[3]["finding"]["slices"] == []
    heights = tiles.grid.to_world(
        np.array([[0.0, 0.0, float(circle["slice_index"])] for circle in circles])
    )[:, 2]
    assert np.abs(heights - Z).max() < 6
    assert len(circles) in (5, 6, 7)  # 12 mm in slices of 2 mm
    for circle, height in zip(circles, heights, strict=True):
        away = np.linalg.norm(np.array(circle["outline"]) - [X, Y], axis=1)
        assert away**2 + (height - Z) ** 2 == pytest.approx(36, abs=1e-2)


def test_boxes_are_drawn_on_their_slices(session: ReadingSession) -> None:
    cases = (case("a", nodule(12, (X, Y, Z), BOX), mark(0.9, at=(X, Y, Z))),)
    truth, submitted = reference(*cases), submission(*cases, name="cad")
    layer = EvaluationLayer(evaluated_of(evaluate(truth, [submitted], protocol("luna16"))))
    tiles = session.tiles(0, waits_s=600)
    assert tiles is not None
    (drawn,) = layer.case_findings("a", "luna16", "cad", tiles)[0]["finding"]["slices"]
    assert drawn["slice_index"] == 7  # its height of 12 mm: (12 - -2.6) / 2 = 7.3
    assert np.array(drawn["outline"]).tolist() == [
        [X - 6, Y - 5],
        [X + 6, Y - 5],
        [X + 6, Y + 5],
        [X - 6, Y + 5],
    ]


def test_errors_are_listed_case_by_case_misses_first(layer: EvaluationLayer) -> None:
    errors = [
        (error["case_id"], error["label"]) for error in layer.summary("luna16", "cad")["errors"]
    ]
    assert errors == [("a", "missed"), ("a", "false_positive"), ("b", "missed"), ("c", "missed")]
    assert not any(error["flips"] for error in layer.summary("luna16", "cad")["errors"])


def test_errors_that_another_rule_does_not_have_are_flagged() -> None:
    cases = (case("a", nodule(6, at=(X, Y, Z)), mark(0.9, at=(X + 4, Y, Z))),)
    truth, submitted = reference(*cases), submission(*cases, name="cad")
    space = {"space": "volume", "radius_mm": 10.0}
    farther = RuleChoice(name="center_distance", parameters=space)
    rules = protocol().model_copy(update={"rules": (*protocol().rules, farther)})
    layer = EvaluationLayer(evaluated_of(evaluate(truth, [submitted], rules)))
    flips = {error["label"]: error["flips"] for error in layer.summary("luna16", "cad")["errors"]}
    assert flips == {"missed": True, "false_positive": True}


def test_a_higher_threshold_misses_more_nodules(
    layer: EvaluationLayer, session: ReadingSession
) -> None:
    """At 0.85 the mark of 0.9 is left, at 0.95 none: by hand."""
    tiles = session.tiles(0, waits_s=600)
    assert tiles is not None

    def labels(threshold: float | None) -> list[str]:
        return [
            finding["label"]
            for finding in layer.case_findings("a", "luna16", "cad", tiles, threshold)
        ]

    def counts(threshold: float | None) -> list[float]:
        summary = layer.summary("luna16", "cad", threshold)
        return [summary[name] for name in ("found", "nodules", "false_positives", "cases")]

    assert labels(0.9) == labels(0.85) == ["found", "missed", "ignored_finding", "hit"]
    assert labels(0.95) == ["missed", "missed", "ignored_finding"]
    assert labels(0.7) == labels(None)
    assert [counts(threshold) for threshold in (None, 0.85, 0.95)] == [
        [1, 4, 1, 3],
        [1, 4, 0, 3],
        [0, 4, 0, 3],
    ]
    missed = [error["case_id"] for error in layer.summary("luna16", "cad", 0.95)["errors"]]
    assert missed == ["a", "a", "b", "c"]


def test_the_thresholds_are_those_of_the_curve(layer: EvaluationLayer) -> None:
    """One false positive, at 0.8, in three cases: a third a case."""
    points = layer.points("luna16", "cad")
    assert points[:2] == [{"name": "evaluated"}, {"name": "every", "threshold": 0.7}]
    at = {point["rate"]: point["threshold"] for point in points[2:]}
    assert at == {0.125: 0.9, 0.25: 0.9, 0.5: 0.8, 1: 0.8, 2: 0.8, 4: 0.8, 8: 0.8}
    for rate, threshold in at.items():
        summary = layer.summary("luna16", "cad", float(threshold))
        assert summary["false_positives"] / summary["cases"] <= float(rate)


def test_the_operating_point_is_shown_first() -> None:
    truth, submitted = reference(*CASES), submission(*CASES, name="cad")
    at_a_rate = protocol("luna16").model_copy(update={"operating_point": 0.125})
    layer = EvaluationLayer(evaluated_of(evaluate(truth, [submitted], at_a_rate)))
    assert layer.summary("luna16", "cad")["threshold"] == 0.9
    assert layer.summary("luna16", "cad")["false_positives"] == 0
    assert layer.summary("luna16", "cad", 0.7)["false_positives"] == 1


def test_marks_without_scores_have_no_threshold() -> None:
    cases = (case("a", nodule(12, at=(X, Y, Z)), mark(None, at=(X, Y, Z))),)
    truth, submitted = reference(*cases), submission(*cases, name="cad")
    layer = EvaluationLayer(evaluated_of(evaluate(truth, [submitted], protocol("luna16"))))
    assert layer.points("luna16", "cad") == []
    assert layer.summary("luna16", "cad", 0.5)["found"] == 1


def test_a_request_can_bring_its_session(session: ReadingSession) -> None:
    """The portal does this: each user has a separate session."""
    app = workbench_app(None, AUTH)

    async def chosen(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = {"session": session}
        await app(scope, receive, send)

    client = TestClient(chosen, base_url="http://127.0.0.1:8040")
    client.get(AUTH.address)
    assert list(client.get("/evaluation").json()["luna16"]) == ["cad"]
    assert "evaluation.js" in client.get("/").text


def test_an_evaluation_is_read_only(
    session: ReadingSession,
) -> None:
    client = TestClient(workbench_app(session, AUTH), base_url="http://127.0.0.1:8040")
    assert client.get("/evaluation").status_code == 403
    client.get(AUTH.address)
    assert list(client.get("/evaluation").json()["luna16"]) == ["cad"]
    chosen = {"rule": "luna16", "algorithm": "cad"}
    assert len(client.get("/evaluation/errors", params=chosen).json()["errors"]) == 4
    high = client.get("/scans/0/evaluation", params={**chosen, "threshold": 0.95})
    assert [finding["label"] for finding in high.json()] == ["missed", "missed", "ignored_finding"]
    for wrong in ("nan", "inf", "much"):
        response = client.get("/evaluation/errors", params={**chosen, "threshold": wrong})
        assert response.status_code == 422
    assert len(client.get("/scans/0/evaluation", params=chosen).json()) == 6
    assert client.get("/scans/0/evaluation", params={**chosen, "rule": "x"}).status_code == 404
    assert client.get("/scans/0/reading").status_code == 404
    own = {"X-Requested-With": "nodulebench"}
    assert client.post("/scans/0/submit", headers=own).status_code == 404
    assert "evaluation.js" in client.get("/").text
