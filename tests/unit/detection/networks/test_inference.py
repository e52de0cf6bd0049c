from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from builders.small_network import RECIPE, SMALL, Small
from nodulebench.detection.networks.examples import (
    Examples,
    join_examples,
)
from nodulebench.detection.networks.inference import (
    area_under_roc,
    patches_around,
    score_candidates,
)
from nodulebench.detection.networks.network import cube, scaled
from nodulebench.detection.networks.recipe import Augment
from nodulebench.detection.networks.training import (
    LearningOptions,
    train,
)


def test_the_area_counts_pairs_and_half_of_ties() -> None:
    score = torch.tensor([0.1, 0.4, 0.4, 0.8])

    # pairs (nodule, other): .4 over .1, .4 = .4, .8 over .1, .8 over .4
    assert area_under_roc(score, torch.tensor([False, False, True, True])) == 3.5 / 4


def test_joined_examples_have_the_same_scores(examples: Examples) -> None:
    module = train(SMALL, examples, [0, 1], LearningOptions(recipe=replace(RECIPE, steps=3)))
    joined = join_examples([examples, examples])
    apart, both = examples.scored_candidates([2]), joined.scored_candidates([2])

    twice = score_candidates(module, SMALL, joined, both)

    once = score_candidates(module, SMALL, examples, apart)
    torch.testing.assert_close(twice, once.repeat(2), rtol=0, atol=1e-6)  # batches differ
    assert joined.series == examples.series * 2
    assert joined.series_by_fold == examples.series_by_fold


def test_scores_of_extra_grids_are_averaged(examples: Examples) -> None:
    torch.manual_seed(0)
    module = Small()
    others = (cube((5, 5, 5), (2.0, 2.0, 2.0)), cube((5, 5, 5), (1.0, 1.0, 1.0)))
    chosen = examples.scored_candidates([0])

    scores = score_candidates(module, replace(SMALL, extra_grids=others), examples, chosen)

    each = [
        score_candidates(module, replace(SMALL, grid=other), examples, chosen)
        for other in (SMALL.grid, *others)
    ]
    torch.testing.assert_close(scores, torch.stack(each).mean(dim=0))
    assert not torch.allclose(scores, each[0])


def test_several_patches_of_a_candidate_are_changed_as_its_network_has_it(
    examples: Examples,
) -> None:
    torch.manual_seed(0)
    module, chosen = Small(), examples.scored_candidates([0])

    def zoomed(augment: Augment | None) -> torch.Tensor:
        return score_candidates(
            module, replace(SMALL, scoring_augment=augment), examples, chosen, tries=2
        )

    still = zoomed(Augment(zoom=(1.0, 1.0)))
    torch.testing.assert_close(still, score_candidates(module, SMALL, examples, chosen))
    assert not torch.allclose(zoomed(Augment(zoom=(2.0, 2.0))), still)
    assert not torch.allclose(zoomed(None), still)  # turned, as in learning


def test_voxels_beyond_the_visible_part_do_not_count(examples: Examples) -> None:
    torch.manual_seed(0)
    module = Small()
    low, high = torch.tensor([4, 8, 8]), torch.tensor([19, 31, 31])
    trimmed = replace(examples, seen=torch.stack([low, high]).repeat(4, 1, 1))
    changed = examples.scans.voxels.reshape(4, 24, 40, 40).clone()
    changed[:, :, :8] = 255  # beyond the face
    elsewhere = replace(trimmed, scans=replace(trimmed.scans, voxels=changed.reshape(-1)))
    chosen = examples.scored_candidates([0, 1, 2, 3])

    assert torch.equal(
        score_candidates(module, SMALL, trimmed, chosen),
        score_candidates(module, SMALL, elsewhere, chosen),
    )
    assert not torch.equal(
        score_candidates(module, SMALL, trimmed, chosen),
        score_candidates(module, SMALL, examples, chosen),
    )


def test_no_candidates_have_no_scores(examples: Examples) -> None:
    module = train(SMALL, examples, [0], LearningOptions(recipe=replace(RECIPE, steps=1)))
    assert len(score_candidates(module, SMALL, examples, examples.scored_candidates([99]))) == 0


def test_probabilities_are_those_of_single_precision_on_every_processor(
    examples: Examples,
) -> None:
    torch.manual_seed(0)
    module, chosen = Small().eval(), examples.scored_candidates([0, 1, 2, 3])

    scores = score_candidates(module, SMALL, examples, chosen)

    cut = patches_around(
        examples, chosen, SMALL.grid, Augment(), torch.Generator(), is_learning=False
    )
    with torch.inference_mode():
        exact = module.double()(scaled(cut).double()).softmax(dim=1)[:, 1]
    torch.testing.assert_close(scores.double(), exact, rtol=0, atol=1e-6)
