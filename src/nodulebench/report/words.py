"""Names in a document -> words a reader knows: figures (by IEEE 2802-2022 terms), rules, strata."""

from dataclasses import dataclass

from nodulebench.report.numbers import rate


@dataclass(frozen=True, slots=True)
class FigureWords:
    """How a figure of merit is called and what it says."""

    title: str
    meaning: str


FIGURES = {
    "cpm": FigureWords("CPM", "mean sensitivity over the operating points"),
    "cpm_exact": FigureWords(
        "CPM, exact counts", "the same mean, free of the official program's rounding"
    ),
    "sensitivity_at_fp_rate": FigureWords(
        "Sensitivity", "nodules hit among all, when so many false positives are allowed"
    ),
    "threshold_at_fp_rate": FigureWords("Score threshold", "the lowest score that then counts"),
    "recall": FigureWords("Recall", "nodules hit among all (lesion localisation rate)"),
    "miss_rate": FigureWords("Miss rate", "nodules missed among all"),
    "precision": FigureWords("Precision", "hits among hits and false positives"),
    "fp_per_case": FigureWords(
        "FP per case", "false positives per case (non-lesion localisation rate)"
    ),
    "fp_per_normal_case": FigureWords(
        "FP per normal case", "false positives per case without nodules"
    ),
    "marks_per_case": FigureWords("Marks per case", "all marks submitted per case"),
    "case_sensitivity": FigureWords(
        "Case sensitivity", "cases with nodules that have a mark, among all of them"
    ),
    "case_specificity": FigureWords(
        "Case specificity", "cases without nodules that have no mark, among all of them"
    ),
    "average_precision": FigureWords(
        "Average precision", "mean precision at which each nodule is found, 0 if missed"
    ),
    "afroc_area": FigureWords(
        "AFROC area", "nodules rated above the highest false positive of normal cases"
    ),
    "wafroc_area": FigureWords(
        "wAFROC area", "as AFROC, every case with nodules counting the same"
    ),
    "afroc1_area": FigureWords(
        "AFROC1 area", "nodules rated above the highest false positive of every case"
    ),
    "wafroc1_area": FigureWords(
        "wAFROC1 area", "as AFROC1, every case with nodules counting the same"
    ),
    "efroc_area": FigureWords(
        "EFROC area", "area under sensitivity against 1 − exp(−false positives per case)"
    ),
    "case_roc_area": FigureWords("Case ROC area", "cases rated by their highest mark"),
    "lroc_area": FigureWords(
        "LROC area", "abnormal cases located rightly and rated above normal ones"
    ),
    "pcl_at_fpf": FigureWords(
        "Correct localisation",
        "abnormal cases located rightly, when this share of normal cases is called abnormal",
    ),
    "malignancy_auc": FigureWords("Malignancy AUC", "malignant nodules rated above benign ones"),
    "malignancy_accuracy": FigureWords(
        "Malignancy accuracy", "found nodules called rightly benign or malignant"
    ),
    "malignancy_sensitivity": FigureWords(
        "Malignancy sensitivity", "malignant nodules called malignant"
    ),
    "malignancy_specificity": FigureWords("Malignancy specificity", "benign nodules called benign"),
    "malignancy_precision": FigureWords(
        "Malignancy precision", "malignant nodules among those called malignant"
    ),
    "malignancy_f_beta": FigureWords(
        "Malignancy F", "weighted harmonic mean of malignancy precision and sensitivity"
    ),
    "brier_score": FigureWords(
        "Brier score", "mean squared error of the probability of malignancy; best 0"
    ),
    "expected_calibration_error": FigureWords(
        "Calibration error", "mean gap between probability said and share malignant; best 0"
    ),
    "size_error_rate": FigureWords(
        "Size error rate", "mean relative error of the long axis; best 0"
    ),
    "diameter_error_mm": FigureWords(
        "Diameter error, mm", "mean of said minus reference; above 0: too large"
    ),
    "absolute_diameter_error_mm": FigureWords(
        "Absolute diameter error, mm", "mean distance from the reference; best 0"
    ),
    "density_accuracy": FigureWords(
        "Density accuracy", "found with the right density class, among all nodules"
    ),
    "density_accuracy_of_found": FigureWords(
        "Density accuracy of found", "right density class, among found nodules"
    ),
    "density_kappa": FigureWords("Density kappa", "agreement beyond chance, found nodules"),
    "type_kappa": FigureWords("Type kappa", "agreement beyond chance, found nodules"),
    "category_agreement": FigureWords(
        "Category agreement", "the reference's Lung-RADS category, among found nodules"
    ),
    "category_kappa": FigureWords(
        "Category kappa", "agreement of Lung-RADS category beyond chance"
    ),
    "category_kappa_linear": FigureWords(
        "Category kappa, linear", "the same, errors weighted by their distance"
    ),
    "category_kappa_quadratic": FigureWords(
        "Category kappa, quadratic", "the same, errors weighted by their squared distance"
    ),
    "mean_dice": FigureWords("Mean Dice", "overlap of outlines, mean over found nodules"),
    "mean_iou": FigureWords(
        "Mean IoU", "intersection over union of outlines, mean over found nodules"
    ),
    "pooled_dice": FigureWords("Pooled Dice", "overlap of all found outlines taken together"),
    "pooled_iou": FigureWords(
        "Pooled IoU", "intersection over union of all found outlines taken together"
    ),
    "median_seconds_per_case": FigureWords("Median time, s", "half of the cases took less"),
    "mean_seconds_per_case": FigureWords("Mean time, s", "seconds per case"),
    "max_seconds_per_case": FigureWords("Longest time, s", "the slowest case"),
    "failed_run_rate": FigureWords("Failed runs", "runs that failed or timed out, among cases run"),
}
"""Every figure of merit; terms of IEEE 2802-2022 where it has them."""

