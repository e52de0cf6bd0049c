"""Benchmarks, leaderboards, submissions and entries of the portal, in English."""

TEXTS = {
    "portal.home.heading": "Tests of nodule detection",
    "portal.home.lead": (
        "Send what your algorithm found; see what it is worth, with intervals, beside the others."
    ),
    "portal.home.empty": "There is no benchmark yet. An organiser makes one of a test set.",
    "portal.new_benchmark": "New benchmark",
    "portal.entries_count": "{count} entries",
    "portal.state.before": "not open yet",
    "portal.state.open": "open",
    "portal.state.closed": "closed",
    "portal.sealed": "sealed test set",
    "portal.hidden": "hidden",
    "portal.title": "Title",
    "portal.about": "What it is about",
    "portal.test_set": "Test set",
    "portal.protocol": "Protocol",
    "portal.no_test_sets": (
        "No test set lies on this machine. Put one (a bundle, a LUNA16 folder or a sealed set) "
        "into the folder of test sets that the site was started with."
    ),
    "portal.opens_at": "Opens (UTC)",
    "portal.closes_at": "Closes (UTC)",
    "portal.per_week": "Entries per account and week",
    "portal.in_all": "Entries per account in all",
    "portal.feedback": "What who submits is told",
    "portal.feedback.metrics": "metrics and curves",
    "portal.feedback.cases": "single nodules and marks as well",
    "portal.takes_algorithms": (
        "Algorithms may be sent in, too: a zip of a folder with an algorithm.toml, run apart "
        "from everything else"
    ),
    "portal.submit_algorithm": (
        "Or send the algorithm itself: a zip of a folder with an algorithm.toml. It is run "
        "here on the test set, apart from everything else, and its marks are scored."
    ),
    "portal.checked_algorithm": "It is an algorithm that can be run.",
    "portal.anonymous": "Others see no names",
    "portal.anonymous_name": "anonymous",
    "portal.shown": "Everybody sees this benchmark",
    "portal.change": "Change this benchmark",
    "portal.leaderboard": "Leaderboard",
    "portal.rule": "Rule",
    "portal.order_by": "Ordered by",
    "portal.rank": "Rank",
    "portal.entry": "Entry",
    "portal.who": "By",
    "portal.sent": "Sent",
    "portal.own": "yours",
    "portal.baseline": "baseline",
    "portal.withdrawn": "withdrawn",
    "portal.board_caption": (
        "{metric} under the rule {rule}, best first; in brackets the 95% interval."
    ),
    "portal.board_empty": "No entry has been scored yet. The first one will stand here.",
    "portal.group": "Group",
    "portal.rank_note": (
        "In brackets after a rank: the 95% interval of ranks over resamples of the cases. "
        "Entries of the same group cannot be told apart from its best; intended uses that "
        "differ have groups of their own. Both appear a few seconds after a score."
    ),
    "portal.report": "Whole report with curves, strata and methods",
    "portal.compare": "Compare",
    "portal.compare.with": "With",
    "portal.compare.heading": "{one} and {other}",
    "portal.compare.about": (
        "Paired differences, {one} less {other}, on the same cases, with 95% intervals; P "
        "values are two-sided and not adjusted. Made from kept results: nothing was scored "
        "again."
    ),
    "portal.compare.difference": "Difference",
    "portal.compare.to": "to",
    "portal.versions": "Results of all versions",
    "portal.version": "version {version}",
    "portal.rescore": "Score all entries anew",
    "portal.rescore_about": (
        "This is version {version}. After a correction of the test set, score all entries "
        "anew: older results stay, each with its version."
    ),
    "portal.benchmark": "Benchmark",
    "portal.job": "Scoring",
    "portal.job.waiting": "waits",
    "portal.job.running": "runs",
    "portal.job.done": "done",
    "portal.job.failed": "failed",
    "portal.job.cancelled": "cancelled",
    "portal.failed_unknown": "It could not be scored. The organisers have the reason.",
    "portal.entries_empty": (
        "You have sent nothing yet. Choose a benchmark, check a file as often as you like, "
        "then send it."
    ),
    "portal.metrics": "Metrics",
    "portal.metric": "Metric",
    "portal.value": "Value",
    "portal.declared": "What is known of it",
    "portal.declared.about": "Description",
    "portal.declared.training": "Training data",
    "portal.declared.link": "Paper or code",
    "portal.digest": "SHA-256 of what was sent",
    "portal.result_digest": "SHA-256 of the result",
    "portal.receipt": "Signed receipt",
    "portal.withdraw": "Withdraw this entry",
    "portal.withdraw_sure": "The entry stays on the leaderboard as withdrawn, without its metrics.",
    "portal.submit": "Submit marks",
    "portal.submit_lead": (
        "A file of marks in any format that NoduleBench reads, except Parquet, or a zip archive "
        "of a folder of them. Checking never looks at the reference and costs nothing."
    ),
    "portal.file": "File",
    "portal.file_hint": "CSV, JSON, zip and others; at most {mib} MiB.",
    "portal.algorithm": "Name of the algorithm",
    "portal.validate": "Check only",
    "portal.validate_hint": "Check as often as you like: nothing is kept or scored.",
    "portal.send": "Send in",
    "portal.quota": "Entries: {week} a week, {all} in all.",
    "portal.checked": "What was found in {file}",
    "portal.checked_problems": "It cannot be scored: {count} problems.",
    "portal.checked_fine": "It can be scored: {format}, {marks} marks in {cases} cases.",
    "portal.checked_of": "The test set has {cases}.",
    "portal.checked_notices": "To look at before it is sent:",
    "portal.feedback.images": "single nodules and marks, over the images",
    "portal.review_scans": "Scans for the review of cases",
    "portal.review_scans_own": "the images of the test set, if it has some",
}
