"""A claimed job -> its entry evaluated, and what a leaderboard shows of it.

An open test set is evaluated as ``nodulebench evaluate`` does and its result folder is kept; on a
sealed set the policy decides what comes out, and nothing else is kept here.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench import __version__
from nodulebench.core.documents.evaluation import Document, reading, readings
from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.core.executor import Progress
from nodulebench.core.json_types import JsonObject
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.permitted_tests import OutdatedPlanError
from nodulebench.evaluation.result_folder import EVALUATION, FEEDBACK, read_document
from nodulebench.evaluation.service import EvaluateOptions, evaluate_files
from nodulebench.io.manifests import file_digest
from nodulebench.io.table_files import require_no_parquet
from nodulebench.report.developer_copy import developers_document
from nodulebench.runner.algorithms import named_algorithm
from nodulebench.runner.run import RunChoice, run_algorithm
from nodulebench.security.vault import Secret
from nodulebench.web.portal.benchmarks.rules import Kind, RuleFile, accepted_rules, rule_file_path
from nodulebench.web.portal.benchmarks.service import rules_of
from nodulebench.web.portal.database.models import Benchmark, Entry, Job, Result, now
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.jobs import Claimed, Scored
from nodulebench.web.portal.submissions.service import ALGORITHM, LEFT_S, marks_of

RUN = "-run"
"""How the folder of an algorithm's run ends, which goes on where it was stopped."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a worker opens sealed sets; given when it starts, and kept in memory alone."""

    secret: Secret
    person: str = ""
    """Who the site is in the policy; nothing: its key says it."""


class UnscoredError(NoduleBenchError):
    """Why something was not scored, in words that only those who run the site may read."""


@dataclass(frozen=True, slots=True)
class _Order:
    """What has to be scored, read in one go."""

    sent: Path
    is_algorithm: bool
    reference: Path
    protocol: str
    name: str
    developer: str
    is_sealed: bool
    candidates: Path | None
    """The list whose members it scores; None: it has marks of its own."""
    plan: Path | None
    """The frozen plan that judges it; None: there are no acceptance criteria."""
    laid: dict[str, str]
    """Digests of these two."""


def score(site: Site, claimed: Claimed, opening: Opening | None, progress: Progress) -> Scored:
    """Evaluate the entry of a job into a folder of its own claim.

    Raises:
        InputError: if a sealed set refuses it, or it holds a Parquet file; in words for who
            submitted.
        UnscoredError: if it cannot be scored; the words may tell of the reference.
    """
    with site.database.reading() as session:
        order = _order(site, session, claimed)
    results = site.results / claimed.entry
    marks = marks_of(order.sent)
    if order.is_algorithm:
        marks = _run(order, opening, marks, results / f"{claimed.version}{RUN}", progress)
    else:
        require_no_parquet(marks)  # it may have been submitted before Parquet was refused
    out = results / f"{claimed.version}-{claimed.claim}"
    try:
        if order.is_sealed:
            metrics = _scored_sealed(order, opening, marks, out)
            digest = file_digest(out / FEEDBACK)
        else:
            metrics = _scored_open(order, marks, out, progress)
            digest = file_digest(out / EVALUATION)
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    metrics["scorer"] = __version__
    metrics["digests"] = {**metrics.get("digests", {}), **order.laid}
    return Scored(str(out.relative_to(site.results)), digest, metrics)


def disclosed_digests(metrics: JsonObject) -> dict[str, str]:
    """The digests of a result that everybody may know; not those of reference and cases."""
    known = metrics.get("digests", {})
    return {name: known[name] for name in ("protocol", "plan", "candidates") if name in known}


def drop(site: Site, found: Scored) -> None:
    """Remove what was found under a claim that counts no more."""
    shutil.rmtree(site.results / found.folder, ignore_errors=True)


def sweep_results(site: Site) -> int:
    """Remove folders of claims that came to nothing, for their workers were killed; how many."""
    before = now().timestamp() - LEFT_S
    old = [path for path in site.results.glob("*/*-*") if path.stat().st_mtime < before]
    with site.database.reading() as session:
        kept = {site.results / one for one in session.scalars(select(Result.folder))}
        running = tuple(session.scalars(select(Job.claim).where(Job.state == "running")))
    left = [one for one in old if one not in kept and not one.name.endswith((RUN, *running))]
    for one in left:
        shutil.rmtree(one, ignore_errors=True)
    return len(left)


