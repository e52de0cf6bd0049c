from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nodulebench.algorithms.networks import NETWORKS  # noqa: E402
from nodulebench.algorithms.networks.cross_validation import (  # noqa: E402
    Course,
    estimated_seconds,
    train_without,
)
from nodulebench.algorithms.networks.examples import Examples, make_examples  # noqa: E402
from nodulebench.algorithms.networks.patches import scans_of  # noqa: E402
from nodulebench.algorithms.networks.training import Check  # noqa: E402
from nodulebench.algorithms.networks.weights import read_weights  # noqa: E402
from nodulebench.algorithms.unseen import choose_unseen, series_digest  # noqa: E402
from nodulebench.errors import InputError  # noqa: E402

NAME = "m5lcad"
RECIPE = replace(NETWORKS[NAME].recipe, steps=6, batch=8, check_every=2, tries=1)


@pytest.fixture(scope="module")
def examples() -> Examples:
    """Three folds and a scan of none, each with three bright and three dark places."""
    random = np.random.default_rng(1)
    images, places, is_nodule = [], [], []
    for scan in range(4):
        image = random.normal(40, 2, (12, 24, 24))
        for number in range(6):
            at = (6, 4 + 3 * number, 4 + 3 * (number % 3) * 2)
            image[at] = 120 if number < 3 else 20
            places.append((scan, *at))
            is_nodule.append(number < 3)
        images.append(image.astype(np.uint8))
    at = np.array(places)
    return make_examples(
        scans_of(images, [[1.0, 1.0, 1.0]] * 4, step_hu=16.0, lowest_hu=-1024.0),
        [0, 1, 2, -1],
        at[:, 0],
        at[:, 1:],
        is_nodule,
        series=[series_digest(f"s{scan}") for scan in range(4)],
        about={"data": "dots"},
    )


def test_each_fold_is_judged_by_weights_that_never_saw_it(
    examples: Examples, tmp_path: Path
) -> None:
    course = Course(examples, tmp_path, RECIPE)
    folds: tuple[int | None, ...] = (0, 1, None)
    done = [train_without(NAME, fold, course) for fold in folds]

    assert [one.path.name for one in done] == [
        "m5lcad-0.safetensors",
        "m5lcad-1.safetensors",
        "m5lcad-all.safetensors",
    ]
    assert [one.card.folds for one in done] == [(1, 2), (0, 2), (0, 1, 2)]
    cards = [one.card for one in done]
    # s3 is of no fold, so that the weights of all folds never saw it either
    assert [choose_unseen(f"s{scan}", cards).number for scan in range(4)] == [0, 1, 2, 2]
    assert not choose_unseen("s2", cards).is_unseen
    with np.load(tmp_path / "m5lcad-0.npz") as kept:
        assert kept["chosen"].tolist() == [*range(6), *range(18, 24)]
        assert kept["score"].shape == (12,)
    assert [one.step for one in done[0].curve] == [2, 4, 6]
    assert "area" in done[0].card.figures
    assert not list(tmp_path.glob("*.state"))


def test_a_killed_fold_is_taken_up_again_and_a_finished_one_is_kept(
    examples: Examples, tmp_path: Path
) -> None:
    def kill(check: Check) -> None:
        if check.step == 4:
            raise KeyboardInterrupt

    whole = train_without(NAME, 0, Course(examples, tmp_path / "whole", RECIPE))
    course = Course(examples, tmp_path / "killed", RECIPE)
    with pytest.raises(KeyboardInterrupt):
        train_without(NAME, 0, course, kill)
    resumed = train_without(NAME, 0, course)

    assert resumed.path.read_bytes() == whole.path.read_bytes()
    assert resumed.curve == whole.curve
    again = train_without(NAME, 0, course)
    assert (again.seconds, again.card, again.curve) == (0.0, whole.card, whole.curve)


def test_weights_of_another_run_are_not_taken_for_this_one(
    examples: Examples, tmp_path: Path
) -> None:
    train_without(NAME, 0, Course(examples, tmp_path, RECIPE))

    with pytest.raises(InputError, match="was trained in another way"):
        train_without(NAME, 0, Course(examples, tmp_path, RECIPE, seed=1))


def test_a_fold_that_is_not_there_is_told(examples: Examples, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="examples: have no fold 7"):
        train_without(NAME, 7, Course(examples, tmp_path, RECIPE))


def test_folds_that_decide_when_it_stops_are_not_learnt_from(
    examples: Examples, tmp_path: Path
) -> None:
    done = train_without(NAME, 0, Course(examples, tmp_path, RECIPE, held_back=(1,)))

    assert done.card.folds == (2,)
    assert all(one.area is not None for one in done.curve)


def test_tuned_weights_say_what_they_began_with(examples: Examples, tmp_path: Path) -> None:
    first = train_without(NAME, 0, Course(examples, tmp_path / "a", RECIPE))
    start, card = read_weights(first.path)
    still = replace(RECIPE, rate=0.0, decay=0.0)
    tuned = train_without(
        NAME, 0, Course(examples, tmp_path / "b", still, start=start, begun_from=card.parameters)
    )

    assert tuned.card.begun_from == first.card.parameters
    kept, _ = read_weights(tuned.path)
    assert all(map(torch.equal, kept.parameters(), start.parameters()))


def test_the_time_is_estimated_by_trying(
    examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([10.0, 11.0, 12.0, 13.0])
    monkeypatch.setattr(
        "nodulebench.algorithms.networks.cross_validation.time.perf_counter", lambda: next(clock)
    )

    assert estimated_seconds(NAME, examples, [0], replace(RECIPE, steps=600)) == 600.0
