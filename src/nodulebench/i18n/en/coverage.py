"""What a test set consists of and whether that is its design, in English: its page, its notices."""

TEXTS = {
    "coverage.kind": "NoduleBench · composition of a test set",
    "coverage.footer": "NoduleBench {version}. Every number stands in coverage.json.",
    "coverage.no_design": "No design was given.",
    "coverage.lead": "{design}: {met} of {rules} rules are met.",
    "coverage.lead_preferred": (
        "{design}: {met} of {rules} rules are met; {preferred} of the others are preferences."
    ),
    "coverage.total_cases": "cases",
    "coverage.total_patients": "patients",
    "coverage.total_hospitals": "hospitals",
    "coverage.total_provinces": "provinces",
    "coverage.total_nodules": "nodules",
    "coverage.total_ignored findings": "ignored findings",
    "coverage.section_design": "Design input",
    "coverage.section_rules": "Rules of the design",
    "coverage.section_ranges": "Ranges",
    "coverage.section_shares": "Shares",
    "coverage.section_thin": "Thin strata",
    "coverage.section_against": "Beside another test set",
    "coverage.sizes": "Size of both",
    "coverage.hard": "What makes nodules hard to find",
    "coverage.hard_nodules_per_case": "Nodules of a case",
    "coverage.hard_median_diameter_mm": "Median diameter, mm",
    "coverage.hard_small_share": "Share below 6 mm",
    "coverage.hard_subsolid_share": "Share of part-solid and ground-glass",
    "coverage.hard_not_seen_by_all_share": "Share not drawn by all readers",
    "coverage.hard_near_vessel_share": "Share near a vessel",
    "coverage.hard_near_cavity_share": "Share near a cavity",
    "coverage.hard_subtlety": "Subtlety, 1 extremely subtle to 5 obvious",
    "coverage.one_sided": "Stated by one of the two alone: {columns}.",
    "coverage.distance": "{distance:.0%} of the rows would have to change for equal shares.",
    "coverage.section_commission": "For the arbitration commission",
    "coverage.purpose": "Purpose",
    "coverage.patients": "Patients",
    "coverage.identification": "Names of cases and series",
    "coverage.unknown": "Not told",
    "coverage.unknown_remark": "Strata of the design whose column neither cases nor nodules have.",
    "coverage.head_rule": "Rule",
    "coverage.head_source": "Asked by",
    "coverage.head_required": "Required",
    "coverage.head_found": "Found",
    "coverage.head_answer": "Answer",
    "coverage.head_missing": "Missing",
    "coverage.head_low": "Smallest",
    "coverage.head_mean": "Mean",
    "coverage.head_high": "Largest",
    "coverage.head_stated": "Cases stated",
    "coverage.in_unit": "{column}, {unit}",
    "coverage.of_cases": "{column} of the cases",
    "coverage.of_nodules": "{column} of the nodules",
    "coverage.more": "{count} more in coverage.json.",
    "coverage.percent": "percent",
    "coverage.head_column": "Column",
    "coverage.head_stratum": "Stratum",
    "coverage.head_nodules": "Nodules",
    "coverage.head_half_width": "Half width",
    "coverage.thin_remark": (
        "At a sensitivity of {sensitivity:g} the 95 % interval (Wilson, independent nodules) would "
        "reach further than {half_width:g} to one side. Nodules of one patient correlate, so the "
        "true width is larger."
    ),
    "coverage.head_topic": "To inspect",
    "coverage.head_evidence": "Evidence in the data",
    "coverage.head_judged": "Judged",
    "coverage.head_by": "By, on",
}

NOTICES = {
    # what a rule asks for
    "asks_rows": "at least {count:,} {table}[ with {where:all}]",
    "asks_different": "at least {count} different {column}[ with {where:all}]",
    "asks_values": "{column}: {wanted:words}[, at least {each:,} {table} each]",
    "asks_shares": "{planned:list}, each within {points:g} points",
    "asks_share": "at least {share:.0%} of the {table}[ with {where:all}]",
    "asks_all_stated": "a value of {column} for each of the {table}[ with {where:all}]",
    "where_values": "{column} {values:either}",
    "where_range": "{column}[ from {at_least:g}][ below {below:g}][ to {at_most:g}]",
    # what was found
    "rows_found": "{count:,}",
    "different_found": "{count}",
    "share_found": "{count:,} of {total:,} ({share:.1%})",
    "stated_found": "{count:,} of {total:,} stated",
    "each_found": "{found:words}",
    "columns_absent": "the {table} have no column {columns:list}",
    # what would have to be added
    "lacks_columns": "the column {columns:list}",
    "lacks_rows": "{count:,} more {table}",
    "lacks_share": "{share:.1%} of the {table}",
    "lacks_different": "{count} more {column}",
    "lacks_stated": "{column} of {count:,} {table}",
    "lacks_value": "{count:,} {table} of {name}",
    "share_off": "{name}: {gap:.1%} too {is_more:True=many|*=few}",
    "lacks_any": "any of the {table}",
    # what a commission inspects
    "sufficiency": "Sufficiency",
    "heterogeneity": "Heterogeneity",
    "label_quality": "Quality of labels",
    "ethics_and_law": "Ethics and law",
    "size_of_set": (
        "{cases:,} {cases:1=case|*=cases}, {nodules:,} {nodules:1=nodule|*=nodules}; "
        "{thin} thin {thin:1=stratum|*=strata}; {met} of {rules} rules met"
    ),
    "different_hospitals": "{count} {count:1=hospital|*=hospitals}",
    "different_countries": "{count} {count:1=country|*=countries}",
    "different_vendors": "vendors {vendors:list}",
    "not_stated": "not stated",
    "labels_stated": (
        "readers who agree: [{agreement:list}|agreement not stated]; "
        "truth of nodules: [{truth:words}|pathology or follow-up not stated]"
    ),
    "approvals_stated": (
        "approvals: [{approvals:list}|ethics approval not stated]; "
        "public: [{public:list}|whether cases are public not stated]"
    ),
}
