"""The page of an entry, certificates and histories of the portal, in English."""

TEXTS = {
    "portal.metrics_note": (
        "Under the rule {rule}; in brackets 95% intervals over resamples of the cases."
    ),
    "portal.curve": "Curve",
    "portal.misses": "Single errors",
    "portal.misses_note": (
        "Shown to who submitted and to the organisers, as this benchmark's feedback says."
    ),
    "portal.report_name": "Report",
    "portal.report_print": "The report as PDF",
    "portal.digest_of.protocol": "SHA-256 of the protocol",
    "portal.digest_of.plan": "SHA-256 of the acceptance criteria",
    "portal.digest_of.candidates": "SHA-256 of the candidates",
    "portal.baseline_mark": "Mark as a baseline",
    "portal.baseline_unmark": "No baseline any longer",
    "portal.permalink": "Permanent address and badge",
    "portal.badge": "Badge with the metric of this entry",
    "portal.badge_about": "A small picture for pages of your own, with its metric as it stands:",
    "portal.certificate": "Certificate",
    "portal.certificate.heading": "Certificate No. {number}",
    "portal.certificate.ask": "Issue a certificate",
    "portal.certificate.ask_about": (
        "A numbered, dated and signed statement of these metrics, which anybody can verify."
    ),
    "portal.certificate.lead": (
        "The site {site} states that the entry named here was scored on the test set of this "
        "benchmark with the metrics below."
    ),
    "portal.certificate.no_approval": (
        "This states what was measured on one test set under one protocol. It is no approval "
        "of a device, and says nothing of other data."
    ),
    "portal.certificate.about": "What it is about",
    "portal.certificate.date": "Issued",
    "portal.certificate.scored": "Scored",
    "portal.certificate.scorer": "Scored by",
    "portal.certificate.json": "Signed statement (JSON)",
    "portal.certificate.print": "Certificate (PDF)",
    "portal.certificate.signature": "Signature",
    "portal.certificate.verify": (
        "Signed with the key of this site. Anybody can verify the statement and the PDF with "
        "NoduleBench and that key."
    ),
    "portal.certificate.superseded": (
        "The test set was corrected since: a newer version of this benchmark counts, and this "
        "entry was scored anew."
    ),
    "portal.certificate.withdrawn": "The entry was withdrawn since.",
    "portal.interval": "95% interval",
    "portal.history": "History",
    "portal.history.of": "{who}: {metric}, from entry to entry",
    "portal.history.remark": (
        "In the order of sending, with 95% intervals; the line is the best so far, dashed "
        "lines are baselines. The best of many entries flatters."
    ),
    "portal.view": "Cases over the images",
    "portal.view_about": (
        "Nodules and marks over the scans, coloured by label under each rule and threshold; "
        "every miss and false positive by key."
    ),
    "portal.open_view": "Open the cases",
}
