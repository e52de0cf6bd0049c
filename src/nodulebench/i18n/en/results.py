"""Tables and pictures of results, in English; braces take the values."""

TEXTS = {
    "head.algorithm": "Algorithm",
    "head.rule": "Rule",
    "head.case": "Case",
    "head.nodule": "Nodule",
    "head.mark": "Mark",
    "head.score": "Score",
    "head.type": "Type",
    "head.diameter_mm": "Diameter, mm",
    "metric.f1": "harmonic mean of precision and recall",
    "metric.f_beta": "weighted harmonic mean of precision and recall",
    "metric.reading": "{title} at {point} FP",
    "metric.reading_at": "{title} at {point}",
    "headline.all_marks": ", all marks counted",
    "headline.at_declared": ", at the declared threshold",
    "headline.at_point": ", at {rate} FP per case",
    "key.caption_one": "Every algorithm",
    "key.caption": "Every algorithm under every rule",
    "key.remark": (
        "Nodules hit, recall, precision and FP per case count all marks, whatever their score."
    ),
    "key.remark_declared": (
        "Nodules hit, recall, precision and FP per case are read at the threshold that an "
        "algorithm declares; where it declares none, all marks count."
    ),
    "key.remark_at": (
        "Nodules hit, recall, precision and FP per case are read at {rate} FP per case: below the "
        "score at which an algorithm has so many, its marks do not count."
    ),
    "readings.by_rate": "{metric} by false positives per case",
    "readings.by_fraction": "{metric} by false positive fraction",
    "readings.by_point": "{metric} at several points",
    "readings.remark": "{meaning}.",
    "counts.caption": "What became of nodules and marks",
    "metrics.metric": "Metric",
    "metrics.meaning": "Meaning",
    "metrics.value": "Value",
    "metrics.further": "Further",
    "metrics.bootstrap_mean": "bootstrap mean {mean}",
    "difference.caption": "Difference between rules",
    "difference.rules": "From rule → to rule",
    "difference.gained": "Gained",
    "difference.gained_hint": "nodules hit only under the second rule",
    "difference.lost": "Lost",
    "difference.lost_hint": "nodules hit only under the first rule",
    "difference.relative": "Relative difference",
    "difference.relative_hint": "(hits − hits under the first rule) / hits there",
    "difference.relabelled": "Marks relabelled",
    "uses.caption": "Which rule for which use",
    "uses.suits": "Suits",
    "uses.remark": "After Wang et al., Frontiers in Public Health 10 (2022).",
    "flips.caption": "Nodules and marks whose label depends on the rule",
    "flips.rules": "Rules",
    "flips.what": "What",
    "flips.change": "Change",
    "flips.distance": "Distance, mm",
    "flips.distance_hint": "nearest mark to the centre of the nodule's box on a slice",
    "flips.overlap": "Overlap",
    "flips.overlap_hint": "largest share of the nodule's box that a mark covers",
    "flips.more": "{count} more in flips.parquet.",
    "strata.cases": "Cases",
    "strata.nodules": "Nodules",
    "strata.missed": "Missed",
    "strata.miss_rate": "Miss rate",
    "strata.bars": "Bars from 0 to {end}, with intervals.",
    "strata.under_rule": "{division}, rule {rule}",
    "strata.of_nodules": (
        "With the false positives of all cases, because they belong to no stratum of nodules."
    ),
    "strata.too_few": "too few",
    "strata.too_few_reason": (
        "fewer than {minimum} nodules, the least for which the protocol gives a rate"
    ),
    "square.corner": "Reference ↓  said →",
    "square.remark": "{counted} by their class in the reference and as said.",
    "group.means": "Recall, precision and F of {count} algorithms by rule",
    "group.means_remark": (
        "Mean over the algorithms; whiskers: one sample standard deviation. F is averaged over "
        "the algorithms, not computed from mean precision and recall."
    ),
    "group.boxes": "{metric} of the algorithms by rule",
    "group.boxes_remark": (
        "Box: quartiles and median; whiskers: last value within 1.5 quartile distances; every "
        "algorithm is drawn. ** P ≤ 0.01, * P ≤ 0.05, ns P > 0.05, by unpaired t-tests as "
        "published; the paired tests are in the table."
    ),
    "group.boxes_plain": (
        "Box: quartiles and median; whiskers: last value within 1.5 quartile distances; every "
        "algorithm is drawn."
    ),
    "group.differences": "Nodules hit relative to the rule {base}",
    "group.differences_remark": "Right of 0: more nodules hit than under that rule.",
    "group.misses": "Miss rate by {division} under {rule}",
    "group.hardest": "Type missed most often, by size, under {rule}",
    "group.hardest_remark": (
        "Number of algorithms, of {count}, whose highest miss rate within the size is that of the "
        "type. A dash: no nodule of that type and size. Of equal rates the one with more misses "
        "counts, then the one listed first."
    ),
    "group.tied": "* {size}: the highest rate is shared by two types for {names}.",
    "diameters.title": "Diameters of the nodules to find",
    "diameters.bins": "Bins of {width} mm.",
    "diameters.expected": (
        "Dashed: the exponential that fits the nodules above {peak} mm, continued below. Where it "
        "lies above the bars, small nodules were probably not seen or not recorded."
    ),
    "worst.missed": "Cases with most nodules missed",
    "worst.false_positive": "Cases with most false positives",
    "misses.none": "No nodule is missed.",
    "misses.none_at": "No nodule is missed at {rate} FP per case.",
    "misses.by_rate": "Nodules missed by false positives per case",
    "misses.at": "FP per case",
    "misses.all_marks": "all marks",
    "misses.declared": "declared threshold",
    "misses.count": "Nodules missed",
    "misses.caption": "Nodules missed, the hardest first",
    "misses.caption_at": "Nodules missed at {rate} FP per case, the hardest first",
    "misses.remark": (
        "Never found first, then those found only with low scores. Places are x, y, z in mm (LPS); "
        "the nearest mark is that nearest to the centre, whatever its score."
    ),
    "misses.remark_falses": (
        "Places are x, y, z in mm (LPS); distances are to the centre of the nearest finding."
    ),
    "misses.more": "{count} more in {file}.",
    "misses.place": "Place, mm",
    "misses.found": "Found from",
    "misses.never": "never",
    "misses.from": "score {score} ({rate} FP per case)",
    "misses.nearest": "Nearest mark",
    "misses.no_mark": "no mark in the case",
    "misses.distance": "{distance} mm",
    "misses.distance_score": "{distance} mm, score {score}",
    "misses.also": "Also missed by",
    "misses.false_positives": "False positives with the highest scores",
    "misses.nearest_nodule": "Nearest finding",
    "misses.no_nodule": "no finding in the case",
    "misses.ignored": "{distance} (ignored)",
    "causes.chart": "Causes of false positives",
    "causes.caption": "What the false positives are, as tagged by readers",
    "causes.cause": "Cause",
    "causes.count": "Count",
    "causes.share": "Percent",
    "causes.remark": "Percent of the tagged false positives of the algorithm.",
    "gallery.missed": "{name}: nodules missed",
    "gallery.hit": "{name}: nodules hit",
    "gallery.false_positive": "{name}: false positives",
    "gallery.remark": ("50 × 50 mm; the lines point to the place; axial, coronal, sagittal."),
    "gallery.more": "Not shown: {count}; see misses.csv and false_positives.csv.",
    "gallery.click": "Click pictures to enlarge them.",
    "gallery.enlarge": "Enlarge",
    "gallery.place": "At {place} mm",
    "gallery.found": "Found from: {found}",
    "gallery.nearest_mark": "Nearest mark: {nearest}",
    "gallery.nearest": "Nearest finding: {nearest}",
    "gallery.score": "Score {score}",
    "literature.caption": "Detectors tested on LIDC-IDRI",
    "literature.remark": (
        "Published values as listed by Setio et al., Medical Image Analysis 42 (2017), table 4. "
        "Test sets, sizes and the readers' agreement differ, so the order is no ranking."
    ),
    "literature.system": "System (first author)",
    "literature.year": "Year",
    "literature.scans": "Scans",
    "literature.nodules": "Nodules",
    "literature.thickness": "Slice thickness, mm",
    "literature.size": "Size, mm",
    "literature.agreement": "Readers of 4 who agree",
    "literature.readings": "Sensitivity % / FP per scan",
    "literature.this": "This test: {name}",
}
