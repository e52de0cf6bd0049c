"""What a benchmark asks for: tracks, candidates, folds, criteria and training, in English."""

TEXTS = {
    "portal.terms": "What is asked for",
    "portal.terms.candidates": "Candidate list",
    "portal.terms.folds": "Folds",
    "portal.terms.plan": "Acceptance criteria",
    "portal.terms.wrong": "The file was not taken:",
    "portal.terms.lay": "Lay down",
    "portal.terms.end": "Ask for it no longer",
    "portal.lay.candidates": (
        "A table with seriesuid, coordX, coordY and coordZ, such as LUNA16's candidates_V2.csv. "
        "The track of false-positive reduction scores exactly these. Whether a candidate is a "
        "nodule is not kept. A new list is a new version; entries keep theirs."
    ),
    "portal.lay.folds": (
        "A table with seriesuid and fold. Who trains on the test set cross-validates by these "
        "folds; without them, by folds of their own, which are checked."
    ),
    "portal.lay.plan": (
        "Criteria in TOML, which are frozen here, or a plan frozen before. Every entry that is "
        "scored from now on is judged by them; score all anew to judge the others."
    ),
    "portal.count_of.candidates": "{count} candidates",
    "portal.count_of.folds": "{count} folds",
    "portal.count_of.plan": "{count} criteria",
    "portal.list_version": "version {version}",
    "portal.track": "Track",
    "portal.tracks": "Tracks",
    "portal.track.detection": "complete detection",
    "portal.track.reduction": "false-positive reduction",
    "portal.track_hint": (
        "False-positive reduction: give each of the {count} candidates of version {version} one "
        "score, at its place."
    ),
    "portal.stratum": "Part",
    "portal.stratum.all": "all nodules",
    "portal.cross_validates": (
        "Who trains on the test set has to cross-validate; everybody says whether they did"
    ),
    "portal.trained": "Trained on this test set?",
    "portal.trained.no": "no",
    "portal.trained.folds": "yes, cross-validated: no scan was seen in training by its judge",
    "portal.trained.yes": "yes, without folds",
    "portal.trained.must": "Who trains on the test set cross-validates.",
    "portal.trained.may": "Entries trained on the test set are marked.",
    "portal.trained_tag.folds": "cross-validated",
    "portal.trained_tag.yes": "trained on the test set",
    "portal.folds_file": "Table of your folds",
    "portal.folds_laid": (
        "Only if you cross-validated. Without a file you say that you kept to the {count} folds "
        "of this benchmark."
    ),
    "portal.folds_own": (
        "Only if you cross-validated: seriesuid and fold, every scan once. It is checked as "
        "'nodulebench folds check' does."
    ),
    "portal.verdict": "Verdict",
    "portal.verdict.passed": "passed",
    "portal.verdict.failed": "failed",
    "portal.verdict.undecided": "undecided",
    "portal.verdict_because": "{verdict}: {reason}",
    "portal.downloads": "Downloads",
    "portal.downloads_sign_in": "Sign in to download.",
    "portal.downloads_note": (
        "{count} files. A download that broke off can be resumed; the digests of all, for "
        "sha256sum --check:"
    ),
    "portal.downloads_about": (
        "What lies in the folder 'downloads' of the storage can be released to those who are "
        "signed in. A worker makes the digests first. Nothing of a sealed set is given out."
    ),
    "portal.download_kind": "What it is",
    "portal.size": "Size",
    "portal.digest_soon": "being made",
    "portal.release": "Release",
    "portal.end_release": "Give it out no longer",
    "portal.release.scans": "scans",
    "portal.release.nodules": "additional nodules",
    "portal.release.other": "other",
    "portal.sealed_feedback": "what the policy of the sealed set allows",
    "portal.quota_name": "Quota",
}
