from builders.tables import case, false_mark, ignored, labels_of, mark, nodule


def at(x):
    return (float(x), 0.0, 0.0)


def labels(*content, **fields):
    return [
        (row[2], row[3]) for row in labels_of(case("a", *content), rule="luna16_clean", **fields)
    ]


def test_mark_within_the_radius_hits_and_one_on_the_radius_does_not():
    assert labels(nodule(10), mark(0.5, at(4.999))) == [("n0", "hit")]
    assert labels(nodule(10), mark(0.5, at(5))) == [(None, "false_positive")]


def test_mark_inside_two_nodules_hits_the_nearer_one_only():
    here = (nodule(10, at(0)), nodule(10, at(4)), mark(0.5, at(3)))
    assert labels(*here) == [("n1", "hit")]
    assert [row[3] for row in labels_of(case("a", *here), rule="luna16")] == ["hit", "hit"]


def test_highest_score_is_the_hit_and_the_others_are_duplicates():
    assert labels(nodule(10), mark(0.5, at(0)), mark(0.9, at(4)), mark(0.1, at(1))) == [
        ("n0", "duplicate"),
        ("n0", "hit"),
        ("n0", "duplicate"),
    ]


def test_equal_scores_go_to_the_closer_mark():
    assert labels(nodule(10), mark(0.5, at(2)), mark(0.5, at(1))) == [
        ("n0", "duplicate"),
        ("n0", "hit"),
    ]


def test_second_mark_can_count_as_false_positive():
    here = (nodule(10), mark(0.5, at(0)), mark(0.9, at(4)))
    assert labels(*here, duplicates="false_positive") == [
        ("n0", "false_positive"),
        ("n0", "hit"),
    ]


def test_every_nodule_that_can_be_found_is_found():
    # the best mark is in both nodules, the second only in n0: both nodules are hit
    here = (nodule(10, at(0)), nodule(10, at(6)), mark(0.9, at(3)), mark(0.2, at(-3)))
    assert labels(*here) == [("n1", "hit"), ("n0", "hit")]
    assert labels(*here, assignment="greedy") == [("n0", "hit"), ("n0", "duplicate")]


def test_unmeasured_findings_are_ten_millimetres_wide():
    here = (ignored(None, at(0)), mark(0.5, at(4.9)), mark(0.5, at(5)), false_mark(0.1))
    assert [label for _, label in labels(*here)] == ["ignored", "false_positive", "false_positive"]
    assert [label for _, label in labels(*here, parameters={"unmeasured_diameter_mm": 12})] == [
        "ignored",
        "ignored",
        "false_positive",
    ]


def test_factor_widens_the_radius():
    here = (nodule(10), mark(0.5, at(5)))
    assert labels(*here, parameters={"radius_factor": 1.1}) == [("n0", "hit")]


def test_of_two_nodules_the_one_is_hit_whose_radius_a_mark_leaves_more_of():
    # 3 of 10 mm from the centre of n0, 2 of 4 mm from that of n1
    assert labels(nodule(20, at(0)), nodule(8, at(5)), mark(0.5, at(3))) == [("n0", "hit")]
