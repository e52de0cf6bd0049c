"""The folder of an annotation project: its people, its cases and the log of all steps."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import randbits

import polars as pl
from pydantic import Field, ValidationError

from nodulebench.annotation import actions
from nodulebench.annotation.actions import WORKFLOWS, Action, ChangeKey, Event, WorkflowRules
from nodulebench.annotation.batch import Batch
from nodulebench.annotation.exam import who_passed
from nodulebench.annotation.people import Role, Roster, random_teams
from nodulebench.annotation.permissions import key_change, known_batch
from nodulebench.annotation.project_log import Batches, act, annotation_log
from nodulebench.annotation.readings import Reading
from nodulebench.annotation.repeats import draw_repeats, with_repeats
from nodulebench.annotation.workflow import SeenCandidate, Workflow
from nodulebench.core.config_model import ConfigModel, checked
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.tables import NODULES, Reference
from nodulebench.io.atomic import staged_folder
from nodulebench.io.formats import read_case_list, read_cases
from nodulebench.io.json_files import read_json, write_json
from nodulebench.io.manifests import bytes_digest, file_digest
from nodulebench.io.table_files import write_table
from nodulebench.security.checkpoints import checkpoint_file_problems, write_checkpoint
from nodulebench.security.event_index import IndexedLog
from nodulebench.security.event_log import FolderStore
from nodulebench.security.event_signers import PersonSigner
from nodulebench.security.events import Checkpoint, canonical
from nodulebench.security.keys import read_private_key, read_public_key

PROJECT, CASES, EVENTS = "project.json", "cases.csv", "events"
INDEX = "events.index.json"


class Project(ConfigModel):
    """The people and the rules of a project."""

    roster: Roster
    rules: WorkflowRules
    repeats: dict[str, str] = Field(default_factory=dict)
    """Cases that are shown a second time: the name under which each is shown -> the case."""
    passed: tuple[str, ...] | None = None
    """Who passed the exam that the project was started with; None: it was started without one."""


@dataclass(frozen=True)
class ProjectHandle:
    """An annotation project in its folder."""

    folder: Path
    workflow: Workflow
    log: IndexedLog[Event]
    repeats: Mapping[str, str]
    passed: tuple[str, ...] | None = None

    def act(self, actor_id: str, action: Action | Callable[[Mapping[str, Batch]], Action]) -> Event:
        return act(self.workflow, self.log, actor_id, action)

    def batch(self, batch_id: str) -> Batch:
        return known_batch(self.batches(), batch_id)

    def visible(self, actor_id: str, batch_id: str) -> tuple[list[Reading], list[SeenCandidate]]:
        """The readings and candidates of a batch that a person may see now; others by letters."""
        batch = self.batch(batch_id)
        readings = self.workflow.seen_readings(batch, actor_id)
        others = self.workflow.seen_of_others(batch, actor_id)
        return [*readings, *others], self.workflow.seen_candidates(batch, actor_id)

    @property
    def signer(self) -> PersonSigner | None:
        """Signs for the person who acts; None: the project has no keys."""
        signer = self.log.log.signer
        return signer if isinstance(signer, PersonSigner) else None

    def batches(self) -> Mapping[str, Batch]:
        return Batches(self.workflow, self.log.view())


def open_project(folder: Path, key: Path | None = None, passphrase: str = "") -> ProjectHandle:
    """Open a project; ``key`` is the private OpenSSH key of the person who acts, if needed."""
    file = folder / PROJECT
    if not file.is_file():
        raise InputError.at(str(folder), "holds no annotation project.", "Start a project first.")
    try:
        project = Project.model_validate(read_json(file))
    except ValidationError as error:
        raise InputError.at(str(file), "is damaged.") from error
    workflow = Workflow(project.roster, read_cases(folder / CASES), project.rules)
    keys = project.roster.keys
    seal = None
    if keys:
        own = None if key is None else read_private_key(key, passphrase)
        seal = PersonSigner(keys, own, key_change(project.roster))
    elif key is not None:
        raise InputError.at(
            str(file), "names no keys, so that steps are not signed.", "Act without a key."
        )
    root = project_digest(folder)
    log = annotation_log(FolderStore(folder / EVENTS), root, seal, folder / INDEX)
    return ProjectHandle(folder, workflow, log, project.repeats, project.passed)


def project_digest(folder: Path) -> str:
    return bytes_digest(canonical({name: file_digest(folder / name) for name in (PROJECT, CASES)}))


def change_key(
    handle: ProjectHandle, actor_id: str, person_id: str, new_key: Path | None, *, reason: str
) -> Event:
    """Replace or revoke a person's key; what was signed with the old key stays valid.

    The actor is an organiser, or the person with the key that is to be replaced. Without a new key
    the person's key is revoked.
    """
    line = "" if new_key is None else read_public_key(new_key).line
    fields = {"person_id": person_id, "key": line, "reason": reason.strip()}
    step = checked(ChangeKey, fields, f"key of '{person_id}'")

    def made(_: Mapping[str, Batch]) -> Action:
        known = handle.signer.keys_now() if handle.signer else {}
        owner = next((name for name, public_key in known.items() if public_key.line == line), "")
        if owner:
            raise InputError.at(str(new_key), f"is the key of '{owner}'.", "Make a new one.")
        return step

    return handle.act(actor_id, made)


@dataclass(frozen=True, kw_only=True, slots=True)
class StartProjectOptions:
    """What a new annotation project is made of."""

    folder: Path
    roster: Path
    """TOML with ``[[people]]`` and, unless teams are drawn, ``[[teams]]``; a table ``[rules]``
    changes single rules of the workflow."""
    cases: Path
    series: Path | None = None
    """List or table of cases, as ``sample`` writes it: restricts and orders them."""
    workflow: str = "nifdc-2022"
    seed: int | None = None
    """Draw teams at random from all juniors and leaders with this seed."""
    repeat_share: float = 0.0
    """The share of the cases that readers are shown a second time under another name, to measure
    how far they agree with themselves."""
    repeat_seed: int | None = None
    """Seed of the draw of these cases and of their names; None: a random one that is not stored."""
    exam: Path | None = None
    """``exam.json`` of an exam: only people who passed it can read, review and arbitrate."""
    is_examined_later: bool = False
    """Whether the caller checks later that people passed the exam, as the portal does."""


def start_project(options: StartProjectOptions) -> ProjectHandle:
    people, rules = _read_roster(options)
    passed = None if options.exam is None else who_passed(options.exam)
    if passed is None and rules.requires_exam and not options.is_examined_later:
        remedy = "Give the result of the exam: exam.json."
        raise InputError.at(f"workflow '{rules.name}'", "asks for an exam.", remedy)
    if options.seed is not None:
        people = _with_drawn_teams(people, rules, options.seed, passed)
    if passed is not None:
        _require_passed(people, passed)
    cases = read_cases(options.cases)
    if options.series is not None:
        pool = Reference(options.cases.name, cases, NODULES.empty())
        cases = pool.restricted(read_case_list(options.series), options.series.name).cases
    repeats = _draw_repeats(cases, options)
    if repeats and rules.revision == "case":
        raise InputError.at(
            "rules",
            "cases are shown twice, and readers would see what others drew before the second time.",
            'Set revision = "batch" in [rules] of the roster.',
        )
    cases = with_repeats(cases, repeats)
    Workflow(people, cases, rules)
    with staged_folder(options.folder, last=PROJECT, is_new=True) as stage:
        write_table(cases, stage / CASES)
        names = None if passed is None else tuple(sorted(passed))
        project = Project(roster=people, rules=rules, repeats=repeats, passed=names)
        write_json(project.model_dump(mode="json"), stage / PROJECT)
    return open_project(options.folder)


def _read_roster(options: StartProjectOptions) -> tuple[Roster, WorkflowRules]:
    name, workflow = options.roster.name, options.workflow
    content = _read_toml(options.roster)
    changes = content.pop("rules", {})
    if workflow not in WORKFLOWS:
        raise InputError.at(
            f"workflow '{workflow}'", "is not known.", f"Known: {', '.join(WORKFLOWS)}."
        )
    people = checked(Roster, content, name)
    changed = {**WORKFLOWS[workflow].model_dump(), **changes}
    return people, checked(WorkflowRules, changed, f"{name} rules")


def _draw_repeats(cases: pl.DataFrame, options: StartProjectOptions) -> dict[str, str]:
    if not options.repeat_share:
        return {}
    seed = randbits(64) if options.repeat_seed is None else options.repeat_seed
    return draw_repeats(cases["case_id"].to_list(), options.repeat_share, seed=seed)


def _with_drawn_teams(
    people: Roster, rules: WorkflowRules, seed: int, passed: frozenset[str] | None
) -> Roster:
    def those(role: Role) -> list[str]:
        having = [person.person_id for person in people.people if role in person.roles]
        return [name for name in having if passed is None or name in passed]

    teams = random_teams(those("junior"), those("leader"), size=rules.readers, seed=seed)
    return people.model_copy(update={"teams": teams})


def _require_passed(people: Roster, passed: frozenset[str]) -> None:
    problems = [
        Problem(
            f"team '{team.team_id}'",
            f"'{name}' has not passed the exam.",
            "Choose a person who has passed, or draw the teams.",
        )
        for team in people.teams
        for name in (*team.reader_ids, *((team.leader_id,) if team.leader_id else ()))
        if name not in passed
    ]
    problems += [
        Problem(
            f"person '{person.person_id}'",
            "is arbitrator and has not passed the exam.",
            "Examine arbitrators too, or take the role away.",
        )
        for person in people.people
        if "arbitrator" in person.roles and person.person_id not in passed
    ]
    raise_problems(problems)


def _read_toml(path: Path) -> JsonObject:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError.at(path.name, f"is not valid TOML: {error}.") from error


@dataclass(frozen=True, slots=True)
class ProjectAudit:
    """The events of a project's log, what is wrong with it, and what it cannot prove."""

    events: tuple[Event, ...]
    signers: int
    """Number of people whose keys the project names; 0: steps are not signed."""
    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...]


