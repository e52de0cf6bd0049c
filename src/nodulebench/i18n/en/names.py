"""What metrics, rules, counts and classes are called in English."""

METRICS = {
    "cpm": ("CPM", "mean sensitivity over the operating points"),
    "cpm_exact": (
        "CPM, exact counts", "the same mean, free of the official program's rounding",
    ),
    "sensitivity_at_fp_rate": (
        "Sensitivity", "nodules hit among all, when so many false positives are allowed",
    ),
    "threshold_at_fp_rate": ("Score threshold", "the lowest score that then counts"),
    "recall": ("Recall", "nodules hit among all (lesion localisation rate)"),
    "miss_rate": ("Miss rate", "nodules missed among all"),
    "precision": ("Precision", "hits among hits and false positives"),
    "fp_per_case": (
        "FP per case", "false positives per case (non-lesion localisation rate)",
    ),
    "fp_per_normal_case": ("FP per normal case", "false positives per case without nodules"),
    "marks_per_case": ("Marks per case", "all marks submitted per case"),
    "case_sensitivity": (
        "Case sensitivity", "cases with nodules that have a mark, among all of them",
    ),
    "case_specificity": (
        "Case specificity", "cases without nodules that have no mark, among all of them",
    ),
    "average_precision": (
        "Average precision", "mean precision at which each nodule is found, 0 if missed",
    ),
    "afroc_area": (
        "AFROC area", "nodules rated above the highest false positive of normal cases",
    ),
    "wafroc_area": ("wAFROC area", "as AFROC, every case with nodules counting the same"),
    "afroc1_area": (
        "AFROC1 area", "nodules rated above the highest false positive of every case",
    ),
    "wafroc1_area": ("wAFROC1 area", "as AFROC1, every case with nodules counting the same"),
    "efroc_area": (
        "EFROC area", "area under sensitivity against 1 − exp(−false positives per case)",
    ),
    "case_roc_area": ("Case ROC area", "cases rated by their highest mark"),
    "case_sensitivity_at_fpf": (
        "Case sensitivity at 1 − specificity",
        "abnormal cases called abnormal, when this share of normal cases is too",
    ),
    "case_roc_area_until_fpf": (
        "Partial case ROC area",
        "mean sensitivity until this share of normal cases is called abnormal",
    ),
    "lroc_area": ("LROC area", "abnormal cases located rightly and rated above normal ones"),
    "pcl_at_fpf": (
        "Correct localisation",
        "abnormal cases located rightly, when this share of normal cases is called abnormal",
    ),
    "malignancy_auc": ("Malignancy AUC", "malignant nodules rated above benign ones"),
    "malignancy_sensitivity_at_fpf": (
        "Malignancy sensitivity at 1 − specificity",
        "malignant nodules called malignant, when this share of benign ones is too",
    ),
    "malignancy_auc_until_fpf": (
        "Partial malignancy AUC",
        "mean sensitivity until this share of benign nodules is called malignant",
    ),
    "malignancy_accuracy": (
        "Malignancy accuracy", "found nodules called rightly benign or malignant",
    ),
    "malignancy_sensitivity": ("Malignancy sensitivity", "malignant nodules called malignant"),
    "malignancy_specificity": ("Malignancy specificity", "benign nodules called benign"),
    "malignancy_precision": (
        "Malignancy precision", "malignant nodules among those called malignant",
    ),
    "malignancy_f_beta": (
        "Malignancy F", "weighted harmonic mean of malignancy precision and sensitivity",
    ),
    "brier_score": (
        "Brier score", "mean squared error of the probability of malignancy; best 0",
    ),
    "expected_calibration_error": (
        "Calibration error", "mean gap between probability said and share malignant; best 0",
    ),
    "size_error_rate": ("Size error rate", "mean relative error of the long axis; best 0"),
    "diameter_error_mm": (
        "Diameter error, mm", "mean of said minus reference; above 0: too large",
    ),
    "absolute_diameter_error_mm": (
        "Absolute diameter error, mm", "mean distance from the reference; best 0",
    ),
    "density_accuracy": (
        "Density accuracy", "found with the right density class, among all nodules",
    ),
    "density_accuracy_of_found": (
        "Density accuracy of found", "right density class, among found nodules",
    ),
    "density_kappa": ("Density kappa", "agreement beyond chance, found nodules"),
    "type_kappa": ("Type kappa", "agreement beyond chance, found nodules"),
    "category_agreement": (
        "Category agreement", "the reference's Lung-RADS category, among found nodules",
    ),
    "category_kappa": ("Category kappa", "agreement of Lung-RADS category beyond chance"),
    "category_kappa_linear": (
        "Category kappa, linear", "the same, errors weighted by their distance",
    ),
    "category_kappa_quadratic": (
        "Category kappa, quadratic", "the same, errors weighted by their squared distance",
    ),
    "mean_dice": ("Mean Dice", "overlap of outlines, mean over found nodules"),
    "mean_iou": ("Mean IoU", "intersection over union of outlines, mean over found nodules"),
    "pooled_dice": ("Pooled Dice", "overlap of all found outlines taken together"),
    "pooled_iou": (
        "Pooled IoU", "intersection over union of all found outlines taken together",
    ),
    "median_seconds_per_case": ("Median time, s", "half of the cases took less"),
    "mean_seconds_per_case": ("Mean time, s", "seconds per case"),
    "max_seconds_per_case": ("Longest time, s", "the slowest case"),
    "failed_run_rate": (
        "Failed runs",
        "runs that failed, timed out or found no plausible lungs, among cases run",
    ),
}  # fmt: skip
"""Every metric: its title and what it says."""

TERMS: dict[str, str] = {}
"""The terms of IEEE 2802-2022 are English."""

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
    "lung_rads_size": "Lung-RADS category by size",
    "fleischner_size": "Fleischner size",
    "vendor": "Vendor",
    "thickness_mm": "Slice thickness, mm",
    "sex": "Sex",
    "age": "Age",
    "site": "Site",
}
"""Divisions of nodules or cases, as headings."""

NAMES = {
    "not_ct": "not CT",
    "not_chest": "not a chest",
    "duplicate_uid": "second copy (same UID)",
    "duplicate_pixels": "second copy (same pixels)",
    "listed_uid": "in another set's list (UID)",
    "listed_pixels": "in another set's list (pixels)",
    "listed_near_duplicate": "near duplicate of another set's scan",
    "phantom": "known by construction (phantom)",
    "part_solid": "part-solid",
    "pure_ground_glass": "pure ground-glass",
    "ground_glass": "ground-glass",
    "plan": "test plan",
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
    "cut": "lowest grade above the cut",
    "wilson": "Wilson",
    "delong": "DeLong",
    "clopper_pearson": "Clopper–Pearson",
    "luna16_bootstrap": "official (LUNA16 program)",
    "percentile_bootstrap": "percentile",
    "bca_bootstrap": "BCa",
    "one_treatment_fixed_cases": "one treatment, fixed cases",
    "poisson": "Poisson",
    "half_width": "half-width",
}
"""Names in a document that are not their own words."""
