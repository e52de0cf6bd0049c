"""Topics of the reporting checklist and what a report answers, in English."""

TEXTS = {
    "checklist.caption": "STARD 2015, STARD-AI and CLAIM, topic by topic",
    "checklist.remark": (
        "Topics in our own words, with the numbers of the items in STARD 2015 (AI: added by "
        "STARD-AI) and CLAIM 2020. What an evaluation cannot know is left for the laboratory or "
        "the developer to state."
    ),
    "checklist.topic": "Topic",
    "checklist.stard": "STARD",
    "checklist.claim": "CLAIM",
    "checklist.answer": "In this report",
    "checklist.not_known": "not known here; to be stated",
    "check.title": "What kind of study it is",
    "check.background": "Clinical background and intended role",
    "check.objective": "Aim or hypothesis",
    "check.design": "Data collected before or after the test was planned",
    "check.goal": "Kind of task",
    "check.data_source": "Where the images come from, and when",
    "check.eligibility": "Who could be in the test set",
    "check.sampling": "How cases were selected",
    "check.preprocessing": "What was done to the images beforehand",
    "check.deidentification": "De-identification",
    "check.missing_data": "Cases without a result",
    "check.index_test": "The algorithm under test",
    "check.index_version": "Its version",
    "check.training_data": "Its training data",
    "check.independence": "Training and test data are apart",
    "check.threshold": "Threshold, and when it was fixed",
    "check.reference_standard": "The reference standard",
    "check.reference_rationale": "Why this reference standard",
    "check.readers": "Readers and their experience",
    "check.annotation_tools": "Tools for reading",
    "check.reader_variability": "Differences between readers",
    "check.blinding_index": "Algorithm blind to the reference",
    "check.blinding_reference": "Readers blind to the algorithm",
    "check.hit_criterion": "What counts as a hit",
    "check.metrics": "Metrics",
    "check.uncertainty": "Precision of the estimates",
    "check.indeterminate": "Findings that count neither way",
    "check.subgroups": "Subgroups and variability",
    "check.sample_size": "Sample size, and why",
    "check.prespecified": "Analysis fixed beforehand",
    "check.flow": "Flow of cases",
    "check.characteristics": "Patients and nodules described",
    "check.counts": "Counts behind the metrics",
    "check.estimates": "Estimates with intervals",
    "check.errors": "Analysis of errors",
    "check.fairness": "Performance across groups of people",
    "check.explainability": "Explanation of single outputs",
    "check.external": "Test on data from elsewhere",
    "check.limitations": "Limitations",
    "check.implications": "Meaning for practice",
    "check.registration": "Registration",
    "check.protocol": "Where the full protocol is",
    "check.software": "Software and code",
    "check.funding": "Funding and interests",
    "answer.title": "Standalone detection performance of {names}.",
    "answer.objective": (
        "To estimate detection performance under the protocol; no criteria were given."
    ),
    "answer.objective_plan": "To test the acceptance criteria of the plan “{name}”.",
    "answer.design": "Images and reference standard existed before the marks were judged.",
    "answer.goal": "Detection and localisation of pulmonary nodules in chest CT, without a reader.",
    "answer.data_source": "Test set “{name}”, {cases} cases; sites and dates are not known here.",
    "answer.missing_data": (
        "Every case of the test set stays in every denominator; a case without marks counts as "
        "read without a finding."
    ),
    "answer.index_test": "{names}; tested as a black box by its marks.",
    "answer.index_version": "{names}.",
    "answer.index_digest": "The marks are identified by their digest (Methods, Identity).",
    "answer.threshold": "Score threshold {threshold}, fixed in the protocol.",
    "answer.threshold_at": (
        "The score of each algorithm at which it has {rate} FP per case on this test set."
    ),
    "answer.threshold_declared": "As each algorithm declares; all marks count where none is.",
    "answer.threshold_none": (
        "No score threshold: all marks count, and curves show every threshold where marks have "
        "scores."
    ),
    "answer.reference_standard": "Readers' findings joined by the rule “{rule}”.",
    "answer.blinding_index": (
        "The marks were given before they were compared with the reference; what the developer "
        "knew of it is not known here."
    ),
    "answer.hit_criterion": "Methods, Rules, with all parameters.",
    "answer.metrics": "All metrics, with their terms in IEEE 2802-2022 (Methods).",
    "answer.indeterminate": "{count} findings are ignored: a mark on one counts neither way.",
    "answer.subgroups": "By {strata}; strata with too few nodules have no rate.",
    "answer.plan": "Plan “{name}”, frozen {when}; the test is the planned one.",
    "answer.plan_differs": "Plan “{name}”, frozen {when}, but this is not the planned test.",
    "answer.no_plan": "The protocol is identified by its digest; no plan was frozen beforehand.",
    "answer.flow": "{cases} cases tested, none left out; earlier exclusions are not known here.",
    "answer.characteristics": "Sizes of the nodules (The test set) and strata; patients in part.",
    "answer.counts": "Rules and counts, for every algorithm and rule.",
    "answer.estimates": "Key metrics and All metrics.",
    "answer.errors": "Error analysis and Where nodules are missed.",
    "answer.errors_strata": "Where nodules are missed.",
    "answer.fairness": "By {strata} (Where nodules are missed).",
    "answer.protocol": "Methods; the effective values are in evaluation.json.",
    "answer.software": "NoduleBench, open source, with the version under Identity.",
}