def summary(document: Document) -> JsonObject:
    """What a leaderboard needs of an evaluation: readings with intervals, and counts, by rule.

    Everybody may see it, and so it tells no more than a developer's copy of a report.
    """
    sound = developers_document(document.soundly)
    (algorithm,) = sound.algorithms
    reason = None if sound.plan is None else sound.plan.reason
    return {
        "readings": list(readings(sound)),
        "strata": list(_strata(sound)),
        "counts": {rule: dict(one.counts) for rule, one in algorithm.rules.items()},
        "digests": dict(document.digests),
        "verdict": None if sound.plan is None else sound.plan.verdict,
        "verdict_reason": None if reason is None else reason.to_json(),
    }


def _strata(document: Document) -> Iterator[JsonObject]:
    """Readings of parts of the cohort that are large enough, each with its part."""
    for _, rule, result in document.results:
        for division, parts in result.strata.items():
            for name, part in parts.items():
                for metric, one in {"miss_rate": part.miss_rate, **part.metrics}.items():
                    if not part.is_too_few:
                        shown, _, point = metric.partition("@")
                        told = reading(rule, shown, point, one.value, one.low, one.high)
                        yield {**told, "stratum": f"{division}={name}"}


def _order(site: Site, session: Transaction, claimed: Claimed) -> _Order:
    entry = session.get_one(Entry, claimed.entry)
    benchmark: Benchmark = entry.benchmark
    listed, plan = accepted_rules(entry).candidates, rules_of(benchmark).plan
    laid: dict[Kind, RuleFile | None] = {"candidates": listed, "plan": plan}
    paths = {
        kind: rule_file_path(site, benchmark.id, kind, one.version)
        for kind, one in laid.items()
        if one is not None
    }
    return _Order(
        site.upload(entry.id) / entry.file,
        entry.kind == ALGORITHM,
        Path(benchmark.reference),
        benchmark.protocol,
        entry.name,
        f"account {entry.account_id}",  # names can be chosen, and somebody else's looks with them
        benchmark.is_sealed,
        paths.get("candidates"),
        paths.get("plan"),
        {kind: one.digest for kind, one in laid.items() if one is not None},
    )


def _run(
    order: _Order, opening: Opening | None, folder: Path, out: Path, progress: Progress
) -> Path:
    """The marks of an algorithm, run apart from everything else; a stopped run goes on."""
    known = opening if order.is_sealed else None
    try:
        summary = run_algorithm(
            named_algorithm(str(folder)),
            order.reference,
            out,
            RunChoice(),
            secret=None if known is None else known.secret,
            person="" if known is None else known.person,
            progress=progress,
        )
    except InputError as error:
        raise UnscoredError(str(error)) from error
    if not summary.is_complete:
        raise UnscoredError("the machine, not the algorithm, kept a case from its result")
    return out


def _scored_open(order: _Order, marks: Path, out: Path, progress: Progress) -> JsonObject:
    try:
        evaluate_files(
            EvaluateOptions(
                marks=(marks,),
                reference=order.reference,
                protocol=order.protocol,
                plan=order.plan,
                candidates=order.candidates,
                out=out,
                names=(order.name,),
            ),
            progress=progress,
        )
    except InputError as error:  # the file alone was looked through before it was taken
        raise UnscoredError(str(error)) from error
    return summary(read_document(out))


def _scored_sealed(order: _Order, opening: Opening | None, marks: Path, out: Path) -> JsonObject:
    if opening is None:
        raise UnscoredError("the test set is sealed, and this worker was started without a key")
    look = SealedEvaluateOptions(
        marks=marks,
        sealed=order.reference,
        secret=opening.secret,
        person=opening.person,
        developer=order.developer,
        protocol=order.protocol,
        plan=order.plan,
        out=out,
    )
    try:
        told, _ = evaluate_sealed(look)
    except OutdatedPlanError as error:  # the organisers laid the plan down, and can replace it
        raise UnscoredError(str(error)) from error
    return {
        "readings": list(_told_readings(told)),
        "counts": {},
        "verdict": told.get("verdict"),
        "verdict_reason": told.get("verdict_reason"),
    }


def _told_readings(told: JsonObject) -> Iterator[JsonObject]:
    """The metrics of feedback, which the policy has rounded."""
    for name, found in told.get("metrics", {}).items():
        rule, _, metric = name.partition(".")
        metric, _, point = metric.partition("@")
        yield reading(rule, metric, point, found.get("value"), found.get("bound"), None)
