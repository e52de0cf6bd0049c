"""What a sandbox costs, what hostile programs can do in it, and runs that are killed.

``python -m benchmarks.run_isolated [timing|calls|hostile|kills] ...``; without a word, all of them.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from builders.algorithms import algorithm_folder, images_set, small_volume
from builders.hostile import HOSTILE
from builders.killed_runs import KilledRuns
from nodulebench.core.errors import InputError
from nodulebench.runner.algorithms import read_algorithm
from nodulebench.runner.isolation.sandbox import Bare, Isolation
from nodulebench.runner.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.runner.isolation.self_test import ISOLATIONS, choose_isolation
from nodulebench.runner.run import RunChoice, run_algorithm
from nodulebench.runner.slot import CaseRun, open_slot

CASES, REPEATS, KILLS = 10_000, 100, 50
FAST = """#!/usr/bin/python3 -I
import sys
print("ready", flush=True)
for line in sys.stdin:
    with open("/output/marks.csv", "w") as file:
        file.write("seriesuid,coordX,coordY,coordZ,probability\\ncase,1,2,3,0.5\\n")
    print("done", flush=True)
"""


def _read(folder: Path, isolation: Isolation, cases: int) -> tuple[list[float], list[CaseRun]]:
    """Seconds of each case, and what came of them."""

    def work() -> tuple[list[float], list[CaseRun]]:
        seconds, runs = [], []
        with (
            scratch_folder() as place,
            open_slot(read_algorithm(folder), isolation, place / "slot") as slot,
        ):
            for number in range(cases):
                start = time.perf_counter()
                runs.append(slot.read(small_volume(), f"case-{number}"))
                seconds.append(time.perf_counter() - start)
        return seconds, runs

    return in_own_thread(work)


def _many(folder: Path, cases: int) -> Path:
    """A set of so many cases that share their voxels."""
    image = images_set(folder, 1) / "images" / "scan-0.mhd"
    for number in range(1, cases):
        image.with_name(f"scan-{number}.mhd").write_bytes(image.read_bytes())
    return folder


def timing(folder: Path) -> None:
    """Milliseconds a case in every sandbox and without one, alternating, and their CPU time."""
    algorithm = algorithm_folder(folder / "mine")
    times: dict[str, list[float]] = {}
    worked: dict[str, float] = {}
    walls = (Bare(), *installed())
    for _ in range(REPEATS // 10):
        for isolation in walls:
            before = _cpu()
            times.setdefault(isolation.name, []).extend(_read(algorithm, isolation, 10)[0])
            worked[isolation.name] = worked.get(isolation.name, 0.0) + _cpu() - before
    print(
        "| isolation | ms a case, median | least | more than none | CPU ms |\n|---|---|---|---|---|"
    )
    middle = {name: 1000 * statistics.median(seconds) for name, seconds in times.items()}
    for name, seconds in times.items():
        cells = (middle[name], 1000 * min(seconds), middle[name] - middle["none"])
        cpu = 1000 * worked[name] / len(seconds)
        print(f"| {name} | {' | '.join(f'{cell:.1f}' for cell in cells)} | {cpu:.1f} |")


def _cpu() -> float:
    """CPU seconds of this process and of those it waited for; without a service's own."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def calls(folder: Path) -> None:
    """Seconds of many cases by calls of a program that stays."""
    many = algorithm_folder(folder / "many", FAST, 'mode = "invoke"')
    start, cpu = time.perf_counter(), time.process_time()
    summary = run_algorithm(
        read_algorithm(many),
        _many(folder / "set", CASES),
        folder / "out",
        RunChoice("bubblewrap", slots=2),
    )
    took, worked = time.perf_counter() - start, time.process_time() - cpu
    print(
        f"{CASES:,} trivial cases by calls, images included: {took:.0f} s ({worked:.0f} s of CPU)"
    )
    print(f"states: {summary.states}")


def hostile(folder: Path) -> None:
    """The result of every hostile program in every sandbox that holds on this machine."""
    walls = installed()
    print(f"| program | {' | '.join(wall.name for wall in walls)} |\n|---{'|---' * len(walls)}|")
    wrong = 0
    for number, (name, attack) in enumerate(HOSTILE.items()):
        made = algorithm_folder(folder / str(number), attack.program, **attack.resources)
        cells = []
        for isolation in walls:
            run = _read(made, isolation, 1)[1][0]
            code, is_capped = run.measured["exit_code"], isolation.sees_our_mounts
            is_right = attack.is_contained(run.state, code, is_capped=is_capped)
            wrong += not is_right
            cells.append(f"{run.state}{'' if is_right else f' ({code}), WRONG: {run.output}'}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"{len(HOSTILE)} programs in {len(walls)} sandboxes: {wrong} not as they must be")


def installed() -> list[Isolation]:
    """The sandboxes that pass their test here; the reasons of the others are printed."""
    engines = []
    for name, make in ISOLATIONS.items():
        try:
            with scratch_folder() as place:
                engines.append(choose_isolation(name, place)[0])
        except InputError as error:
            print(f"{make.__name__}: {error}")
    return engines


def kills(folder: Path) -> None:
    """How often a killed run did not end like an undisturbed one."""
    runs, wrong, hits = KilledRuns(folder), [], 0
    for seed in range(KILLS):
        result, hit = runs.kill_and_go_on(1000 + seed)
        hits += hit
        if any(not result[name].equals(table) for name, table in runs.whole.items()):
            wrong.append(seed)
    print(f"{KILLS} runs, {hits} kills: {len(wrong)} ended otherwise {wrong or ''}")


PARTS: dict[str, Callable[[Path], None]] = {
    "timing": timing,
    "calls": calls,
    "hostile": hostile,
    "kills": kills,
}


def main() -> None:
    """Run what is asked for."""
    for name in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            PARTS[name](Path(folder) / name)
        print()


if __name__ == "__main__":
    main()
