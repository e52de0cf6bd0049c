"""Score the entry of a claimed job, and summarise the result for leaderboards.

An open test set is evaluated like with ``nodulebench evaluate``, and the result folder is stored.
On a sealed set the policy decides what is disclosed, and nothing else is stored here.
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
from nodulebench.security.keys import PrivateKey
from nodulebench.web.portal.benchmarks.rules import Kind, RuleFile, accepted_rules, rule_file_path
from nodulebench.web.portal.benchmarks.service import rules_of
from nodulebench.web.portal.database.models import Benchmark, Entry, Job, Result, now
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.jobs import Claimed, Scored
from nodulebench.web.portal.submissions.service import ALGORITHM, LEFT_S, marks_of

RUN = "-run"
"""Suffix of the folder of an algorithm's run, which continues after an interruption."""


class UnscoredError(NoduleBenchError):
    """Why an entry could not be scored; only operators may read it."""


@dataclass(frozen=True, slots=True)
class _ScoringOptions:
    """What to score, read in one transaction."""

    sent: Path
    is_algorithm: bool
    reference: Path
    protocol: str
    name: str
    developer: str
    is_sealed: bool
    candidates: Path | None
    """The candidate list to score; None: the entry has its own marks."""
    plan: Path | None
    """The frozen plan with acceptance criteria; None: there are none."""
    rule_file_digests: dict[str, str]


def score(site: Site, claimed: Claimed, own_key: PrivateKey | None, progress: Progress) -> Scored:
    """Evaluate an entry; submitters may read an InputError, only operators an UnscoredError."""
    with site.database.reading() as session:
        options = _scoring_options(site, session, claimed)
    results = site.results / claimed.entry
    marks = marks_of(options.sent)
    if options.is_algorithm:
        marks = _run(options, own_key, marks, results / f"{claimed.version}{RUN}", progress)
    else:
        require_no_parquet(marks)  # entries from before Parquet was refused may still wait
    out = results / f"{claimed.version}-{claimed.claim}"
    try:
        if options.is_sealed:
            metrics = _scored_sealed(options, own_key, marks, out)
            digest = file_digest(out / FEEDBACK)
        else:
            metrics = _scored_open(options, marks, out, progress)
            digest = file_digest(out / EVALUATION)
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    metrics["scorer"] = __version__
    metrics["digests"] = {**metrics.get("digests", {}), **options.rule_file_digests}
    return Scored(str(out.relative_to(site.results)), digest, metrics)


def disclosed_digests(metrics: JsonObject) -> dict[str, str]:
    known = metrics.get("digests", {})
    return {name: known[name] for name in ("protocol", "plan", "candidates") if name in known}


def drop(site: Site, scored: Scored) -> None:
    shutil.rmtree(site.results / scored.folder, ignore_errors=True)


def sweep_results(site: Site) -> int:
    before = now().timestamp() - LEFT_S
    old = [path for path in site.results.glob("*/*-*") if path.stat().st_mtime < before]
    with site.database.reading() as session:
        stored = {site.results / name for name in session.scalars(select(Result.folder))}
        running = tuple(session.scalars(select(Job.claim).where(Job.state == "running")))
    left = [
        folder
        for folder in old
        if folder not in stored and not folder.name.endswith((RUN, *running))
    ]
    for folder in left:
        shutil.rmtree(folder, ignore_errors=True)
    return len(left)


def summary(document: Document) -> JsonObject:
    """What a leaderboard needs: metrics with intervals, and counts, by rule.

    It is public, and so it discloses no more than a developer's copy of a report.
    """
    sound = developers_document(document.soundly)
    (algorithm,) = sound.algorithms
    reason = None if sound.plan is None else sound.plan.reason
    return {
        "readings": list(readings(sound)),
        "strata": list(_strata(sound)),
        "counts": {rule: dict(evaluation.counts) for rule, evaluation in algorithm.rules.items()},
        "digests": dict(document.digests),
        "verdict": None if sound.plan is None else sound.plan.verdict,
        "verdict_reason": None if reason is None else reason.to_json(),
    }


