import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nodulebench.algorithms.networks import training  # noqa: E402
from nodulebench.algorithms.networks.examples import (  # noqa: E402
    Examples,
    join_examples,
    make_examples,
    read_examples,
    write_examples,
)
from nodulebench.algorithms.networks.judging import area_under_roc, judge  # noqa: E402
from nodulebench.algorithms.networks.lessons import Lesson, batches, lesson_of  # noqa: E402
from nodulebench.algorithms.networks.looks import cube  # noqa: E402
from nodulebench.algorithms.networks.network import Augment, Network, Recipe  # noqa: E402
from nodulebench.algorithms.networks.patches import scans_of  # noqa: E402
from nodulebench.algorithms.networks.training import (  # noqa: E402
    Learner,
    patches_a_second,
    rate_at,
    train,
)
from nodulebench.errors import InputError  # noqa: E402


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv3d(1, 4, 3),
            torch.nn.BatchNorm3d(4),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.2),
            torch.nn.Flatten(),
        )
        self.judge = torch.nn.Linear(4 * 27, 2)

    def describe(self, patches: "torch.Tensor") -> "torch.Tensor":
        return self.body(patches[:, None])

    def forward(self, patches: "torch.Tensor") -> "torch.Tensor":
        return self.judge(self.describe(patches))


