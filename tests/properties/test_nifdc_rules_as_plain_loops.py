"""The three NIFDC rules written down as plain loops over exact integers, against the product's."""

from fractions import Fraction

import pytest
from hypothesis import given, settings

from builders.scenes import scenes
from builders.tables import Case, labels_of


def _on_common_slices(nodule, mark):
    return [(n, m) for n in nodule.slices for m in mark.slices if n.index == m.index]


def _squared(n, m):
    return (n.x - m.x) ** 2 + (n.y - m.y) ** 2


def center_hit(nodule, mark):
    """None, or the squared distance to the largest slice."""
    if not any(
        2 * abs(n.x - m.x) <= n.length and 2 * abs(n.y - m.y) <= n.width
        for n, m in _on_common_slices(nodule, mark)
    ):
        return None
    largest = min(nodule.slices, key=lambda n: (-n.length * n.width, n.index))
    return min(_squared(largest, m) + (largest.index - m.index) ** 2 for m in mark.slices)


def center_distance(nodule, mark):
    """None, or the squared distance in the plane."""
    threshold = max(Fraction(n.length + n.width, 4) for n in nodule.slices)
    squares = [
        _squared(n, m) for n, m in _on_common_slices(nodule, mark) if _squared(n, m) < threshold**2
    ]
    return min(squares, default=None)


def area_overlap(nodule, mark):
    """None, or the negative share of the nodule's box."""
    shares = []
    for n, m in _on_common_slices(nodule, mark):
        sides = [
            min(2 * at_n + size_n, 2 * at_m + size_m) - max(2 * at_n - size_n, 2 * at_m - size_m)
            for at_n, size_n, at_m, size_m in (
                (n.x, n.length, m.x, m.length),
                (n.y, n.width, m.y, m.width),
            )
        ]
        shares.append(Fraction(max(sides[0], 0) * max(sides[1], 0), 4 * n.length * n.width))
    best = max(shares, default=Fraction(0))
    return -best if best > Fraction(1, 2) else None


def labels_by_loops(case_: Case, qualifies) -> list[tuple[str, str, str]]:
    """(case, mark, label): each nodule in turn takes its best free mark; the rest are false."""
    free = dict(enumerate(case_.marks))
    label = {}
    for nodule in case_.nodules:
        if nodule.is_ignored:
            continue
        ranked = [
            (cost, -mark.score, number)
            for number, mark in free.items()
            if (cost := qualifies(nodule, mark)) is not None
        ]
        if ranked:
            number = min(ranked)[2]
            label[number] = "hit"
            del free[number]
    for number, mark in free.items():
        on_ignored = any(
            nodule.is_ignored and qualifies(nodule, mark) is not None for nodule in case_.nodules
        )
        label[number] = "ignored" if on_ignored else "false_positive"
    return sorted((case_.name, f"m{number}", name) for number, name in label.items())


@pytest.mark.parametrize("rule", [center_hit, center_distance, area_overlap])
@settings(max_examples=25, deadline=None)
@given(cases=scenes())
def test_rule_gives_the_labels_of_the_plain_loops(rule, cases):
    expected = [row for case in cases for row in labels_by_loops(case, rule)]
    result = [(row[0], row[1], row[3]) for row in labels_of(*cases, rule=rule.__name__)]
    assert result == sorted(expected)
