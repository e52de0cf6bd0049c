"""The typed document -> the page of evaluation.json and its JSON Schema."""

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from generate.markdown import allowed, code, docstring_body, field_meanings, table
from nodulebench.core import notices as notice
from nodulebench.core import plans as plan
from nodulebench.core import protocol, results
from nodulebench.core.documents import comparison, evaluation
from nodulebench.core.documents import comparison as named
from nodulebench.core.documents import records as summaries
from nodulebench.core.documents.evaluation import document_reader

RECORDS = (comparison, evaluation, named, notice, plan, protocol, results, summaries)
"""The modules that hold the records of a document."""
DRAFT = "https://json-schema.org/draft/2020-12/schema"
INFINITY = {"enum": ["inf", "-inf"]}


class Schema(GenerateJsonSchema):
    """JSON has no infinity: a number may be the word for it."""

    def float_schema(self, schema: Any) -> dict[str, Any]:
        """A number, or the word."""
        return {"anyOf": [super().float_schema(schema), INFINITY]}


def evaluation_schema() -> dict[str, Any]:
    """The JSON Schema of evaluation.json, with what every field means.

    Raises:
        ValueError: for a field of the document without an explanation.
    """
    schema = document_reader().json_schema(schema_generator=Schema)
    parts = schema.pop("$defs")
    silent = []
    for name, part in {"Document": schema, **parts}.items():
        kind = record(name)
        meanings = {ALIASES.get(key, key): one for key, one in field_meanings(kind).items()}
        part["description"] = " ".join(docstring_body(kind).split())
        for field, shown in part.get("properties", {}).items():
            shown.pop("default", None)
            shown["description"] = " ".join(meanings[field].split())
            if not shown["description"] and kind.__module__ in (
                evaluation.__name__,
                summaries.__name__,
            ):
                silent.append(f"{name}.{field}")
    if silent:
        raise ValueError(f"say below these fields what they mean: {', '.join(silent)}")
    schema.pop("title")
    named = {"$schema": DRAFT, "$id": evaluation.SCHEMA, "title": "evaluation.json"}
    return {**named, **schema, "$defs": parts}


ALIASES = {"is_too_few": "too_few"}
"""Fields that JSON calls otherwise."""


def record(name: str) -> Any:
    """The class of a part of the schema."""
    return next(getattr(module, name) for module in RECORDS if hasattr(module, name))


def evaluation_schema_text() -> str:
    """The schema as a file."""
    return json.dumps(evaluation_schema(), indent=1, ensure_ascii=False) + "\n"


def evaluation_json_page() -> str:
    """Every key of evaluation.json, from the records that read and write it."""
    schema = evaluation_schema()
    return "\n\n".join(
        [
            "# evaluation.json",
            "`nodulebench evaluate --out DIR` writes `DIR/evaluation.json`. Keys are in a fixed "
            "order and equal inputs give equal files. JSON has no infinity: it is the text `inf`. "
            "What is undefined is null with a `reason`, never 0. Its JSON Schema is "
            "{download}`evaluation.schema.json`.",
            "## Document",
            _fields(schema),
            *(f"## {name}\n\n{_fields(part)}" for name, part in schema["$defs"].items()),
            "## The other files",
            table(["file", "what it holds"], FILES),
            "",
        ]
    )


def _fields(part: dict[str, Any]) -> str:
    if "anyOf" in part:
        return _fields(part["anyOf"][0]) + f"\n\nOr {part['anyOf'][1]['description']}."
    if "properties" not in part:
        return str(part["description"])
    rows = [
        [code(name), _allowed(shown), shown["description"]]
        for name, shown in part["properties"].items()
    ]
    return f"{part['description']}\n\n{table(['key', 'value', 'what it holds'], rows)}"


def _allowed(schema: dict[str, Any]) -> str:
    """The allowed values, without infinity, which the page explains once."""
    if "anyOf" in schema:
        return " or ".join(_allowed(part) for part in schema["anyOf"] if part != INFINITY)
    if isinstance(schema.get("additionalProperties"), dict):
        return f"by name: {_allowed(schema['additionalProperties'])}"
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {_allowed(schema['items'])}"
    if "prefixItems" in schema:
        return f"list of {', '.join(_allowed(part) for part in schema['prefixItems'])}"
    if not schema.keys() & {"$ref", "enum", "const", "type"}:
        return "anything"
    return allowed(schema)


FILES = (
    ("`labels.parquet`", "table [LABELS](tables.md#labels): what each rule says of each mark"),
    (
        "`curves.parquet`",
        "`algorithm`, `rule`, `curve`, `x`, `y`, `threshold`: every point of every curve; "
        "`froc_low` and `froc_high` are the bootstrap band",
    ),
    (
        "`flips.parquet`",
        "with several rules: nodules hit under one rule only, and marks whose label changes",
    ),
    (
        "`misses.csv`",
        "table [MISSES](tables.md#misses): every nodule missed at the operating point or at any "
        "rate of the protocol, the score that would find it, the mark nearest to it, and who else "
        "misses it",
    ),
    (
        "`false_positives.csv`",
        "table [FALSE_POSITIVES](tables.md#false-positives): of each algorithm under each rule the "
        "500 with the highest scores, and the finding nearest to each",
    ),
    (
        "`inputs/`",
        "the evaluated tables (CASES, NODULES, MARKS, and slices and runs where there are "
        "any), so that every number can be recomputed from the folder; it holds the "
        "reference standard, so store it where you store the test set",
    ),
    (
        "`comparison.json`",
        "after `nodulebench compare`: the "
        "[latest comparison](../../how-to/compare/compare-algorithms.md#where-the-numbers-are)",
    ),
    ("`report.html`", "the report; one file, no network needed"),
    (
        "`report*.html`, `report*.pdf`, `tables*/`",
        "after [`nodulebench report`](../../how-to/evaluate/report-for-others.md): copies for "
        "others, and the report's tables as CSV",
    ),
    ("`plan.json`", "the frozen test plan, where the test was made under one"),
    (
        "`manifest.json`",
        "SHA-256 of every file of the folder; "
        "[verify](../../how-to/custody/verify-and-sign.md) checks it",
    ),
    ("`manifest.sig`", "where the folder is signed: the Ed25519 signature of `manifest.json`"),
)