RECIPE = Recipe(
    "adamw",
    rate=0.01,
    decay=0.01,
    batch=16,
    steps=40,
    check_every=7,
    average=0.9,
    smoothing=0.05,
    centre_loss=0.001,
    augment=Augment((0.9, 1.1), 0.5, is_turned_freely=True, is_flipped=True),
)
SMALL = Network("small", cube((5, 5, 5), (1.5, 1.5, 1.5)), Small, RECIPE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Balls (nodules) and tubes in noise, in four scans, each a fold."""
    random = np.random.default_rng(5)
    images, places, is_nodule = [], [], []
    for scan in range(4):
        image = random.normal(30, 3, (24, 40, 40))
        grid = np.stack(np.meshgrid(*map(np.arange, image.shape), indexing="ij"), axis=-1)
        for _ in range(12):
            center = random.uniform(5, [19, 35, 35])
            is_ball = bool(random.random() < 0.5)
            apart = (grid - center)[..., slice(None) if is_ball else slice(1, None)]
            image[np.linalg.norm(apart, axis=-1) < 2.5] = 60
            places.append([scan, *center])
            is_nodule.append(is_ball)
        images.append(np.clip(image, 0, 255).astype(np.uint8))
    where = tmp_path_factory.mktemp("examples")
    scans = scans_of(images, [[1.0, 1.0, 1.0]] * 4, step_hu=16.0, lowest_hu=-1024.0)
    at = np.array(places)
    names = ("s0", "s1", "s2", "s3")
    about = {"data": "balls and tubes"}
    given = make_examples(
        scans, range(4), at[:, 0], at[:, 1:], is_nodule, series=names, about=about
    )
    write_examples(where, given)
    return where


@pytest.fixture(scope="module")
def examples(folder: Path) -> Examples:
    return read_examples(folder)


def weights(module: "torch.nn.Module") -> list["torch.Tensor"]:
    return list(module.state_dict().values())


def test_a_network_learns_to_tell_balls_from_tubes(examples: Examples) -> None:
    how = replace(RECIPE, steps=150, check_every=50)
    module = train(SMALL, examples, [0, 1, 2], recipe=how)
    unseen = examples.judged([3])

    found = judge(module, SMALL, examples, unseen, tries=2)

    assert area_under_roc(found, examples.is_nodule[unseen]) > 0.8


def test_a_run_that_was_interrupted_goes_on_as_it_would_have_gone(
    examples: Examples, tmp_path: Path
) -> None:
    keep = tmp_path / "state.safetensors"

    def stop(check: training.Check) -> None:
        if check.step >= 21:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SMALL, examples, [0, 1], held_back=[2], keep=keep, told=stop)
    seen: list[training.Check] = []
    resumed = train(SMALL, examples, [0, 1], held_back=[2], keep=keep, told=seen.append)
    whole = train(SMALL, examples, [0, 1], held_back=[2])

    assert seen[0].step in (14, 21)  # step 7 or 14 was kept, and what came after was done again
    assert all(map(torch.equal, weights(resumed), weights(whole)))


def test_the_same_seed_gives_the_same_weights_and_another_gives_others(examples: Examples) -> None:
    how = replace(RECIPE, steps=5)
    first, second, third = (
        weights(train(SMALL, examples, [0], recipe=how, seed=seed)) for seed in (1, 1, 2)
    )

    assert all(map(torch.equal, first, second))
    assert not all(map(torch.equal, first, third))


def test_the_best_check_is_kept_and_training_stops_when_nothing_gets_better(
    examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    areas = iter([0.6, 0.9, 0.8, 0.7, 0.95])
    monkeypatch.setattr(training, "_area_of", lambda *_: next(areas))
    seen: list[training.Check] = []
    how = replace(RECIPE, check_every=4, patience=2)

    stopped = train(SMALL, examples, [0], held_back=[1], recipe=how, told=seen.append)
    monkeypatch.undo()
    best = train(SMALL, examples, [0], recipe=replace(how, steps=8, patience=0))

    assert [one.area for one in seen] == [0.6, 0.9, 0.8, 0.7]
    assert all(map(torch.equal, weights(stopped), weights(best)))


@pytest.mark.parametrize("optimizer", ["sgd", "rmsprop", "adam", "adamw"])
def test_every_optimiser_can_be_taken_up_again(
    optimizer: str, examples: Examples, tmp_path: Path
) -> None:
    how = replace(RECIPE, optimizer=optimizer, steps=4, check_every=2, average=0.0)  # type: ignore[arg-type]
    keep = tmp_path / "state"
    train(SMALL, examples, [0], recipe=replace(how, steps=2), keep=keep)

    resumed = train(SMALL, examples, [0], recipe=how, keep=keep)

    whole = train(SMALL, examples, [0], recipe=how)
    assert all(map(torch.equal, weights(resumed), weights(whole)))


@pytest.mark.parametrize("content", [b"", b"no tensors", b"\x10" + b"\0" * 7 + b"{" * 16])
def test_a_damaged_state_is_told(content: bytes, examples: Examples, tmp_path: Path) -> None:
    keep = tmp_path / "state"
    keep.write_bytes(content)

    with pytest.raises(InputError, match="is no checkpoint of this network"):
        train(SMALL, examples, [0], keep=keep)


def test_rates_follow_their_schedule() -> None:
    steps = replace(RECIPE, rate=1.0, steps=100, schedule=((0.0, 0.5), (0.2, 1.0), (0.6, 0.1)))
    smooth = replace(steps, schedule=((0.0, 0.0), (0.2, 1.0), (1.0, 0.0)), is_smooth=True)

    assert [rate_at(steps, at) for at in (0, 19, 20, 60, 99)] == [0.5, 0.5, 1.0, 0.1, 0.1]
    assert [round(rate_at(smooth, at), 6) for at in (0, 10, 20, 60)] == [0.0, 0.5, 1.0, 0.5]


def test_the_area_counts_pairs_and_half_of_ties() -> None:
    score = torch.tensor([0.1, 0.4, 0.4, 0.8])

    # pairs (nodule, other): .4 over .1, .4 = .4, .8 over .1, .8 over .4
    assert area_under_roc(score, torch.tensor([False, False, True, True])) == 3.5 / 4


@pytest.mark.parametrize(
    "name", ["scans", "seen", "fold", "places", "is_nodule", "is_learnt", "is_judged"]
)
def test_examples_that_do_not_fit_together_are_refused(
    name: str, folder: Path, tmp_path: Path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    np.save(tmp_path / f"{name}.npy", np.load(tmp_path / f"{name}.npy")[:-1])

    with pytest.raises(InputError, match="do not fit together"):
        read_examples(tmp_path)


def test_examples_that_were_changed_are_refused(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    is_nodule = np.load(tmp_path / "is_nodule.npy")
    np.save(tmp_path / "is_nodule.npy", ~is_nodule)

    with pytest.raises(InputError, match="not those that were written"):
        read_examples(tmp_path)


def test_packed_and_plain_voxels_are_the_same_examples(
    folder: Path, examples: Examples, tmp_path: Path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "voxels.npy.xz").unlink()
    np.save(tmp_path / "voxels.npy", examples.scans.voxels.numpy())

    assert read_examples(tmp_path).digest == examples.digest


def test_joined_examples_are_judged_as_apart(examples: Examples) -> None:
    module = train(SMALL, examples, [0, 1], recipe=replace(RECIPE, steps=3))
    joined = join_examples([examples, examples])
    apart, both = examples.judged([2]), joined.judged([2])

    twice = judge(module, SMALL, joined, both)

    once = judge(module, SMALL, examples, apart)
    torch.testing.assert_close(twice, once.repeat(2), rtol=0, atol=1e-6)  # batches differ
    assert joined.series == examples.series * 2
    assert joined.series_by_fold == examples.series_by_fold


def test_looks_beside_a_candidate_are_averaged_with_its_own(examples: Examples) -> None:
    torch.manual_seed(0)
    module = Small()
    others = (cube((5, 5, 5), (2.0, 2.0, 2.0)), cube((5, 5, 5), (1.0, 1.0, 1.0)))
    chosen = examples.judged([0])

    found = judge(module, replace(SMALL, beside=others), examples, chosen)

    each = [
        judge(module, replace(SMALL, look=one), examples, chosen) for one in (SMALL.look, *others)
    ]
    torch.testing.assert_close(found, torch.stack(each).mean(dim=0))
    assert not torch.allclose(found, each[0])


def test_several_patches_of_a_candidate_are_changed_as_its_network_has_it(
    examples: Examples,
) -> None:
    torch.manual_seed(0)
    module, chosen = Small(), examples.judged([0])

    def zoomed(judged: Augment | None) -> torch.Tensor:
        return judge(module, replace(SMALL, judged=judged), examples, chosen, tries=2)

    still = zoomed(Augment(zoom=(1.0, 1.0)))
    torch.testing.assert_close(still, judge(module, SMALL, examples, chosen))
    assert not torch.allclose(zoomed(Augment(zoom=(2.0, 2.0))), still)
    assert not torch.allclose(zoomed(None), still)  # turned, as in learning


def test_only_what_is_learnt_from_teaches_and_what_is_judged_is_told(examples: Examples) -> None:
    every = torch.arange(len(examples.which))
    some = replace(examples, is_learnt=every % 2 == 0, is_judged=every % 3 == 0)

    assert set(some.learnt([0, 1]).tolist()) == {one for one in range(24) if one % 2 == 0}
    assert set(some.judged([1]).tolist()) == {one for one in range(12, 24) if one % 3 == 0}


def test_what_lies_beyond_the_part_that_is_seen_does_not_count(examples: Examples) -> None:
    torch.manual_seed(0)
    module = Small()
    low, high = torch.tensor([4, 8, 8]), torch.tensor([19, 31, 31])
    trimmed = replace(examples, seen=torch.stack([low, high]).repeat(4, 1, 1))
    changed = examples.scans.voxels.reshape(4, 24, 40, 40).clone()
    changed[:, :, :8] = 255  # beyond the face
    elsewhere = replace(trimmed, scans=replace(trimmed.scans, voxels=changed.reshape(-1)))
    chosen = examples.judged([0, 1, 2, 3])

    assert torch.equal(
        judge(module, SMALL, trimmed, chosen), judge(module, SMALL, elsewhere, chosen)
    )
    assert not torch.equal(
        judge(module, SMALL, trimmed, chosen), judge(module, SMALL, examples, chosen)
    )


def test_a_network_begins_with_the_weights_of_another(examples: Examples) -> None:
    torch.manual_seed(1)
    start = Small()
    still = replace(RECIPE, steps=1, rate=0.0, decay=0.0, average=0.0)

    module = train(SMALL, examples, [0], recipe=still, start=start)

    learnt = dict(module.named_parameters())
    assert all(torch.equal(learnt[name], one) for name, one in start.named_parameters())


def test_folds_without_a_nodule_cannot_be_learnt_from(examples: Examples) -> None:
    none = replace(examples, is_nodule=torch.zeros_like(examples.is_nodule))

    with pytest.raises(InputError, match="0 candidates are nodules and 12 are not"):
        train(SMALL, none, [0])


def test_folds_without_a_nodule_cannot_decide(examples: Examples) -> None:
    none = replace(examples, is_nodule=examples.is_nodule & (examples.which != 1))

    with pytest.raises(InputError, match=r"0 candidates are nodules .* that decide when it stops"):
        train(SMALL, none, [0], held_back=[1])


def test_pickles_are_never_read(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    np.save(tmp_path / "places.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)

    with pytest.raises(InputError, match="cannot be read as examples"):
        read_examples(tmp_path)


def test_a_training_that_goes_astray_is_told(examples: Examples) -> None:
    how = replace(RECIPE, optimizer="sgd", rate=1e30, steps=14)

    with pytest.raises(InputError, match="'small': went astray before step 7"):
        train(SMALL, examples, [0, 1], recipe=how)


def test_no_batch_moves_the_weights_farther_than_its_shortened_gradient(examples: Examples) -> None:
    once = replace(RECIPE, optimizer="sgd", momentum=0.0, decay=0.0, average=0.0, steps=1)
    how = replace(once, longest_gradient=0.01, rate=1.0)
    before = weights(train(SMALL, examples, [0], recipe=replace(how, rate=0.0), seed=5))
    after = weights(train(SMALL, examples, [0], recipe=how, seed=5))
    free = weights(train(SMALL, examples, [0], recipe=replace(how, longest_gradient=0.0), seed=5))

    def moved(ones: list["torch.Tensor"]) -> float:
        return float(sum((a - b).square().sum() for a, b in zip(ones, before, strict=True)) ** 0.5)

    assert moved(after) == pytest.approx(0.01, rel=1e-3)
    assert moved(free) > 0.05


def test_of_no_candidates_nothing_is_said(examples: Examples) -> None:
    module = train(SMALL, examples, [0], recipe=replace(RECIPE, steps=1))
    assert len(judge(module, SMALL, examples, examples.judged([99]))) == 0


def test_a_state_that_takes_long_to_save_is_saved_seldom_but_at_first_and_last(
    examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = []

    def slowly(path: Path, learner: Learner, run: object) -> None:
        del path, run
        saved.append(learner.step)
        time.sleep(0.2)

    monkeypatch.setattr(training, "write_checkpoint", slowly)
    how = replace(RECIPE, steps=6, check_every=1)
    train(SMALL, examples, [0, 1], recipe=how, keep=tmp_path / "state")
    assert saved == [1, 6], "0.2 s may be spent on it every 4 s"


def test_batches_that_are_drawn_together_are_the_same_wherever_a_run_begins(
    examples: Examples,
) -> None:
    lesson = replace(lesson_of(SMALL, examples, [0, 1], RECIPE), at_once=4)
    device = torch.device("cpu")
    whole = list(islice(batches(lesson, 3, 0, device), 10))
    later = list(islice(batches(lesson, 3, 6, device), 4))
    for one, other in zip(whole[6:], later, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    for patches, is_nodule in whole:
        assert patches.shape == (RECIPE.batch, 5, 5, 5)
        assert int(is_nodule.sum()) == RECIPE.batch // 2
    assert len({float(patches.sum()) for patches, _ in whole}) == len(whole)


def test_a_patch_is_as_it_was_told_whether_it_is_drawn_alone_or_with_others(
    examples: Examples,
) -> None:
    plain = replace(RECIPE, augment=Augment())
    lesson = lesson_of(SMALL, examples, [0, 1], plain)
    for patches, is_nodule in lesson.draw(torch.Generator().manual_seed(1), 3):
        order = torch.arange(len(is_nodule)) >= RECIPE.batch // 2
        assert torch.equal(is_nodule.bool(), order)
        middle = patches[:, 2, 2, 2]
        assert middle[is_nodule.bool()].min() > 0.5


@pytest.mark.parametrize("ends", [14, 16, 21])
def test_a_run_of_batches_drawn_together_goes_on_as_it_would_have_gone(
    ends: int, examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "lesson_of", lambda *how: replace(lesson_of(*how), at_once=4))
    keep = tmp_path / "state.safetensors"
    how = replace(RECIPE, steps=30, check_every=1)

    def stop(check: training.Check) -> None:
        if check.step > ends:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SMALL, examples, [0, 1], keep=keep, told=stop, recipe=how)
    resumed = train(SMALL, examples, [0, 1], keep=keep, recipe=how)

    whole = train(SMALL, examples, [0, 1], recipe=how)
    assert all(map(torch.equal, weights(resumed), weights(whole)))


def test_speed_is_measured_with_and_without_patches_to_cut(
    examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    def counted(*given: Any) -> Lesson:
        lesson = lesson_of(*given)
        return replace(
            lesson, draw=lambda random, steps: drawn.append(steps) or lesson.draw(random, steps)
        )

    monkeypatch.setattr(training, "lesson_of", counted)
    monkeypatch.setattr(training, "MEASURED_STEPS", 5)
    assert patches_a_second(SMALL, examples, RECIPE, is_cut=False) > 0
    assert drawn == [1]
    assert patches_a_second(SMALL, examples, RECIPE, is_cut=True) > 0
    assert drawn == [1] * 7
