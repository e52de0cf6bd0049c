"""Codes -> what a reader must know, and remarks, in English."""

NOTICES = {
    "as_stated": "{text}",
    # the test set and its marks
    "marks_dropped": (
        "{marks} mark(s) of {cases} case(s) that are not in the list were dropped[: {names:names}]."
    ),
    "headers_dropped": "{count} repeated header row(s) were dropped.",
    "strata_not_known": (
        "The test set does not say {columns:words}: results are not divided by it."
    ),
    "marks_over_cap": (
        "{count} mark(s) beyond the {cap} best of their case were not judged ({ties:drop=marks "
        "tied across the cut are all dropped|keep=marks tied across the cut are all kept|"
        "file_order=ties are cut in file order})."
    ),
    "weights_saw_scans": (
        "{count:,} of {cases:,} scans were judged by weights that had learnt from them[: "
        "{names:names}]. What is measured there does not hold for other scans."
    ),
    "candidates_scored": "The marks score {scored} of the {candidates} candidates[ in {file}].",
    "outside_image": (
        "{outside} of {checked} places lie outside the image of their case.[ With x and y "
        "mirrored it would be {mirrored}: are they RAS coordinates? NoduleBench wants LPS.]"
    ),
    "marks_repeated": (
        "{marks:,} mark(s) in {cases:,} case(s) are given twice: same place, same score[: "
        "{names:names}]. Where a rule counts further marks, they count as false positives."
    ),
    "cases_without_marks": (
        "{count:,} of {cases:,} cases have no mark[: {names:names}]. They stay in every "
        "denominator: was the algorithm run on them, or is this a fold of the set (--series)?"
    ),
    "runs_failed": (
        "Of {runs:,} runs {failed:,} failed and {timed_out:,} ran out of time[: {names:names}]. "
        "Their cases stay in every denominator."
    ),
    # the lungs that a detector looks into
    "lungs_without_tissue": "no air in the body has the density, the vessels and the wall of lung",
    "lungs_unlike": (
        "{measure:volume_ml=their volume in ml|height_mm=their height in mm|median_hu=their median "
        "density in HU|body_share=their share of the body's section|exposed_share=the share of "
        "their border that lies at the skin|left_out_share=air as dark as lung left out, beside "
        "their volume,} is {value:,.4g}, not {low:,g} to {high:,g}"
    ),
    "lungs_implausible": (
        "what was taken for the lungs is not as lungs are: {doubts:list}. Nodules may be missed "
        "and marks may lie outside of the lungs: look at the scan before these marks are used."
    ),
    "lungs_unusual": "have a look at the lungs: {doubts:list}.",
    "runs_lungs_implausible": (
        "In {count:,} of {runs:,} runs the algorithm found no plausible lungs[: {names:names}]. "
        "Their cases stay in every denominator, and their marks count."
    ),
    "one_lung": "there is but one lung (the other has {smaller_share:.0%} of its volume)",
    "threshold_declared": (
        "Recall, precision, F, false positives per case and misses are read at the threshold "
        "{declared:g} that the algorithm declares; curves and what is read from them use all marks."
    ),
    "threshold_overridden": (
        "The protocol's threshold {threshold:g} takes the place of {declared:g}, which the "
        "algorithm declares."
    ),
    "threshold_not_used": (
        "The threshold {declared:g} that the algorithm declares is not used: the protocol reads at "
        "{rate:g} false positives per case."
    ),
    "threshold_without_scores": (
        "The algorithm declares the threshold {declared:g}, but not all of its marks have a score: "
        "all of them count."
    ),
    "names_nearly_match": (
        "{marks:,} of these marks would be in {cases:,} case(s) of the test set if "
        "{way:file=folders and endings of files were left out|letters=endings of files and "
        "large or small letters did not matter|signs=dashes, underscores, dots and the like "
        "did not matter}[: '{given}' is '{case}'?]"
    ),
    "scores_inverted": (
        "Hits have lower scores than false positives: in {share:.0%} of pairs only the hit has "
        "the higher one. Does a low score mean a nodule here? A high one has to."
    ),
    "would_be_hit": (
        "{hits:,} of the {nodules:,} nodules in cases with marks would be hit if "
        "{slip:ras=x and y were mirrored (RAS? LPS is wanted)|"
        "x_mirrored=x were mirrored|y_mirrored=y were mirrored|"
        "z_mirrored=z had the other sign|zyx=the columns stood in the order z, y, x|"
        "yxz=x and y were exchanged|xzy=y and z were exchanged|"
        "centimetres=they were in centimetres|metres=they were in metres|"
        "flipped_z=slices were counted from the other end|voxels=they were voxels, not "
        "millimetres|voxels_zyx=they were voxels in the order z, y, x|"
        "from_first_voxel=millimetres were counted from the first voxel, without the origin}; "
        "as given, {given:,} are."
    ),
    "few_hits": (
        "Only {given:,} of the {nodules:,} nodules in cases with marks are hit, and no usual "
        "slip of coordinates explains it.[ Voxels and flipped slices were not tried: the "
        "geometry of the {untried:,} cases is not known; give it with --cases.]"
    ),
    "nodules_added": (
        "{added} nodules were added and {ignored} findings ignored after an observer study of "
        "false positives."
    ),
    # matching
    "marks_in_two_nodules": (
        "{count} mark(s) lie inside two nodules; the official program counts a hit for each."
    ),
    "nodules_without_size": (
        "{count} nodule(s) have neither a diameter nor a box and count as missed."
    ),
    "nodules_without_box": "{count} nodule(s) have no box on any slice and count as missed.",
    "marks_without_box": "{count} mark(s) have no box on any slice and cannot hit a nodule.",
    "spacing_unknown": (
        "The slice spacing is not known for {pairs} pair(s) of mark and nodule; where several "
        "marks hit one nodule their distance to its largest slice takes 1 mm per slice."
    ),
    "nodule_regions": (
        "The region of a nodule was its contour on {contours} slice(s) and its box on {boxes}."
    ),
    "overlap_of_hits": (
        "Intersection over union of the {count} hit(s): mean {mean:.3f}, {low} at 0.5 or less."
    ),
    # files of marks and references
    "no_excluded_findings": (
        "[{folder}|The test set] has no annotations_excluded.csv: marks on excluded findings "
        "count as false positives, so the result is not the official one."
    ),
    "columns_separated": (
        "[{file}|The file] has {separator:semicolons=';'|tabs=tabs} between columns"
        "[ and a decimal {decimal}]: read so."
    ),
    "columns_respelt": (
        "[{file}: ]columns were taken for those of nearly the same name[: {columns:list}]."
    ),
    "columns_unread": (
        "[{file}: ]columns were not read, because nothing is known of them[: {columns:list}]."
    ),
    "nodule_columns_unread": (
        "{file}: columns were not read, because nothing is known of them: {columns:list}. A table "
        "given with --nodules may have any column, as strata."
    ),
    "nodules_passed_over": (
        "{count} of the {given} rows in the table of nodules are about cases that are not in the "
        "test set and were passed over."
    ),
    "cases_passed_over": (
        "{count} of the {given} cases in the table of cases are not in the test set and were "
        "passed over."
    ),
    "scans_described_by_images": (
        "{columns:list}: the reference said something else than the headers of the images in some "
        "cases; the set has what the headers say."
    ),
    "boxes_linked_by_place": (
        "[{file}|The file] has no nodule_id: {boxes} boxes were linked into {marks} marks (on "
        "adjacent slices, the centre of one box inside the other, nearest first)."
    ),
    "boxes_linked": (
        "[{file}: ]{boxes} boxes were linked into {marks} {what:findings=findings|marks=marks} "
        "(on adjacent slices, the centre of one box inside the other, nearest first)."
    ),
    "convention_assumed": (
        "[{file}|The file] does not say its {key}; taken as {taken}, as in MONAI's LUNA16 "
        'examples. State "{key}" at the top of the file if that is wrong.'
    ),
    "geometry_unknown": (
        "The geometry of the cases (size, spacing, origin) is not known, so the boxes are not "
        "cut into slices; rules that judge slices cannot be used."
    ),
    # DICOM reports
    "outlines_unplaced": (
        "The geometry of {count} case(s) is not known, so outlines are not laid on slices; rules "
        "that judge slices cannot be used. Give the folder of the images as cases."
    ),
    "others_passed_over": (
        "[{file}: ]findings that are no nodules were passed over[: {others:list}]."
    ),
    "segmentation_fractional": (
        "[{file}|A segmentation] is fractional: pixels of one half and more were taken."
    ),
    "cad_partly_failed": "[{file}: ]not all algorithms of the CAD system succeeded.",
    "no_certainty": "{count} of {findings} findings have no certainty, so no score.",
    "operating_points_as_scores": (
        "No finding has a certainty: scores are CAD operating points, negative."
    ),
    "hidden_findings": (
        "{count} finding(s) that are not for presentation to a user {done:kept=were kept|"
        "left_out=were left out}."
    ),
    "optional_findings": "{count} finding(s) whose presentation is optional were kept.",
    # readings
    "xrays_passed_over": "{count} chest X-ray read(s) were passed over.",
    "readings_repeated": "{count} file(s) repeat the reading of a series and count once.",
    "reading_corrected": (
        "[{file}|A file] corrects [series {series}|a series] and was {done:applied=applied|"
        "not_applied=not applied}."
    ),
    "findings_outside": "{count} finding(s) lie outside their image and were kept[: {files:list}].",
    "no_origin": (
        "{count} case(s) have no origin: positions in them are measured from the first voxel."
    ),
    "file_passed_over": "passed over[: {problem}]",
    "readers_unknown": (
        "the database does not say who drew what: every annotation counts as a reader of its "
        "own, and findings below 3 mm and non-nodules are missing."
    ),
    # annotation
    "long_diameter": "long diameter {long_mm:.1f} mm on slice {slice}, more than {longest_mm:g} mm",
    "crossing_outline": "the outline on slice {slice} crosses itself",
    "single_slice": "on one slice only, though slices are {spacing_mm:g} mm apart",
    "calcified_density": "called {type}, but its mean is {mean_hu:.0f} HU, not above {least_hu:g}",
    "outside_lung": "{share:.0%} of it lies outside the lungs",
    "added_in_review": "'{reader}' added it and no reader drew it",
    "readers_inconsistent": "the readers are not consistent",
    "types_differ": "its types differ",
    "reviewer_objects": "the reviewer objects",
    "log_unsigned": (
        "the project names no keys: whoever can write to its folder can write steps in anybody's "
        "name and the whole log anew; only a checkpoint kept elsewhere would show it"
    ),
    "log_without_checkpoint": (
        "no checkpoint was compared: a log that was put back to an older state as a whole would "
        "not be seen"
    ),
    "reviewer_named": "the reviewer '{reader}' of batch '{batch}' was named, not drawn",
    "draw_waits": (
        "all have read batch '{batch}' since {since}, and its reviewer is not drawn: by "
        "keeping back its part the office could choose"
    ),
    "draw_made_anew": (
        "the office did not tell what it had promised for batch '{batch}' ({reason}); '{reader}' "
        "drew the reviewer anew, and could have chosen"
    ),
    "cases_opened_again": (
        "cases were opened more than once, each time with a reviewer anew: {batches:list}"
    ),
    # losses of a conversion
    "rows_changed": "{before} rows became {after}.",
    "table_lost": "{table}: all {rows} rows are lost.",
    "values_lost": "{table}: {lost} of {held} values of {column} are lost.",
    "names_lost": "{column}: the names are not kept.",
    "values_changed": "{column}: values changed by up to {change:.3g}.",
    # comparisons and plans
    "too_few_resamples": (
        "{resamples} resamples are too few to adjust for {family} comparisons: no P value can "
        "be below {smallest:.2g}, so differences may pass as not significant. Use at least "
        "{enough}."
    ),
    "other_uses": (
        "Algorithms are compared within equal intended use. {count} of another use"
        "[ ({algorithms})] {count:1=stands|*=stand} beside them without tests; only what the "
        "rules do is told of all."
    ),
    "different_targets": (
        "Under the rule '{rule}' the algorithms had to find different nodules, because they "
        "are declared for different types; differences mix this with their skill."
    ),
    "other_than_planned": (
        "The {part:protocol=protocol|cohort=list of cases|reference=reference standard} is not "
        "the planned one[: planned {planned}, tested {tested}]."
    ),
    # sealed sets
    "look_interrupted": "the look of event {event} was interrupted; asking again costs no look",
    "leftover": "[{file}|a file] was left by a killed process and can be removed",
}
