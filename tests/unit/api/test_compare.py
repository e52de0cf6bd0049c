"""nodulebench.compare: two results, or the algorithms of one."""

from pathlib import Path

import pytest

import nodulebench as nb
from builders.tables import case, false_mark, mark, nodule, protocol, reference, submission
from nodulebench.core.protocol import IntervalChoice

PROTOCOL = protocol(metrics=("recall", "cpm"), interval=IntervalChoice(bootstraps=50))


def made_marks(name: str, hits: int, of: int = 12) -> nb.Submission:
    """An algorithm that finds the first so many nodules, one a case."""
    return submission(
        *(case(f"c{n}", nodule(8), mark(0.9) if n < hits else false_mark(0.3)) for n in range(of)),
        name=name,
    )


TRUTH = reference(*(case(f"c{n}", nodule(8)) for n in range(12)))


def result(*algorithms: nb.Submission) -> nb.Result:
    return nb.evaluate(TRUTH, algorithms, PROTOCOL)


def test_two_results_are_compared_as_if_they_were_one() -> None:
    new, old = made_marks("new", 9), made_marks("old", 6)
    apart = nb.compare(result(new), result(old), permutations=20)
    together = nb.compare(result(new, old), baseline="old", permutations=20)
    assert apart.differences().rows() == together.differences().rows()
    assert apart.is_no_worse is None
    recall = apart.differences().filter(metric="recall")
    assert recall["difference"].to_list() == [0.25]


def test_folders_are_taken_as_well(tmp_path: Path) -> None:
    new, old = result(made_marks("new", 9)), result(made_marks("old", 6))
    new.write(tmp_path / "new")
    old.write(tmp_path / "old")
    from_folders = nb.compare(str(tmp_path / "new"), tmp_path / "old", permutations=0)
    assert (
        from_folders.differences().rows()
        == nb.compare(new, old, permutations=0).differences().rows()
    )


def test_an_algorithm_and_its_next_version_may_bear_one_name() -> None:
    compared = nb.compare(
        result(made_marks("cad", 9)), result(made_marks("cad", 6)), permutations=0
    )
    assert compared.document.baseline == "cad (old)"
    assert set(compared.differences()["algorithm"]) == {"cad (new)"}


@pytest.mark.parametrize(("hits", "is_no_worse"), [(12, True), (3, False)])
def test_a_margin_gives_an_answer(hits: int, is_no_worse: bool) -> None:
    compared = nb.compare(
        result(made_marks("new", hits)), result(made_marks("old", 10)), margin=0.3, permutations=0
    )
    assert compared.is_no_worse is is_no_worse
    words = "shown to be no worse" if is_no_worse else "not shown to be no worse"
    assert repr(compared).startswith(f"<Compared: differences from old; {words}>")
    assert "<td" in compared._repr_html_()


def test_what_was_not_made_alike_is_not_compared() -> None:
    evaluation, other = (
        result(made_marks("a", 3)),
        nb.evaluate(TRUTH, made_marks("b", 3), PROTOCOL, seed=5),
    )
    with pytest.raises(nb.InputError, match="new: was made with another protocol than old"):
        nb.compare(evaluation, other)
    with pytest.raises(nb.InputError, match="old: has 2 algorithms"):
        nb.compare(evaluation, result(made_marks("a", 3), made_marks("b", 3)))
    with pytest.raises(nb.InputError, match="old: and baseline exclude each other"):
        nb.compare(evaluation, evaluation, baseline="a")
    with pytest.raises(nb.InputError, match="old: and baseline exclude each other"):
        nb.compare(evaluation)
