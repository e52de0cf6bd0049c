"""Codes -> how runs went, and relations that marks keep when an image changes, in English."""

NOTICES = {
    "run_exited": "it ended with exit code {exit_code}",
    "run_signalled": "it was ended by signal {signal}",
    "run_timed_out": "it did not end within {seconds:.0f} s",
    "run_out_of_memory": "it wanted more memory than it may have",
    "run_too_many_processes": "it wanted more processes than it may have",
    "run_not_ready": "it did not become ready",
    "run_call_failed": "it answered that it failed",
    "run_infrastructure": "the machine failed, not the algorithm[: {problem}]",
    "run_marks_over": (
        "it gave {marks:,} marks; the {most:,} with the highest scores count, the others do not"
    ),
    "run_marks_outside": (
        "{outside:,} of {marks:,} marks lie outside the image; they count as marks, and hit nothing"
    ),
    "run_lungs_implausible": "it says that it found no plausible lungs; its marks count",
    "output_missing": "it wrote no file",
    "output_large": "it wrote more than it may",
    "output_many_files": "it wrote more than {most:,} files",
    "output_odd_name": "it gave a file a name that is too long or no text",
    "output_deep": "it wrote folders deeper than {most}",
    "output_no_file": (
        "it wrote {kind:link=a link|pipe=a pipe|socket=a socket|*=a device} instead of a file"
    ),
    "output_unread": "what it wrote cannot be read[ ({problem})]",
    "output_lacks": "it did not write [{file}|a file that its manifest names]",
    "output_no_marks": "what it wrote cannot be read as marks[: {problem}]",
    "output_several_cases": "its marks name more than one case, but it was given one",
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
