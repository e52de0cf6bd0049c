"""Kill a portal's server, workers or database during submissions, and check what is left."""

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from builders.running_portal import PATIENCE_S, RunningPortal
from nodulebench.web.portal.database.models import Job

PAUSE_S = 0.05
TARGETS = ("web", "worker", "database")


@dataclass
class Left:
    """What is left after a trial."""

    kills: Counter[str] = field(default_factory=Counter)
    receipts: int = 0
    """Submissions that got a receipt."""
    unanswered: int = 0
    """Attempts without an answer, or answered that the database cannot be reached."""
    repeated: int = 0
    """Jobs interrupted by a kill and claimed again."""
    wrong: list[str] = field(default_factory=list)
    """Losses, entries without score or scored twice, and wrong answers."""


def trial(
    portal: RunningPortal, seed: int, submissions: int = 8, targets: tuple[str, ...] = TARGETS
) -> Left:
    """Submit while processes are killed at seeded moments; return what is left."""
    chance, left = random.Random(seed), Left()
    receipts: dict[str, dict[str, Any]] = {}
    is_sending = threading.Event()

    def send_all() -> None:
        number, until = 0, time.monotonic() + PATIENCE_S
        while len(receipts) < submissions and time.monotonic() < until:
            is_sending.set()
            status, answer = portal.send(number)
            is_sending.clear()
            if status == 201:
                receipts[answer["id"]] = answer["receipt"]["receipt"]
                number += 1
            elif status in (0, 503):
                left.unanswered += 1
            else:
                left.wrong.append(f"answered {status}: {answer}")
                return
            time.sleep(PAUSE_S)

    def is_over() -> bool:
        return not sender.is_alive() and portal.is_scored()

    with portal.up():
        sender = threading.Thread(target=send_all)
        sender.start()
        for target in targets:
            is_of_sending = target == "web" or (target == "database" and chance.random() < 0.5)
            at_work = is_sending.is_set if is_of_sending else portal.is_scoring
            portal.until(portal.is_up)
            portal.until(lambda: at_work() or is_over())  # noqa: B023
            time.sleep(chance.random() ** 2 * 0.3)
            portal.kill(target, chance)
            left.kills[target] += 1
        sender.join()
        portal.until(portal.is_scored)
    left.receipts = len(receipts)
    if left.receipts < submissions:
        left.wrong.append(f"{submissions - left.receipts} could not be sent in")
    left.wrong += list(portal.wrong(receipts))
    with portal.site.database.reading() as session:
        left.repeated = sum(attempts > 1 for attempts in session.scalars(select(Job.attempts)))
    return left
