"""Bundle: the format in which NoduleBench stores a test set, tables and a manifest of digests."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from nodulebench.core.errors import InputError, Problems, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import CASES, NODULE_SLICES, NODULES, Reference
from nodulebench.io.atomic import complete_move, leave_out, staged_folder
from nodulebench.io.cases import joined_cases
from nodulebench.io.format import FileProbe, Format
from nodulebench.io.json_files import parse_json, with_schema, write_json
from nodulebench.io.manifests import DECLARATION, PAYLOAD, bytes_digest, file_digest, is_bag
from nodulebench.io.marks.boxes import require_listed
from nodulebench.io.table_files import read_parquet, write_parquet

SCHEMA = "nodulebench/bundle@1"
MANIFEST = "manifest.json"
PROVENANCE = "provenance.json"
"""Who made the reference standard, how and from what, if a command made it."""
_CASES, _NODULES, _SLICES = "cases.parquet", "nodules.parquet", "nodule_slices.parquet"


def read_reference(folder: Path, cases: pl.DataFrame | None = None) -> Reference:
    """Read a test set from its bundle, add ``cases``, and check every table by the manifest."""
    tables = folder / PAYLOAD if is_bag(folder) else folder
    complete_move(tables)
    names = (MANIFEST, _CASES, _NODULES, _SLICES)
    files = {name: (tables / name).read_bytes() for name in names if (tables / name).is_file()}
    reference = reference_from(files, tables)
    if cases is None:
        return reference
    known, notices = joined_cases(reference.cases, cases, reference.name)
    return replace(reference, cases=known, notices=notices)


def reference_from(files: Mapping[str, bytes], folder: Path) -> Reference:
    """Build a test set from the contents of its bundle's files; nothing is read from the folder."""
    manifest = _read_manifest(files, folder)
    _verify(files, manifest["files"], folder)
    schemas = {_NODULES: NODULES, _CASES: CASES, _SLICES: NODULE_SLICES}
    tables = {
        name: schema.conform(read_parquet(folder / name, files[name]), name)
        for name, schema in schemas.items()
        if name in files
    }
    cases, nodules = tables[_CASES], tables[_NODULES]
    require_listed(nodules["case_id"], cases, folder.name)
    rule = _stated_rule(manifest)
    return Reference(manifest["name"], cases, nodules, tables.get(_SLICES), rule=rule)


def _stated_rule(manifest: JsonObject) -> str:
    rule = manifest.get("rule")
    return rule if isinstance(rule, str) else ""


def write_reference(reference: Reference, folder: Path) -> None:
    tables = {_CASES: reference.cases, _NODULES: reference.nodules}
    if reference.slices is not None:
        tables[_SLICES] = reference.slices
    with staged_folder(folder, last=MANIFEST) as stage:
        for name, table in tables.items():
            write_parquet(table, stage / name)
        manifest = {
            "schema": SCHEMA,
            "name": reference.name,
            "cases": reference.cases.height,
            "nodules": reference.nodules.height,
            "rule": reference.rule,
            "files": {name: file_digest(stage / name) for name in tables},
        }
        write_json(manifest, stage / MANIFEST)
        if reference.slices is None:  # an older bundle in the same folder may have some
            leave_out(stage, [_SLICES])


def _read_manifest(files: Mapping[str, bytes], folder: Path) -> JsonObject:
    file = folder / MANIFEST
    if MANIFEST not in files:
        raise InputError.at(file, "does not exist.")
    remedy = "Is it a bundle, and is this version of NoduleBench new enough for it?"
    manifest = with_schema(parse_json(files[MANIFEST], file), SCHEMA, file, remedy)
    if not isinstance(manifest.get("files"), dict) or not isinstance(manifest.get("name"), str):
        raise InputError.at(file, "has no name and files.")
    return manifest


def _verify(files: Mapping[str, bytes], digests: JsonObject, folder: Path) -> None:
    problems = Problems()
    for name in (_CASES, _NODULES, _SLICES):
        file = folder / name
        if name not in digests and (name != _SLICES or name in files):
            problems.add(file, "is not listed in the manifest.")
        elif name in digests and name not in files:
            problems.add(file, "is listed in the manifest, but does not exist.")
        elif name in digests and bytes_digest(files[name]) != digests[name]:
            problems.add(
                file,
                "does not match the manifest: it was changed after the bundle was written.",
                "Get the bundle again from its owner.",
            )
    raise_problems(problems)


def _refuse(probe: FileProbe) -> str:
    if probe.kind == "folder" and DECLARATION in probe.names:
        has_tables = all((probe.path / PAYLOAD / name).is_file() for name in (_CASES, _NODULES))
        sealed = f"no tables in {PAYLOAD}/; a sealed set needs --key and --developer"
        return "" if has_tables else sealed
    return probe.is_not("folder") or probe.lacks(MANIFEST, _CASES, _NODULES)


FORMAT = Format(
    name="bundle",
    meaning="NoduleBench's own folder of Parquet tables with a manifest of their digests",
    suffixes=("/",),
    example="set/\n  manifest.json  cases.parquet  nodules.parquet  nodule_slices.parquet",
    refuse_reference=_refuse,
    read_reference=read_reference,
    write_reference=write_reference,
)


SEALED_NOTE = "sealed.json"


def is_sealed(folder: Path) -> bool:
    return (folder / SEALED_NOTE).is_file()


def require_local_workers(folder: Path, *, is_ours: bool) -> None:
    """Keep images of a sealed set from workers that this command did not start."""
    if not is_ours and is_sealed(folder):
        what = "is sealed: its images must not go to workers that other people run."
        raise InputError.at(folder, what, "Use --executor local or --executor dask.")
