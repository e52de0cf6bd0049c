"""Folder made from kept results + its sealed set -> made again from them, and what differs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.documents.as_json import as_json
from nodulebench.core.documents.evaluation import Document
from nodulebench.core.errors import InputError, NoduleBenchError, Problem
from nodulebench.custody.developer import developers_result
from nodulebench.custody.note import LOOKS, read_looks
from nodulebench.custody.sealed_set import SealedSet, open_sealed
from nodulebench.custody.stored_results import KeptResult, open_kept
from nodulebench.custody.study import study_of
from nodulebench.custody.withdrawal import refuse_withdrawn
from nodulebench.evaluation.comparison.service import recompute_comparisons
from nodulebench.evaluation.result_folder import EVALUATION, FEEDBACK, read_document
from nodulebench.evaluation.verify.differences import count_values, document_differences
from nodulebench.evaluation.verify.verify import (
    Recomputed,
    Verification,
    comparison_differences,
    tables_differences,
    verify_folder,
)
from nodulebench.io.json_files import read_json
from nodulebench.security.vault import Secret


def verify_made(
    folder: Path,
    *,
    public_key: Path | None = None,
    sealed: Path | None = None,
    secret: Secret | None = None,
    person: str = "",
) -> Verification:
    """Check the files and the signature of a folder; with its sealed set, make it again.

    Args:
        folder: what ``report`` or ``compare`` made from kept results.
        public_key: the key of whoever shall have signed.
        sealed: the sealed set; None: numbers are not recomputed.
        secret: opens it.
        person: who may inspect it.
    """
    found = verify_folder(folder, public_key=public_key, is_recomputed=False)
    if sealed is None or secret is None:
        return found
    try:
        opened = open_sealed(sealed, secret, person, "inspect")
        return replace(found, from_originals=_made_again(folder, opened))
    except InputError as error:
        return replace(found, problems=(*found.problems, *error.problems))
    except NoduleBenchError as error:
        told = Problem(str(folder / EVALUATION), str(error))
        return replace(found, problems=(*found.problems, told))


def _made_again(folder: Path, opened: SealedSet) -> Recomputed:
    note = read_looks(folder)
    if note.get("bundle") != opened.bundle:
        raise InputError.at(str(folder / LOOKS), f"names another sealed set than {opened.folder}.")
    kept = _kept(opened, note)
    reuse = opened.policy.reuse
    if note["audience"] == "developer" and reuse.feedback in ("verdict", "rounded"):
        written = read_json(folder / FEEDBACK)
        differences = document_differences(written, kept[0].about["told"], FEEDBACK)
        return Recomputed(count_values(written), 0, tuple(differences))
    shown = read_document(folder)
    if note["audience"] == "developer":
        is_compared = bool(shown.comparisons)
        document, tables = developers_result(kept, reuse, is_compared=is_compared)
    else:
        study = study_of(kept)
        whole = replace(study.document, comparisons=shown.comparisons)
        again = recompute_comparisons(replace(study.evaluated, document=whole))
        document, tables = replace(whole, comparisons=tuple(again)), study.tables()
    return _recomputed(folder, document, tables)


def _kept(opened: SealedSet, note: dict[str, Any]) -> list[KeptResult]:
    """The results that a folder says it was made from, if they are still those of the log."""
    events = {one.facts.get("look"): one for one in opened.events if one.step == "evaluated"}
    looks = note["looks"]
    refuse_withdrawn(opened.events, (one["look"] for one in looks))
    opened.record("inspected", {"looks": ", ".join(str(one["look"]) for one in looks)})
    found = [open_kept(opened, events[one["look"]]) for one in looks if one["look"] in events]
    if [(one.look, one.digest) for one in found] != [(one["look"], one["result"]) for one in looks]:
        raise InputError.at(LOOKS, "names results that the sealed set does not have, or no more.")
    return found


def _recomputed(folder: Path, document: Document, tables: dict[str, pl.DataFrame]) -> Recomputed:
    def differences() -> Iterator[Any]:
        yield from document_differences(written, as_json(document), EVALUATION)
        yield from tables_differences(folder, tables)
        yield from comparison_differences(folder, document.comparisons)

    written = read_json(folder / EVALUATION)
    rows = sum(table.height for table in tables.values())
    return Recomputed(count_values(written), rows, tuple(differences()))
