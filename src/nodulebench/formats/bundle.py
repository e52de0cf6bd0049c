"""A bundle, the form in which we keep a test set: tables and a manifest of their digests."""

from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.formats.boxes import refuse_unlisted
from nodulebench.formats.digest import file_digest
from nodulebench.formats.folder import staged_folder
from nodulebench.formats.format import Format
from nodulebench.formats.glimpse import Glimpse
from nodulebench.formats.json_text import read_json, write_json
from nodulebench.formats.table_file import read_table
from nodulebench.model.tables import CASES, NODULE_SLICES, NODULES, Reference

SCHEMA = "nodulebench/bundle@1"
MANIFEST = "manifest.json"
_CASES, _NODULES, _SLICES = "cases.parquet", "nodules.parquet", "nodule_slices.parquet"


def read_reference(folder: Path, cases: pl.DataFrame | None = None) -> Reference:
    """A test set from its bundle; every table has to be as the manifest says.

    With ``cases``, the test set has these cases instead of its own.
    """
    manifest = _read_manifest(folder)
    _verify(folder, manifest["files"])
    own_cases = read_table(folder / _CASES, CASES)
    nodules = read_table(folder / _NODULES, NODULES)
    has_slices = _SLICES in manifest["files"]
    known = own_cases if cases is None else cases
    refuse_unlisted(nodules["case_id"], known, folder.name)
    return Reference(
        name=manifest["name"],
        cases=known,
        nodules=nodules,
        slices=read_table(folder / _SLICES, NODULE_SLICES) if has_slices else None,
    )


def write_reference(reference: Reference, folder: Path) -> None:
    """Write a test set as a bundle; its images are kept beside the tables in ``images/``."""
    tables = {_CASES: reference.cases, _NODULES: reference.nodules}
    if reference.slices is not None:
        tables[_SLICES] = reference.slices
    with staged_folder(folder, last=MANIFEST) as stage:
        for name, table in tables.items():
            table.write_parquet(stage / name)
        manifest = {
            "schema": SCHEMA,
            "name": reference.name,
            "cases": reference.cases.height,
            "nodules": reference.nodules.height,
            "files": {name: file_digest(stage / name) for name in tables},
        }
        write_json(manifest, stage / MANIFEST)
    if reference.slices is None:
        (folder / _SLICES).unlink(missing_ok=True)  # those of an older bundle in the same place


def _read_manifest(folder: Path) -> dict[str, Any]:
    file = folder / MANIFEST
    manifest = read_json(file)
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        found = manifest.get("schema") if isinstance(manifest, dict) else None
        raise InputError(
            Problem(
                str(file),
                f"has the schema '{found}', not '{SCHEMA}'.",
                "Is it a bundle, and is this version of NoduleBench new enough for it?",
            )
        )
    if not isinstance(manifest.get("files"), dict) or not isinstance(manifest.get("name"), str):
        raise InputError(Problem(str(file), "has no name and files."))
    return manifest


def _verify(folder: Path, digests: dict[str, Any]) -> None:
    """Refuse a bundle whose tables are missing, unlisted or not as they were written."""
    problems = []
    for name in (_CASES, _NODULES, _SLICES):
        file = folder / name
        if name not in digests and (name != _SLICES or file.exists()):
            problems.append(Problem(str(file), "is not listed in the manifest."))
        elif name in digests and not file.is_file():
            problems.append(Problem(str(file), "is listed in the manifest, but is not there."))
        elif name in digests and file_digest(file) != digests[name]:
            problems.append(
                Problem(
                    str(file),
                    "is not as the manifest says: it was changed after the bundle was written.",
                    "Get the bundle anew from whoever keeps it.",
                )
            )
    if problems:
        raise InputError(problems)


def _refuse(glimpse: Glimpse) -> str:
    return glimpse.is_not("folder") or glimpse.lacks(MANIFEST, _CASES, _NODULES)


FORMAT = Format(
    name="bundle",
    meaning="our own folder of Parquet tables with a manifest of their digests",
    suffixes=("/",),
    refuse_reference=_refuse,
    read_reference=read_reference,
    write_reference=write_reference,
)
