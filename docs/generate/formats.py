"""FORMATS -> the page of outside formats."""

from generate.markdown import code, docstring_body, table
from nodulebench import FORMATS
from nodulebench.evaluation.convert import ABILITIES
from nodulebench.io.formats import Format


def formats_page() -> str:
    """Every format: what it is, what it can do, and how its files are understood."""
    return "\n\n".join(
        [
            "# Formats",
            "Formats are recognised by their content. Where two would fit, name one with "
            "`nodulebench convert --from` or `read_submission(..., format_name=...)`. "
            "`nodulebench formats` lists them, those of other packages too. Columns of CSV files "
            "may be separated by commas, semicolons or tabs (the latter two also with decimal "
            "commas). Their names may differ in case, spaces, dashes and underscores; a warning "
            "reports this. Name your own columns with `--columns`.",
            table(
                ["format", *ABILITIES.values()],
                (
                    [
                        f"[{name}](#{name})",
                        *("yes" if _can(form, ability) else "" for ability in ABILITIES),
                    ]
                    for name, form in FORMATS.items()
                ),
            ),
            *(_section(form) for form in FORMATS.values()),
            "",
        ]
    )


def _can(form: Format, ability: str) -> bool:
    return getattr(form, ability) is not None


def _section(form: Format) -> str:
    endings = ", ".join("a folder" if end == "/" else code(end) for end in form.suffixes)
    parts = [f"## {form.name}", f"{_sentence(form.meaning)} Files: {endings}."]
    if form.example:
        parts.append(f"```text\n{form.example}\n```")
    for ability, words in ABILITIES.items():
        if _can(form, ability):
            body = docstring_body(getattr(form, ability))
            parts.append(f"**{words.capitalize()}.** {body}")
    if form.loses:
        parts.append(f"**When it is written and read again:** {form.loses}.")
    return "\n\n".join(parts)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