def _strata(document: Document) -> Iterator[JsonObject]:
    """Metrics of parts of the cohort that are large enough, with the name of the part."""
    for _, rule, result in document.results:
        for division, parts in result.strata.items():
            for name, part in parts.items():
                for metric, estimate in {"miss_rate": part.miss_rate, **part.metrics}.items():
                    if not part.is_too_few:
                        shown, _, point = metric.partition("@")
                        part_reading = reading(
                            rule, shown, point, estimate.value, estimate.low, estimate.high
                        )
                        yield {**part_reading, "stratum": f"{division}={name}"}


def _scoring_options(site: Site, session: Transaction, claimed: Claimed) -> _ScoringOptions:
    entry = session.get_one(Entry, claimed.entry)
    benchmark: Benchmark = entry.benchmark
    listed, plan = accepted_rules(entry).candidates, rules_of(benchmark).plan
    rule_files: dict[Kind, RuleFile | None] = {"candidates": listed, "plan": plan}
    paths = {
        kind: rule_file_path(site, benchmark.id, kind, rule_file.version)
        for kind, rule_file in rule_files.items()
        if rule_file is not None
    }
    return _ScoringOptions(
        site.upload(entry.id) / entry.file,
        entry.kind == ALGORITHM,
        Path(benchmark.reference),
        benchmark.protocol,
        entry.name,
        f"account {entry.account_id}",  # chosen names could spend budgets of others
        benchmark.is_sealed,
        paths.get("candidates"),
        paths.get("plan"),
        {kind: rule_file.digest for kind, rule_file in rule_files.items() if rule_file is not None},
    )


def _run(
    options: _ScoringOptions,
    own_key: PrivateKey | None,
    folder: Path,
    out: Path,
    progress: Progress,
) -> Path:
    """The marks of an algorithm that runs in isolation; an interrupted run continues."""
    try:
        summary = run_algorithm(
            named_algorithm(str(folder)),
            options.reference,
            out,
            RunChoice(),
            own_key=own_key if options.is_sealed else None,
            progress=progress,
        )
    except InputError as error:
        raise UnscoredError(str(error)) from error
    if not summary.is_complete:
        raise UnscoredError("a case has no result because of the machine, not the algorithm")
    return out


def _scored_open(
    options: _ScoringOptions, marks: Path, out: Path, progress: Progress
) -> JsonObject:
    try:
        evaluate_files(
            EvaluateOptions(
                marks=(marks,),
                reference=options.reference,
                protocol=options.protocol,
                plan=options.plan,
                candidates=options.candidates,
                out=out,
                names=(options.name,),
            ),
            progress=progress,
        )
    except InputError as error:  # before, the file was checked without the reference
        raise UnscoredError(str(error)) from error
    return summary(read_document(out))


def _scored_sealed(
    options: _ScoringOptions, own_key: PrivateKey | None, marks: Path, out: Path
) -> JsonObject:
    if own_key is None:
        raise UnscoredError("the test set is sealed, and this worker was started without a key")
    sealed = SealedEvaluateOptions(
        marks=marks,
        sealed=options.reference,
        own_key=own_key,
        developer=options.developer,
        protocol=options.protocol,
        plan=options.plan,
        out=out,
    )
    try:
        disclosed, _ = evaluate_sealed(sealed)
    except OutdatedPlanError as error:  # organisers uploaded the plan and can replace it
        raise UnscoredError(str(error)) from error
    return {
        "readings": list(_disclosed_readings(disclosed)),
        "counts": {},
        "verdict": disclosed.get("verdict"),
        "verdict_reason": disclosed.get("verdict_reason"),
    }


def _disclosed_readings(disclosed: JsonObject) -> Iterator[JsonObject]:
    for name, estimate in disclosed.get("metrics", {}).items():
        rule, _, metric = name.partition(".")
        metric, _, point = metric.partition("@")
        yield reading(rule, metric, point, estimate.get("value"), estimate.get("bound"), None)