def audit_project(
    handle: ProjectHandle, checkpoints: Sequence[Path] = (), public_key: Path | None = None
) -> ProjectAudit:
    """Check the whole log and every step again; the public key is of the checkpoints' signer."""
    log = handle.log.log
    checked_log = log.check()
    problems = [*checked_log.problems, *checked_log.dates]
    problems += [
        Problem(stranger, "does not belong among the events: it was added.", "Move it elsewhere.")
        for stranger in log.store.foreign_files()
    ]
    for path in checkpoints:
        problems += checkpoint_file_problems(log, checked_log.links, path, public_key)
    if not checked_log.problems:
        problems += step_problems(handle, checked_log.events)
        if not handle.log.index_is_true(checked_log.events):
            what = "does not match the events: it was changed."
            problems.append(Problem(str(handle.log.file), what, "Remove it; it is rebuilt."))
    signers = len(handle.workflow.roster.keys)
    notices = tuple(_notices(checked_log.events, signers, len(checkpoints)))
    return ProjectAudit(tuple(checked_log.events), signers, tuple(problems), notices)


def step_problems(handle: ProjectHandle, events: Sequence[Event]) -> Iterator[Problem]:
    for event, why in handle.workflow.replayed(events):
        yield Problem(handle.log.log.store.where(event.number), f"{why.rstrip('.')}.")


