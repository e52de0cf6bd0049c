"""How often each account has looked at a test set, and how far the best of its looks may flatter.

Of a sealed set the log of its custody says it; of an open one the entries that were scored. What
follows from it for a claim is ``custody.feedback``'s, the same that developers are told.
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
"""Level of the bounds, as of the lower end of a 95% interval."""
DEVELOPER = "account "
"""How scoring names an account to a sealed set."""


@dataclass(frozen=True, slots=True)
class Use:
    """How one account stands to one test set."""

    benchmark: str
    title: str
    who: str
    """Name of the account, or of a developer who looked elsewhere."""
    looks: int
    allowed: int | None
    optimism: float
    """Standard errors by which the best of so many looks flatters, at most, on average."""
    needed: float | None
    """Standard errors that a 95% bound has to keep away; None: no bound holds."""


def uses_of(session: Transaction, benchmark: Benchmark) -> list[Use]:
    """Every account that has looked at the test set of a benchmark; most looks first.

    Raises:
        InputError: if a sealed set cannot be read.
    """
    found = _sealed(session, benchmark) if benchmark.is_sealed else _open(session, benchmark)
    return sorted(found, key=lambda one: (-one.looks, one.who))


def all_uses(session: Transaction) -> tuple[list[Use], list[str]]:
    """The uses of every benchmark, and the titles of those whose sealed set cannot be read."""
    found: list[Use] = []
    unread: list[str] = []
    for one in session.scalars(select(Benchmark).order_by(Benchmark.created_at.desc())):
        try:
            found += uses_of(session, one)
        except InputError:
            unread.append(one.title)
    return found, unread


def _open(session: Transaction, benchmark: Benchmark) -> Iterator[Use]:
    """Metrics in full tell so much that after the first look no bound holds."""
    count = func.count(func.distinct(Entry.digest))
    rows = (
        select(Account.name, Account.id, count)
        .join(Entry, Entry.account_id == Account.id)
        .join(Result, Result.entry_id == Entry.id)
        .where(Entry.benchmark_id == benchmark.id, Entry.is_baseline.is_(False))
        .group_by(Account.id, Account.name)
    )
    allowed = rules_of(benchmark).in_all
    for name, account, looks in session.execute(rows):
        yield _use(benchmark, name or account, looks, allowed, Answers(None))


def _sealed(session: Transaction, benchmark: Benchmark) -> Iterator[Use]:
    found = read_audit(Path(benchmark.reference))
    raise_problems(found.problems)
    events, reuse = found.events, found.policy.reuse
    for use in found.uses:
        account = session.get(Account, use.developer.removeprefix(DEVELOPER))
        who = use.developer if account is None else account.name or account.id
        answers = answers_of(reuse, use.developer, events)
        yield _use(benchmark, who, len(use.evaluations), use.allowed, answers)


def _use(benchmark: Benchmark, who: str, looks: int, allowed: int | None, answers: Answers) -> Use:
    told = budget_statement(BudgetStatus(looks, allowed or looks, answers))
    usual = deviations(ONE_SIDED, 0) if looks == 1 else None
    return Use(
        benchmark.id,
        benchmark.title,
        who,
        looks,
        allowed,
        told.get("optimism_standard_errors", 0.0),
        told.get("bound_standard_errors", usual),
    )
