"""The English catalogue of notices and the context of codes -> pages about messages."""

import re
import tomllib
from pathlib import Path

from babel.messages.pofile import read_po

import nodulebench.i18n
from generate.markdown import code, table

CATALOGUE = Path(nodulebench.i18n.__file__).parent / "locales/en/LC_MESSAGES/notices.po"
CONTEXT = Path(__file__).with_name("messages.toml")
KEYWORDS = """---
keywords: warning code, error code, list of warnings, what does a warning mean,\
 what does a warning code mean, meaning of a warning
---"""


def messages_page() -> str:
    """Every message, reason and warning with its code; those of ``check`` with their context."""
    texts = message_texts()
    return "\n\n".join(
        [
            KEYWORDS,
            "# Messages",
            "Files such as `evaluation.json` hold notices, reasons and warnings as codes with "
            "values. Programs can rely on the codes. Reports and the terminal show the text, in "
            "English or Chinese. Braces mark a value. Square brackets mark a part that is "
            "shown only if its value is known.",
            "## Warnings about a submission",
            "`nodulebench check` and `nodulebench evaluate` report these.",
            *context_sections("check", texts),
            "## All messages",
            table(["code", "text"], [[code(name), texts[name]] for name in sorted(texts)]),
            "",
        ]
    )


def message_texts() -> dict[str, str]:
    """Message code -> its text; plural forms are separated by a slash."""
    with CATALOGUE.open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    texts = {}
    for message in messages:
        forms = message.string if isinstance(message.string, tuple) else (message.string,)
        name = message.id[0] if isinstance(message.id, tuple) else message.id
        texts[name] = " / ".join(forms).replace("<", "&lt;")
    return texts


def context_of(command: str) -> dict[str, dict[str, str]]:
    """How each code of a command was found, why it matters, and what to do."""
    context: dict[str, dict[str, str]] = tomllib.loads(CONTEXT.read_text(encoding="utf-8"))[command]
    return context


def context_sections(command: str, texts: dict[str, str]) -> list[str]:
    """A section for each code of a command; a code without a text is an error."""
    return [
        f"### {code(name)}\n\n> {_readable(texts[name])}\n\n"
        f"- **How it is found.** {context['how']}\n"
        f"- **Why it matters.** {context['why']}\n"
        f"- **What to do.** {context['do']}"
        for name, context in context_of(command).items()
    ]


def _readable(text: str) -> str:
    """The form of a text for many, with its choices as words and without number formats."""

    def value(match: re.Match[str]) -> str:
        if "=" not in match[2]:
            return f"{{{match[1]}}}"
        choices = [choice.partition("=") for choice in match[2].split("|")]
        others = [words for key, _, words in choices if key == "*"]
        return others[0] if others else " / ".join(words for _, _, words in choices)

    return re.sub(r"\{(\w+):([^{}]*)\}", value, text.split(" / ")[-1])
