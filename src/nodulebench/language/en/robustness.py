"""Codes -> relations that marks must keep when an image is changed, and what came, in English."""

NOTICES = {
    "relation_shift": "the patient lies elsewhere: marks move along",
    "relation_flip_columns": "columns stored backwards: the same marks",
    "relation_flip_slices": "slices stored from head to feet: the same marks",
    "relation_mirror": "the mirror image has the highest-scored marks mirrored",
    "relation_crop": "cut to the lungs: the same marks",
    "relation_noise": "a little noise: the highest-scored marks stay",
    "relation_insert": "nodules drawn in are found, other marks stay",
    "relation_density": "denser or airier lungs: nodules stay found, about as many marks",
    "relation_more_noise": "twice the noise: nodules stay found, about as many marks",
    "relation_dose": "sensitivity does not rise as dose falls",
    "relation_thickness": "sensitivity does not rise as slices get thicker",
    "relation_smooth_kernel": "large nodules are found with a smoother kernel",
    "relation_sharp_kernel": "large nodules are found with a sharper kernel",
    "marks_agree": (
        "{agreeing} of {before} and {after} marks agree ({share:.2f}), at least {least:g}"
    ),
    "highest_stay": (
        "{kept} of the {top} highest-scored marks stay ({share:.2f}), at least {least:g}; "
        "of all marks {all:.2f}"
    ),
    "inserted_found": (
        "{large_found} of {large} large found ({found} of {total} in all); elsewhere {elsewhere}"
    ),
    "found_by_step": "found of {total}: {steps:list}",
    "large_stay": "{kept} of {total} large nodules that were found stay found",
    "about_as_many": (
        "{kept} of {total} large nodules that were found stay found; marks {counts:list}; "
        "at most {factor:g} times more or fewer"
    ),
    "variant_counted": "{variant}: {count}",
    "variant_none": "as it is",
    "variant_nodules": "with nodules",
    "variant_shift": "shift",
    "variant_flip_columns": "flip of columns",
    "variant_flip_rows": "flip of rows",
    "variant_flip_slices": "flip of slices",
    "variant_mirror": "mirror",
    "variant_crop": "crop",
    "variant_noise": "noise",
    "variant_dose": "dose 1/{part}",
    "variant_density": "median {median_hu:.0f} HU",
    "variant_thickness": "slices x{factor}",
    "variant_smooth_kernel": "smooth kernel",
    "variant_sharp_kernel": "sharp kernel",
    "no_marks_at_all": "no marks before or after",
    "no_marks_before": "no marks before",
    "never_found": "none of {total} inserted nodules found at any step",
    "no_large_found_before": "no large inserted nodule was found before",
}
