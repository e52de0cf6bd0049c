"""The English catalogue of notices -> the page that lists every message with its code."""

from pathlib import Path

from babel.messages.pofile import read_po

import nodulebench.i18n
from generate.markdown import code, table

CATALOGUE = Path(nodulebench.i18n.__file__).parent / "locales/en/LC_MESSAGES/notices.po"
KEYWORDS = """---
keywords: warning code, error code, list of warnings, what does a warning mean,\
 what does a warning code mean, meaning of a warning
---"""


def messages_page() -> str:
    """Every message, reason and warning: its code and its text."""
    with CATALOGUE.open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    rows = []
    for message in messages:
        texts = message.string if isinstance(message.string, tuple) else (message.string,)
        name = message.id[0] if isinstance(message.id, tuple) else message.id
        rows.append([code(name), " / ".join(texts).replace("<", "&lt;")])
    return "\n\n".join(
        [
            KEYWORDS,
            "# Messages and their codes",
            "To find out what a warning or an error means, search this page for its code or its "
            "words. Files such as `evaluation.json` hold notices, reasons and warnings as codes "
            "with values. Programs can rely on the codes. Reports and the terminal show the text, "
            "in English or Chinese. Braces mark a value. Square brackets mark a part that is "
            "shown only if its value is known.",
            table(["code", "text"], sorted(rows)),
            "",
        ]
    )
