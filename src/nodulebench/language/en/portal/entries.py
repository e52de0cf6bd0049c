"""The page of an entry, certificates and histories of the portal, in English."""

TEXTS = {
    "portal.figures_note": (
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
    "portal.permalink": "Permanent address and badge",
    "portal.badge": "Badge with the figure of this entry",
    "portal.badge_about": "A small picture for pages of your own, with its figure as it stands:",
}
