"""How often each account was evaluated on a test set, and how optimistic its best result may be.

For a sealed set the custody log is counted, for an open one the scored entries. The consequences
for claims come from ``custody.feedback``, as developers see them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session as Transaction

from nodulebench.core.errors import InputError, raise_problems
from nodulebench.custody.adaptive_reuse import Answers, deviations
from nodulebench.custody.budget import answers_of
from nodulebench.custody.feedback import BudgetStatus, budget_statement
from nodulebench.custody.verify import read_audit
from nodulebench.web.portal.benchmarks.service import rules_of
from nodulebench.web.portal.database.models import Account, Benchmark, Entry, Result

ONE_SIDED = 0.975
"""Confidence level of the bounds: the lower end of a 95% interval."""
DEVELOPER = "account "
"""Prefix of an account's developer name in the log of a sealed set."""


@dataclass(frozen=True, slots=True)
class TestSetUse:
    """The use of a test set by an account."""

    benchmark: str
    title: str
    who: str
    """Name of the account, or of a developer who was evaluated elsewhere."""
    evaluations: int
    allowed: int | None
    optimism: float
    """Upper bound of the mean optimism of the best of so many evaluations, in standard errors."""
    needed: float | None
    """Distance of a valid 95% bound, in standard errors; None: no bound is valid."""


def uses_of(session: Transaction, benchmark: Benchmark) -> list[TestSetUse]:
    uses = _sealed(session, benchmark) if benchmark.is_sealed else _open(session, benchmark)
    return sorted(uses, key=lambda use: (-use.evaluations, use.who))


def all_uses(session: Transaction) -> tuple[list[TestSetUse], list[str]]:
    """The uses of all benchmarks, and the titles of those whose sealed set cannot be read."""
    uses: list[TestSetUse] = []
    unread: list[str] = []
    for benchmark in session.scalars(select(Benchmark).order_by(Benchmark.created_at.desc())):
        try:
            uses += uses_of(session, benchmark)
        except InputError:
            unread.append(benchmark.title)
    return uses, unread


def _open(session: Transaction, benchmark: Benchmark) -> Iterator[TestSetUse]:
    """Full metrics disclose so much that no bound is valid after the first evaluation."""
    count = func.count(func.distinct(Entry.digest))
    rows = (
        select(Account.name, Account.id, count)
        .join(Entry, Entry.account_id == Account.id)
        .join(Result, Result.entry_id == Entry.id)
        .where(Entry.benchmark_id == benchmark.id, Entry.is_baseline.is_(False))
        .group_by(Account.id, Account.name)
    )
    allowed = rules_of(benchmark).in_all
    for name, account, evaluations in session.execute(rows):
        yield _use(benchmark, name or account, evaluations, allowed, Answers(None))


def _sealed(session: Transaction, benchmark: Benchmark) -> Iterator[TestSetUse]:
    audit = read_audit(Path(benchmark.reference))
    raise_problems(audit.problems)
    events, reuse = audit.events, audit.policy.reuse
    for use in audit.uses:
        account = session.get(Account, use.developer.removeprefix(DEVELOPER))
        who = use.developer if account is None else account.name or account.id
        answers = answers_of(reuse, use.developer, events)
        yield _use(benchmark, who, len(use.evaluations), use.allowed, answers)


def _use(
    benchmark: Benchmark, who: str, evaluations: int, allowed: int | None, answers: Answers
) -> TestSetUse:
    statement = budget_statement(BudgetStatus(evaluations, allowed or evaluations, answers))
    usual = deviations(ONE_SIDED, 0) if evaluations == 1 else None
    return TestSetUse(
        benchmark.id,
        benchmark.title,
        who,
        evaluations,
        allowed,
        statement.get("optimism_standard_errors", 0.0),
        statement.get("bound_standard_errors", usual),
    )
