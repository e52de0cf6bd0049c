"""Codes -> why a series is excluded when a test set is made, in English."""

NOTICES = {
    # what it is
    "other_modality": "its modality is [{modality}|not said]",
    "other_sop_class": "its objects are no CT images (SOP class [{sop_class}|not said])",
    "localizer_type": "its image type is {type}",
    "secondary_capture": "it is a secondary capture",
    "projection": "it is a projection ({type})",
    "colours": "it has colours ({photometric}, {samples} samples per pixel)",
    "few_bits": "{bits} bits per pixel cannot hold Hounsfield units",
    "slice_unread": "a slice {problem}[ (and {more} more files)]",
    "reader_died": "its reader died (exit {exit_code})",
    "reader_gone": "every process or machine that read it was lost",
    "reader_timed_out": "its reader did not come to an end in time",
    "too_much_memory": "its pixels need more memory than a CT series can",
    # whether its slices belong together
    "slices_name_several": "its slices name {count} {what}",
    "slices_without": "{count} slices have no {what}",
    "pixels_without_size": "its pixels have no size",
    "slices_skew": "rows and columns of {count} slices are not at right angles",
    "slices_turned": "{count} of {total} slices are turned differently",
    "slices_differ": "its slices differ in {what}: {first} and {second}[ and {third}]",
    "pixels_not_square": "its pixels are not square: {rows_mm:g} x {columns_mm:g} mm",
    "other_field_of_view": (
        "{columns} columns of {pixel_mm:g} mm are {seen_mm:.0f} mm, but the image was "
        "reconstructed to {said_mm:.0f} mm"
    ),
    # where its slices lie
    "slices_off_axial": "its slices are {plane:word}, {degrees:.0f} degrees from axial",
    "gantry_tilted": "the gantry was tilted by {degrees:g} degrees",
    "slices_shift": "its slices shift sideways by {degrees:.1f} degrees",
    "slice_twice": "{file} is there twice",
    "slices_at_one_place": "{first} and {second} lie at {at_mm:.2f} mm",
    "slices_same_pixels": "{first} and {second} show the same pixels",
    "slices_missing": (
        "[{count} slices are|a slice is] missing[, in {places} places]: {first} and {second} are "
        "{gap_mm:.2f} mm apart, others {usual_mm:.2f} mm"
    ),
    "slices_leave_gaps": "slices {usual_mm:.2f} mm apart are only {thickness_mm:g} mm thick",
    "slices_uneven": ("{first} and {second} are {gap_mm:.2f} mm apart, others {usual_mm:.2f} mm"),
    "slice_beside": "{file} lies {off_mm:.1f} mm beside the others",
    "spacing_contradicts": (
        "its header says {said_mm:g} mm between slices, their positions {usual_mm:.2f} mm"
    ),
    "few_slices": "{count} slices; the limit is {limit}",
    # what its image shows
    "few_pixels": "{rows} x {columns} pixels; the limit is {limit} x {limit}",
    "thickness_unknown": "its slices do not say how thick they are",
    "too_thick": "{thickness_mm:g} mm; the limit is {limit_mm:g} mm",
    "no_rescale": "no rescale slope and intercept: HU are unknown",
    "bad_slope": "a rescale slope of {slope:g}",
    "little_contrast": "its values span no more than {span_hu:.0f} HU",
    "wrong_levels": "air and lung are at {air_hu} HU, soft tissue at {tissue_hu} HU",
    "slices_do_not_fit": "{count} slices do not fit between their neighbours",
    "slices_in_wrong_order": "neighbouring slices are in the wrong order",
    "little_lung": (
        "it shows {lung_ml:.0f} ml of lung; the limit is {limit_ml:g}"
        "[ (the header says: {body_part})]"
    ),
    "edge_through_lung": "its edge runs through lung along {cut_mm:.0f} mm of the body",
    "ends_within_lung": "it ends towards the {end} where lung still covers {area_cm2:.0f} cm²",
    # scans that are known
    "duplicate_uid": "The series is there already: the same series UID.",
    "duplicate_pixels": "The same pixels are there already, under another series UID.",
    "near_duplicate": (
        "The same scan is there already: reconstructed, compressed, cropped or rescaled "
        "differently, as its perceptual hash says."
    ),
    "listed_uid": "A list of another set holds the same series UID.",
    "listed_pixels": "A list of another set holds the same pixels.",
    "listed_near_duplicate": (
        "A list of another set holds the same scan, as its perceptual hash says."
    ),
    "held_by_this_set": "this set already holds {what}",
    "held_by_list": "the list {list} holds {what}",
    "same_series": "the series {uid}",
    "same_pixels": "the same pixels as the series [{uid}|without UID]",
    "alike_bits": "{share:.1%} of the bits of the series [{uid}|without UID]",
    # files that give no slices
    "header_too_large": "needs more memory than a header can",
    "header_unreadable": "its header cannot be read ({error})",
    "file_empty": "is empty",
    "not_dicom_despite_its_name": "is not DICOM, though its name says so",
    "zip_archive": "is a zip archive; unpack it to have it read",
    "not_dicom": "is not DICOM",
    "is_dicomdir": "is a DICOMDIR",
    "series_unnamed": (
        "names [its series '{name}', which is no UID|no series] (SeriesInstanceUID)"
    ),
    "frames_undescribed": "describes {count} of its {of} frames",
    "folder_closed": "cannot be looked into ({error})",
    # pixels that cannot be used
    "pixels_absent": "has no pixels",
    "pixels_impossible": "cannot have {rows} rows and {columns} columns",
    "pixels_coloured": "has {samples} samples per pixel, which are colours",
    "pixels_of_bits": "has {bits} bits per pixel",
    "pixels_too_few": "holds {bytes} bytes of pixels where {size} need {needed}",
    "pixels_gone": "cannot be read any more ({error})",
    "pixels_cut_off": "was cut off while it was read",
    "pixels_hardly_any": "holds only {bytes} bytes of compressed pixels",
    "pixels_of_another_size": "has compressed pixels of {stream} where its header says {said}",
    "pixels_undecoded": "has pixels that cannot be decoded ({error})",
    # why a slice is not de-identified
    "slice_unreadable": "cannot be read ({told})",
    "reader_lost": "cannot be read ({why})",
    "no_ct_picture": "is no CT picture (class [{sop_class}|unknown])",
    "no_own_uids": "has no UIDs of its own",
    "burned_in_said": "its header says that text is burned in",
    "no_original": "it is no original picture ({type})",
    "device_screen": "it is a screen of the scanner ({screen:word})",
    "burned_in_seen": (
        "text seems to be burned in: {letters} letters near row {row}, column {column}"
        "[ on frame {frame}]"
    ),
    "pixels_unknown": "its pixels are written as those of no CT picture",
    "number_unlike": "its {keyword} is no number that a scanner writes",
    "identities_left": "still holds: {what:list}",
    # what may still identify in a file without identities
    "left_private": "{where} is private",
    "left_overlay": "{where} is a curve or an overlay",
    "left_sequence": "{where} is a sequence that the profile removes",
    "left_bytes": "{where} holds bytes of unknown meaning",
    "left_unknown": "{where} is unknown to the standard",
    "left_uid": "{where} is a UID of its maker",
    "left_no_pseudonym": "{where} is no pseudonym",
    "left_words": "{where} holds words that are not known to be harmless",
    "left_age": "{where} is above 90 years, or no age",
    "left_date": "{where} is no date or time that may stay",
    "left_profile": "{where} is removed or emptied by the profile",
    "left_text": "{where} is text that nobody has looked at",
    "left_code": "{where} is a code that is not known",
    "left_number": "{where} is a number that may be somebody's",
    "left_word": "{where} holds the word '{word}'",
    "left_original_date": "{where} holds the date of the original",
    "left_original_uid": "{where} holds a UID of the original",
    "left_undeclared": "PatientIdentityRemoved is not YES",
    "left_meta": "file meta information holds {name}",
    "left_meta_uid": "file meta information {name} is the UID of the original",
    "left_preamble": "the preamble of the file is not empty",
    "left_word_in_bytes": "the bytes of the header hold the word '{word}'",
    "left_in_pixels": "there are bytes behind its picture, or bits beside its values",
    "left_compressed": "its picture is compressed, and may hold more than a picture",
    "left_name": "its name or that of its folder is none that de-identification gives",
    "left_unfinished": "is what a killed run left",
    "check_unseen": "smoothed text over the body, faces, and what harmless facts tell together",
    "check_unsearched": "whether text is burned into the pictures",
}