RULES = {
    "luna16": (
        "A mark hits a nodule if it lies closer to the nodule's centre than its radius, in 3-D. "
        "The best-scored mark counts; further marks on the nodule and marks on ignored findings "
        "are left out. A mark inside two nodules hits both. Counted as the official program does."
    ),
    "luna16_clean": (
        "A mark hits a nodule if it lies closer to the nodule's centre than its radius, in 3-D. "
        "One mark for one nodule, as many hits as possible; further marks on a nodule and marks "
        "on ignored findings are left out."
    ),
    "center_hit": (
        "A mark hits a nodule if on some slice the centre of its box lies inside the nodule's "
        "outline (or box). One mark for one nodule; a second mark is a false positive."
    ),
    "center_distance": (
        "A mark hits a nodule if on some slice the centres of both boxes are closer than the "
        "nodule's largest average radius. One mark for one nodule; a second mark is a false "
        "positive."
    ),
    "area_overlap": (
        "A mark hits a nodule if on some slice its box covers more than half of the nodule's box "
        "(or the share set). One mark for one nodule; a second mark is a false positive."
    ),
}

RULES_FOR_USES = (
    ("luna16", "comparison with published detectors and challenge results"),
    ("center_hit", "detection as such: the reader is led to the nodule; the usual baseline"),
    ("center_distance", "uses that need the position, such as robot-assisted surgery"),
    ("area_overlap", "uses that need the extent, such as radiotherapy planning"),
)
"""Which rule suits which intended use (NIFDC 2022)."""

COUNTS = {
    "hit": ("Nodules hit", "nodules that a mark hit"),
    "missed": ("Nodules missed", "nodules that no mark hit"),
    "marks": ("Marks", "all marks on cases of the test set"),
    "false_positive": ("False positives", "marks that hit nothing"),
    "duplicate": ("Duplicates", "further marks on a nodule already hit; not counted"),
    "ignored": ("On ignored findings", "marks on findings outside the scope; not counted"),
    "over_cap": ("Over the cap", "marks beyond the best ones of a case; not judged"),
    "uncounted": ("Uncounted", "marks that the size limit leaves out"),
    "fp_oe": ("FP by size", "false positives because the size was over-estimated"),
    "fn_ue": ("FN by size", "nodules lost because the size was under-estimated"),
}

STRATA = {
    "type": "Nodule type",
    "size": "Nodule size",
    "density": "Nodule density",
    "lung_rads_size": "Lung-RADS size",
    "fleischner_size": "Fleischner size",
}

INTERVALS = {
    "wilson": "Wilson",
    "clopper_pearson": "Clopper–Pearson",
    "cluster_ratio": "cluster ratio",
}


def figure_words(name: str) -> FigureWords:
    """The words for a figure, or for one reading of it as in ``sensitivity_at_fp_rate/1``.

    A figure that is not listed is called by its name.
    """
    if name in FIGURES:
        return FIGURES[name]
    if name.startswith("f") and name[1:].replace(".", "", 1).isdigit():
        mean = "harmonic mean" if name == "f1" else "weighted harmonic mean"
        return FigureWords(f"F{name[1:]}", f"{mean} of precision and recall")
    figure, _, point = name.partition("/")
    if point:
        title = FIGURES[figure].title
        return FigureWords(f"{title} at {rate(float(point))} FP", FIGURES[figure].meaning)
    return FigureWords(in_words(name).capitalize(), "")


PHRASES = {
    "minimum_mm": "smallest size, mm",
    "tolerance_mm": "tolerance, mm",
    "hits_settle_mm": "tolerance beyond which hits no longer change, mm",
    "false_positives_settle_mm": "tolerance beyond which false positives no longer change, mm",
    "fn_ue": "missed by under-estimated size",
    "fp_oe": "false positive by over-estimated size",
    "order_sensitivity": "nodules hit by order of assignment",
    "in_order": "one after another, in the reference's order",
    "reversed_order": "one after another, in reverse",
    "optimal": "all at once, as many as possible",
    "size_tolerance: sweep": "counts by tolerance for size error",
}
"""Names that words alone would not explain."""


def in_words(name: str) -> str:
    """A name as words: ``center_hit`` -> "center hit"; compounds keep a hyphen."""
    return PHRASES.get(name) or (
        name.replace("ground_glass", "ground-glass")
        .replace("part_solid", "part-solid")
        .replace("_", " ")
    )


def stratum_title(name: str) -> str:
    """The heading of a division into strata."""
    return STRATA.get(name, in_words(name).capitalize())
