"""Released batches of an annotation project -> a bundle with its provenance, and FINDINGS tables.

The bundle holds what the workflow decided: the union of what readers drew of every accepted nodule,
or how it was drawn anew, and what the reviewer added and an arbitrator accepted. The tables hold
what each reader drew, so that ``nodulebench reference build`` can hear the same readers by any
other rule.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench import __version__
from nodulebench.annotation.project import Desk
from nodulebench.annotation.project_log import step_problems
from nodulebench.annotation.readings.findings import findings_of
from nodulebench.annotation.unite_readings import Accepted, unite
from nodulebench.annotation.workflow.batch import Batch, Key
from nodulebench.annotation.workflow.record import steps_of
from nodulebench.core.errors import Problem, refuse_any
from nodulebench.core.readings import FINDINGS, Readings
from nodulebench.core.tables import Reference
from nodulebench.io.atomic import staged_folder
from nodulebench.io.bundle import PROVENANCE, write_reference
from nodulebench.io.findings_tables import write_findings
from nodulebench.io.json_files import write_json
from nodulebench.io.manifests import MANIFEST


def export_released(
    desk: Desk,
    target: Path,
    batch_ids: Iterable[str] = (),
    *,
    findings: Path | None = None,
    blind_findings: Path | None = None,
) -> Reference:
    """Write the nodules of released batches as a bundle and, with ``findings``, what readers drew.

    Nothing is written if a batch is not released. The whole log is read and every step is judged
    anew: neither an index nor a step that somebody wrote by other means is believed.

    Args:
        desk: the project.
        target: folder of the bundle, with who did what and when in ``provenance.json``.
        batch_ids: the batches; empty: all that are released.
        findings: folder for the readers' own findings, as tables.
        blind_findings: folder for those of the blind phase, where there was a second one.

    Raises:
        InputError: if a batch is not released, none is, or the log holds a step that was not
            allowed.
    """
    desk = replace(desk, log=replace(desk.log, file=None))
    refuse_any(step_problems(desk, desk.log.read()))
    batches = released(desk, batch_ids)
    reference = released_reference(desk, batch_ids)
    drawn = released_findings(desk, batch_ids)
    with staged_folder(target, last=MANIFEST) as stage:
        write_reference(reference, stage)
        write_json(_provenance(desk, list(batches)), stage / PROVENANCE)
    if findings is not None:
        write_findings(drawn, findings)
    if blind_findings is not None:
        write_findings(blind_readings(desk, batch_ids), blind_findings)
    return reference


def released(desk: Desk, batch_ids: Iterable[str] = ()) -> dict[str, Batch]:
    """The batches by name; without names, all that are released.

    Raises:
        InputError: if a batch is not released, none is, or two hold the same case.
    """
    batches = desk.batches()
    wanted = list(batch_ids) or [name for name, one in batches.items() if one.is_released]
    problems = [
        Problem(f"batch '{name}'", "is not released.")
        for name in wanted
        if name not in batches or not batches[name].is_released
    ]
    if not wanted:
        problems = [Problem(str(desk.folder), "no batch is released.")]
    names = [
        case_id for name in wanted if name in batches for case_id in _cases(desk, batches[name])
    ]
    problems += [
        Problem(f"case '{case_id}'", "is in several of the batches.", "Name one of them.")
        for case_id in dict.fromkeys(name for name in names if names.count(name) > 1)
    ]
    refuse_any(problems)
    return {name: batches[name] for name in wanted}


def released_reference(desk: Desk, batch_ids: Iterable[str] = ()) -> Reference:
    """The nodules of released batches: the union of what their readers drew, with types.

    Cases that were shown a second time are left out.

    Raises:
        InputError: if a batch is not released, or none is.
    """
    chosen = list(released(desk, batch_ids).values())
    accepted = [
        accepted_of(one, key) for one in chosen for key in one.nodules if key[0] not in desk.repeats
    ]
    drawn = [reading for one in chosen for reading in one.drawn]
    return unite(desk.folder.resolve().name, _listed(desk, chosen), drawn, accepted)


def accepted_of(batch: Batch, key: Key) -> Accepted:
    """A candidate as it enters a reference, if it is a nodule."""
    anew = batch.corrected(key)
    return Accepted(
        key[0],
        batch.candidates[key],
        batch.nodule_type(key),
        added_by=batch.order.reviewer_id if key in batch.added else None,
        corrected_by=None if anew is None else anew.by,
        anew=() if anew is None else anew.step.slices,
    )


def released_findings(desk: Desk, batch_ids: Iterable[str] = ()) -> Readings:
    """What the readers of released batches drew in the end, with the types that they gave.

    SESSIONS says whether that was ``blind`` or ``unblinded``, after a look at what others drew.
    FINDINGS gets two further columns: ``candidate_id``, and ``is_nodule``, what the workflow made
    of the candidate. What the reviewer added is no reader's finding and is in the bundle alone.

    Raises:
        InputError: if a batch is not released, or none is.
    """
    chosen = list(released(desk, batch_ids).values())
    cases = _listed(desk, chosen)
    typed = [one for batch in chosen for one in batch.typed if one.reader_id in batch.reader_ids]
    readings = findings_of(desk.folder.resolve().name, cases, typed)
    decided = pl.DataFrame(
        [row for batch in chosen for row in _decisions(batch)],
        schema=["case_id", "reader_id", "source_id", "candidate_id", "is_nodule"],
        orient="row",
        schema_overrides=dict.fromkeys(("case_id", "reader_id", "source_id"), pl.String)
        | {"candidate_id": pl.String, "is_nodule": pl.Boolean},
    )
    joined = readings.findings.join(
        decided, on=["case_id", "reader_id", "source_id"], how="left", maintain_order="left"
    )
    phase = "blind" if desk.workflow.rules.revision == "none" else "unblinded"
    sessions = readings.sessions.with_columns(phase=pl.lit(phase))
    return replace(readings, sessions=sessions, findings=FINDINGS.conform(joined, "FINDINGS"))


def blind_readings(desk: Desk, batch_ids: Iterable[str] = ()) -> Readings:
    """What the readers of released batches drew before they saw what others did.

    Raises:
        InputError: if a batch is not released, or none is.
    """
    chosen = list(released(desk, batch_ids).values())
    drawn = [one for batch in chosen for one in batch.readings.values()]
    found = findings_of(desk.folder.resolve().name, _listed(desk, chosen), drawn)
    return replace(found, sessions=found.sessions.with_columns(phase=pl.lit("blind")))


def _decisions(batch: Batch) -> Iterable[tuple[str, str, str, str, bool]]:
    accepted: set[Key] = set(batch.nodules)
    for key, one in batch.candidates.items():
        for reader, name in one.findings:
            yield key[0], reader, name, key[1], key in accepted


def _cases(desk: Desk, batch: Batch) -> list[str]:
    return [case_id for case_id in batch.order.case_ids if case_id not in desk.repeats]


def _listed(desk: Desk, batches: Sequence[Batch]) -> pl.DataFrame:
    """The cases of batches, in the project's order."""
    names = [case_id for one in batches for case_id in _cases(desk, one)]
    wanted = pl.DataFrame({"case_id": pl.Series(names, dtype=pl.String)})
    return desk.workflow.cases.join(wanted, on="case_id", how="semi", maintain_order="left")


def _provenance(desk: Desk, batch_ids: Sequence[str]) -> dict[str, Any]:
    """Who did what and when, and the digest of the log that says it in full."""
    events = desk.log.read()
    return {
        "schema": "nodulebench/reference@1",
        "version": __version__,
        "source": desk.folder.resolve().name,
        "digest": events[-1].digest,
        "rule": desk.workflow.rules.name,
        "parameters": desk.workflow.rules.model_dump(mode="json"),
        "batches": list(batch_ids),
        "events": [
            {
                "number": event.number,
                "at": event.at.isoformat(),
                "actor_id": step.actor_id,
                "step": step.step,
                "batch_id": event.batch_id,
                "case_id": step.case_id,
                "change": step.change,
            }
            for event in events
            if event.batch_id in set(batch_ids)
            for step in steps_of(event)
        ],
    }
