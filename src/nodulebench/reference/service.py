"""Readers' files -> a reference standard as a bundle (``nodulebench reference build``)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import polars as pl

from nodulebench import __version__
from nodulebench.core.config_model import checked_parameters
from nodulebench.core.json_types import JsonObject
from nodulebench.core.readings import FINDING_KINDS
from nodulebench.core.tables import Reference, without_images
from nodulebench.io.bundle import PROVENANCE, write_reference
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import read_case_list
from nodulebench.io.json_files import write_json
from nodulebench.io.manifests import file_digest
from nodulebench.io.readings import read_readings, write_findings
from nodulebench.reference.agreement import (
    SizeError,
    agreement_levels,
    readers_against_others,
    silent_readers,
    size_error,
)
from nodulebench.reference.build import build_reference
from nodulebench.reference.panel import measure_findings
from nodulebench.reference.rules import RULES


@dataclass(frozen=True, slots=True)
class BuiltReference:
    """A reference and its provenance."""

    reference: Reference
    levels: pl.DataFrame
    finding_counts: dict[str, int]
    size_error: SizeError | None
    """How much readers differ in size; None where no nodule has two readers."""
    provenance: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildReferenceOptions:
    """The input of a reference, and how it is built."""

    source: Path
    """Anything that ``read_readings`` takes."""
    out: Path | None = None
    """Folder for the bundle, with the rule and its parameters in ``provenance.json``."""
    rule: str = "luna16"
    parameters: Mapping[str, object] = field(default_factory=dict)
    """Those parameters of the rule that differ from their defaults; text is converted."""
    size: str = "volume_equivalent"
    """The definition of a finding's diameter, one of SIZE_DEFINITIONS."""
    series: Path | None = None
    cases: Path | None = None
    findings: Path | None = None
    skips_bad_files: bool = False
    applies_corrections: bool = False
    """Whether LIDC-IDRI's later corrections replace what they correct."""


def build_reference_files(options: BuildReferenceOptions) -> BuiltReference:
    """Read, merge and, with ``out``, write; nothing is written if anything is wrong."""
    rule, source = options.rule, options.source
    chosen = checked_parameters(RULES[rule], options.parameters, f"reference rule '{rule}'")
    listed = None if options.series is None else read_case_list(options.series)
    readings = read_readings(
        source,
        cases=options.cases,
        series=listed,
        skips_bad_files=options.skips_bad_files,
        applies_corrections=options.applies_corrections,
    )
    readings = replace(readings, cases=without_images(readings.cases))
    panel = measure_findings(readings, size=options.size)
    reference = build_reference(panel, rule, chosen)
    merging: JsonObject = {
        name: chosen.get(name, default)
        for name, default in _defaults(rule).items()
        if name in ("grouping", "same_reader")
    }
    levels = agreement_levels(panel, **merging)
    spread = size_error(panel, **merging)
    kinds = dict(readings.findings["kind"].value_counts().iter_rows())
    built = BuiltReference(
        reference=reference,
        levels=levels,
        finding_counts={kind: kinds.get(kind, 0) for kind in FINDING_KINDS},
        size_error=spread,
        provenance={
            "schema": "nodulebench/reference@1",
            "version": __version__,
            "source": source.name,
            "digest": file_digest(source),
            "rule": rule,
            "parameters": {**_defaults(rule), **chosen},
            "size_definition": options.size,
            "agreement": levels.to_dicts(),
            "size_error": None if spread is None else asdict(spread),
            "notices": [notice.to_json() for notice in readings.notices],
        },
    )
    if options.out is not None:
        write_reference(reference, options.out)
        write_json(built.provenance, options.out / PROVENANCE)
    if options.findings is not None:
        write_findings(readings, options.findings)
    return built


def _defaults(rule: str) -> JsonObject:
    return dict(RULES[rule].__kwdefaults__ or {})


@dataclass(frozen=True, slots=True)
class ReadersOfPanel:
    """How the readers of a panel compare with each other."""

    against_others: pl.DataFrame
    """One row per reader: reader_id, cases, reference, found, sensitivity, lone marks."""
    silent: pl.DataFrame
    """outlined_by, kind, readers: what readers marked where others outlined a nodule."""


def readers_of_files(
    source: Path,
    *,
    reader_count: int = 4,
    minimum_agreement: int = 2,
    series: Path | None = None,
    cases: Path | None = None,
    out: Path | None = None,
) -> ReadersOfPanel:
    """Score each reader against what enough of the others drew, from any readings."""
    listed = None if series is None else read_case_list(series)
    panel = measure_findings(read_readings(source, cases=cases, series=listed))
    readers = ReadersOfPanel(
        readers_against_others(
            panel, reader_count=reader_count, minimum_agreement=minimum_agreement
        ),
        silent_readers(panel, reader_count=reader_count),
    )
    if out is not None:
        write_csv(readers.against_others, out)
    return readers
