"""CHECKS and Limits -> the page of codes by which series are excluded, and of the limits."""

import inspect

from generate.markdown import code, field_meanings, table
from generate.messages import context_sections
from nodulebench.curation.admission_checks import CHECKS, Limits
from nodulebench.curation.duplicates import DUPLICATE_CODES
from nodulebench.i18n.translator import in_english


def curation_page() -> str:
    """Every code with its meaning, in the order in which they decide; every limit."""
    meanings = field_meanings(Limits)
    return "\n\n".join(
        [
            "# Codes and limits of admission",
            "`nodulebench curate` reports every reason that applies to a series. The first in this "
            "order decides where the series leaves the flow. Other objects than CT scans are not "
            "checked further. Duplicates are searched among series without another reason.",
            table(
                ["code", "meaning"],
                [
                    *([code(name), meaning] for name, meaning in code_meanings().items()),
                    [
                        code("other_file"),
                        "Not a DICOM image: text, DICOMDIR, archive.",
                    ],
                ],
            ),
            "## Each code",
            *context_sections("curate", code_meanings()),
            "## Limits",
            "The table `[limits]` of a design file replaces these defaults.",
            table(
                ["limit", "meaning", "default"],
                (
                    [code(name), meanings[name], code(field.default)]
                    for name, field in Limits.model_fields.items()
                ),
            ),
            "",
        ]
    )


def code_meanings() -> dict[str, str]:
    """Code -> what it means, in the order in which codes decide."""
    checks = {name: _first_line(check) for name, check in CHECKS.items()}
    return checks | {name: in_english(message) for name, message in DUPLICATE_CODES.items()}


def _first_line(check: object) -> str:
    return (inspect.getdoc(check) or "").partition("\n")[0]