def checkpoint_project(
    handle: ProjectHandle,
    path: Path,
    *,
    key: Path | None = None,
    passphrase: str = "",
    by: str = "",
) -> Checkpoint:
    """Write a checkpoint of a log without problems; see ``write_checkpoint``."""
    if path.resolve().is_relative_to(handle.folder.resolve()):
        raise InputError.at(str(path), "is in the project folder.", STORE_ELSEWHERE)
    log = handle.log.log
    return write_checkpoint(log, log.check(), path, key=key, passphrase=passphrase, by=by)


STORE_ELSEWHERE = "Store it elsewhere: it detects a project that was restored from an old copy."


def _notices(events: Sequence[Event], signers: int, checkpoints: int) -> Iterator[Notice]:
    if not signers:
        yield Notice("log_unsigned")
    if not checkpoints:
        yield Notice("log_without_checkpoint")
    yield from draw_notices(events)


def draw_notices(events: Iterable[Event]) -> Iterator[Notice]:
    opened: dict[str, list[str]] = {}
    waiting: dict[str, str] = {}
    promised: set[str] = set()
    for event in events:
        batch_id = event.batch_id
        if event.step == "open":
            order = actions.OpenBatch.model_validate(event.payload)
            if order.reviewer_id is not None:
                yield Notice("reviewer_named", {"reader": order.reviewer_id, "batch": batch_id})
            if order.commitment is not None:
                promised.add(batch_id)
            for case_id in order.case_ids:
                opened.setdefault(case_id, []).append(batch_id)
        elif event.step == "draw":
            waiting.pop(batch_id, None)
            step = actions.DrawReviewer.model_validate(event.payload)
            if step.redraw_reason:
                values = {"batch": batch_id, "reader": event.person, "reason": step.redraw_reason}
                yield Notice("reviewer_drawn_again", values)
        elif batch_id in promised and _is_last_reading(event):
            waiting[batch_id] = event.at.isoformat(timespec="seconds")
    for batch_id, since in waiting.items():
        yield Notice("draw_waits", {"batch": batch_id, "since": since})
    again = sorted({name for names in opened.values() if len(names) > 1 for name in names})
    if again:
        yield Notice("cases_opened_again", {"batches": again})


def _is_last_reading(event: Event) -> bool:
    """Whether all have read with this event: the program compared the readings."""
    steps = event.payload["steps"] if event.step == "several" else [event.payload]
    return any(step["step"] == "check" for step in steps)
