"""Registries, schemas and commands -> the pages of the reference, written before every build."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from generate.command_line import COMMAND_PAGES, command_line_page
from generate.curation import curation_page
from generate.evaluation_json import evaluation_json_page, evaluation_schema_text
from generate.formats import formats_page
from generate.mark_rules import mark_rules_page
from generate.messages import messages_page
from generate.metrics import metrics_page
from generate.notebooks import notebook_page, portal_page
from generate.policy import policy_page
from generate.protocols import protocol_fields_page, published_protocols_page
from generate.public_names import public_names_page
from generate.tables import tables_page

PAGES: dict[str, Callable[[], str]] = {
    "command-line.md": command_line_page,
    **COMMAND_PAGES,
    "public-names.md": public_names_page,
    "tables.md": tables_page,
    "formats.md": formats_page,
    "mark-rules.md": mark_rules_page,
    "metrics.md": metrics_page,
    "protocol-fields.md": protocol_fields_page,
    "published-protocols.md": published_protocols_page,
    "custody-policy.md": policy_page,
    "evaluation-json.md": evaluation_json_page,
    "evaluation.schema.json": evaluation_schema_text,
    "curation-codes.md": curation_page,
    "messages.md": messages_page,
    "score-from-python.md": partial(notebook_page, "score-from-python"),
    "submit-from-a-notebook.md": partial(portal_page, "submit-from-a-notebook"),
}


def write_pages(folder: Path) -> None:
    """Write every page that changed, and remove pages that are no longer made."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in PAGES:
            old.unlink()
    for name, make in PAGES.items():
        path, text = folder / name, make()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stage = folder / f".{name}.{os.getpid()}"  # another build may read the page
            stage.write_text(text, encoding="utf-8")
            stage.replace(path)
