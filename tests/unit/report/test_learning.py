from nodulebench.i18n.translator import translator
from nodulebench.report.line_charts import learning_chart

POINTS = [(10, 0.7), (20, 0.4), (30, 0.35)]


def test_one_training_is_named_at_the_end_of_its_line() -> None:
    drawn = learning_chart("twoscale", {None: POINTS}, {}, translator("en"))

    assert drawn.startswith("<svg xmlns")
    assert 'aria-label="training loss of twoscale"' in drawn
    assert ">all folds<" in drawn
    assert ">30<" in drawn


def test_the_area_of_deciding_folds_is_drawn_next_to_the_loss() -> None:
    areas = [(10, 0.71), (20, 0.93), (30, 0.9)]
    drawn = learning_chart("znet", {0: POINTS, 1: POINTS}, {0: areas, 1: []}, translator("en"))

    assert drawn.count(">area under the ROC curve, folds for early stopping<") == 1
    assert drawn.count('<path class="curve') == 3
    assert 'aria-label="training loss of znet, and the area' in drawn
    assert 'viewBox="0 0 1424 492"' in drawn
    # the best check, in the middle of the steps, is marked
    assert 'data-at="320.00 93.33"' in drawn


def test_without_an_area_only_the_loss_is_drawn() -> None:
    drawn = learning_chart("znet", {0: POINTS}, {0: []}, translator("en"))

    assert "folds that decide" not in drawn


def test_many_lines_have_no_names_that_would_cover_each_other() -> None:
    drawn = learning_chart("znet", dict.fromkeys(range(10), POINTS), {}, translator("zh"))

    assert "未用第" not in drawn
    assert drawn.count('<path class="curve') == 10


def test_nothing_is_drawn_before_the_first_check() -> None:
    drawn = learning_chart("znet", {None: POINTS}, {}, translator("en"))

    assert ">10<" in drawn
    assert ">0<" not in drawn


def test_a_single_check_is_a_point() -> None:
    assert ">40<" in learning_chart("znet", {None: [(40, 0.5)]}, {}, translator("en"))


def test_two_names_would_cover_each_other_too() -> None:
    drawn = learning_chart("znet", {0: POINTS, 1: POINTS}, {}, translator("en"))

    assert "without fold" not in drawn
