"""What comes of a case in a sandbox: measured, named by its cause, and with nothing left behind."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders.algorithms import CALLS, MARKS, algorithm_folder, needs_bubblewrap, small_volume
from builders.hostile import HOSTILE, LEFT
from nodulebench.core.algorithm import RunResources
from nodulebench.runner.algorithms import read_algorithm
from nodulebench.runner.isolation import scratch
from nodulebench.runner.isolation.bubblewrap import Bubblewrap
from nodulebench.runner.isolation.sandbox import Bare, Isolation, Job, limits_of
from nodulebench.runner.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.runner.isolation.watch import MOST_OUTPUT_BYTES
from nodulebench.runner.slot import CaseRun, Slot, open_slot

pytestmark = needs_bubblewrap


@contextmanager
def slot_of(folder: Path, isolation: Isolation | None = None) -> Iterator[Slot]:
    with scratch_folder() as place:
        with open_slot(read_algorithm(folder), isolation or Bubblewrap(), place / "slot") as slot:
            yield slot
        assert not any(place.iterdir())


def read(folder: Path, isolation: Isolation | None = None) -> CaseRun:
    def work() -> CaseRun:
        with slot_of(folder, isolation) as slot:
            return slot.read(small_volume(), "case-1")

    return in_own_thread(work)


def left_processes() -> list[str]:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return [line for line in lines if LEFT in line and "pytest" not in line]


def test_a_case_is_read_and_measured(tmp_path: Path) -> None:
    run = read(algorithm_folder(tmp_path / "mine", MARKS + "echo hello"))
    assert (run.state, run.why, run.output) == ("ok", None, "hello\n")
    assert run.marks.select("case_id", "x_mm", "score").rows() == [("case-1", 1.0, 0.9)]
    assert run.measured["exit_code"] == 0
    assert 0 < run.measured["cpu_seconds"] < 20
    assert 0.1 < run.measured["peak_memory_mb"] < 128
    assert run.measured["signal"] is None


def test_lungs_that_the_algorithm_doubts_are_the_state_of_its_run(tmp_path: Path) -> None:
    doubts = MARKS + "printf 'case_id,state\\ncase-1,lungs_implausible\\n' > /output/runs.csv\n"
    run = read(algorithm_folder(tmp_path / "mine", doubts))
    assert run.state == "lungs_implausible"
    assert run.why is not None
    assert run.why.code == "run_lungs_implausible"
    assert run.marks.height == 1


def test_memory_and_time_of_all_processes_are_measured(tmp_path: Path) -> None:
    program = (
        "#!/usr/bin/python3 -I\nimport os, sys, time\n"
        "for _ in range(2):\n    if os.fork() == 0:\n        held = bytearray(30 << 20)\n"
        "        held[::4096] = b'x' * len(held[::4096])\n        time.sleep(0.3)\n"
        "        os._exit(0)\n"
        "os.wait(); os.wait()\n"
        "open(sys.argv[2] + '/m.csv', 'w').write('seriesuid,coordX,coordY,coordZ,probability\\n')"
    )
    run = read(algorithm_folder(tmp_path / "mine", program))
    assert run.state == "ok"
    assert run.measured["peak_anonymous_mb"] > 60
    assert run.measured["peak_memory_mb"] >= run.measured["peak_anonymous_mb"] - 1
    assert run.measured["seconds"] > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_is_contained_and_named(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "x")
    hostile = HOSTILE[name]
    folder = algorithm_folder(tmp_path / "mine", hostile.program, **hostile.resources)
    run = read(folder)
    assert run.state == hostile.state, run.output
    assert not hostile.says_exit or run.measured["exit_code"] == hostile.exit_code, run.output
    assert not hostile.code or (run.why is not None and run.why.code == hostile.code)
    assert len(run.output.encode()) <= MOST_OUTPUT_BYTES
    assert left_processes() == []


def test_a_signal_is_reported(tmp_path: Path) -> None:
    run = read(algorithm_folder(tmp_path / "mine", "kill -SEGV $$"))
    assert (run.state, run.measured["signal"], run.measured["exit_code"]) == ("failed", 11, None)


def test_a_program_that_stays_reads_case_after_case(tmp_path: Path) -> None:
    folder = algorithm_folder(
        tmp_path / "mine",
        f"set -- /input /output\n{CALLS % (MARKS + 'n=$((n+1)); echo $n >&2')}",
        'mode = "invoke"',
    )
    runs: list[CaseRun] = []

    def work() -> CaseRun:
        with slot_of(folder) as slot:
            runs.extend(slot.read(small_volume(), f"case-{number}") for number in (1, 2))
        return runs[0]

    in_own_thread(work)
    assert [run.state for run in runs] == ["ok", "ok"]
    assert [run.marks["case_id"][0] for run in runs] == ["case-1", "case-2"]
    assert [run.output for run in runs] == ["1\n", "2\n"]
    assert runs[0].measured["startup_seconds"] > 0
    assert runs[1].measured["startup_seconds"] is None


def test_after_a_call_that_failed_the_program_is_started_again(tmp_path: Path) -> None:
    program = (
        'set -- /input /output\necho ready\nread -r line\nif grep -q case-1 "$1/case.json"; then\n'
        f"exit 7\nfi\n{MARKS}echo done\nread -r line\nsleep 60"
    )
    folder = algorithm_folder(tmp_path / "mine", program, 'mode = "invoke"', timeout_s=4)
    runs: list[CaseRun] = []

    def work() -> CaseRun:
        with slot_of(folder) as slot:
            runs.extend(slot.read(small_volume(), f"case-{number}") for number in (1, 2, 3))
        return runs[0]

    in_own_thread(work)
    assert [run.state for run in runs] == ["failed", "ok", "timed_out"]
    assert runs[0].measured["exit_code"] == 7
    assert runs[1].measured["startup_seconds"] is not None


def test_a_program_that_never_becomes_ready_says_so(tmp_path: Path) -> None:
    folder = algorithm_folder(
        tmp_path / "mine", "sleep 60", 'mode = "invoke"', startup_timeout_s=0.3
    )
    run = read(folder)
    assert (run.state, run.measured["seconds"]) == ("timed_out", None)
    assert run.measured["startup_seconds"] >= 0.3


GC = """profile = "grand-challenge"
mode = "invoke"
inputs = [{slug = "chest-ct", path = "images/chest-ct"}]
outputs = [{path = "nodule-locations.json", adapter = "gc-points"}]"""
SERVER = """#!/usr/bin/python3 -I
import glob, http.server, json

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
    def do_POST(self):
        slugs = [one["interface"]["slug"] for one in json.load(open("/input/inputs.json"))]
        assert slugs == ["chest-ct"] and len(glob.glob("/input/images/chest-ct/*.mha")) == 1
        point = {"name": "n", "point": [1, 2, 3], "probability": 0.5}
        document = {"type": "Multiple points", "points": [point]}
        json.dump(document, open("/output/nodule-locations.json", "w"))
        self.send_response(201)
        self.end_headers()
    def log_message(self, *_):
        pass

http.server.HTTPServer(("127.0.0.1", 4743), Handler).serve_forever()
"""


def test_a_server_of_grand_challenge_is_called_in_its_own_network(tmp_path: Path) -> None:
    run = read(algorithm_folder(tmp_path / "mine", SERVER, GC))
    assert (run.state, run.why) == ("ok", None), run.output
    assert run.marks.select("x_mm", "score").rows() == [(1.0, 0.5)]
    assert run.measured["startup_seconds"] > 0


def test_without_walls_a_program_finds_its_folders_by_its_arguments(tmp_path: Path) -> None:
    run = read(algorithm_folder(tmp_path / "mine"), Bare())
    assert (run.state, run.measured["peak_memory_mb"]) == ("ok", None)
    assert run.marks.height == 1


def test_without_walls_a_program_is_given_no_variable_of_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODULEBENCH_DATABASE", "a-password")
    run = read(algorithm_folder(tmp_path / "mine", MARKS + "env"), Bare())
    assert run.state == "ok"
    assert "a-password" not in run.output
    assert f"PATH={os.environ['PATH']}\n" in run.output  # programs that were installed by the user


def test_without_walls_a_program_works_in_a_private_folder(tmp_path: Path) -> None:
    """In /tmp everybody could put a module that a Python program then imports."""
    (tmp_path / "mine").mkdir(mode=0o711)
    job = Job(("/bin/pwd",), (), limits_of(RunResources()), space=tmp_path / "mine")
    with Bare().start(job) as running:
        assert running.process.stdout is not None
        assert running.process.stdout.read().decode().strip() == str(tmp_path / "mine")


READS_MODEL = MARKS + "cat /opt/ml/model/file ./lib/current\n"


def algorithm_with_model(tmp_path: Path) -> tuple[Path, Path]:
    """An algorithm whose program prints a file of its model, and a folder that is not its own."""
    secret = tmp_path / "secret"
    (secret / "model").mkdir(parents=True)
    (secret / "model" / "file").write_text("the answers")
    folder = algorithm_folder(tmp_path / "mine", READS_MODEL, 'model = "w/model"')
    (folder / "w" / "model").mkdir(parents=True)
    (folder / "w" / "model" / "file").write_text("weights ")
    (folder / "lib").mkdir()
    (folder / "lib" / "x.1").write_text("version 1")
    (folder / "lib" / "current").symlink_to("../lib/x.1")
    return folder, secret


def exchange(place: Path, target: Path) -> None:
    place.rename(place.with_name("moved"))
    place.symlink_to(target)


def test_a_program_follows_links_that_stay_in_its_folder(tmp_path: Path) -> None:
    run = read(algorithm_with_model(tmp_path)[0])
    assert (run.state, run.output) == ("ok", "weights version 1")


@pytest.mark.parametrize("has_own_mounts", [True, False])
@pytest.mark.parametrize("exchanged", ["w", "w/model", "."])
def test_a_folder_that_became_a_link_after_it_was_checked_is_not_mounted(
    tmp_path: Path, exchanged: str, has_own_mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_own_mounts:
        monkeypatch.setattr(scratch, "_own_mounts", lambda: False)
    folder, secret = algorithm_with_model(tmp_path)
    algorithm = read_algorithm(folder)
    target = {"w": secret, "w/model": secret / "model", ".": tmp_path / "moved"}[exchanged]
    exchange(folder / exchanged, target)

    def work() -> None:
        with scratch_folder() as place, open_slot(algorithm, Bubblewrap(), place / "slot") as slot:
            slot.read(small_volume(), "case-1")

    with pytest.raises(OSError, match="has become a link, or is behind one, since it was checked"):
        in_own_thread(work)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has private mounts")
def test_what_was_checked_is_mounted_even_if_its_path_is_exchanged_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, secret = algorithm_with_model(tmp_path)
    mount = scratch._mount_again

    def exchange_first(source: Path, place: Path, name: Path) -> None:
        if name == folder / "w" / "model":
            exchange(folder / "w", secret)
        mount(source, place, name)

    monkeypatch.setattr(scratch, "_mount_again", exchange_first)
    run = read(folder)
    assert (folder / "w").is_symlink()
    assert (run.state, run.output) == ("ok", "weights version 1")


def test_a_sandbox_that_cannot_be_made_is_not_the_algorithm_s_fault(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine")

    def work() -> CaseRun:
        with slot_of(folder) as slot:
            job = slot.job()
            object.__setattr__(job, "folder", "/nowhere")
            slot.job = lambda: job  # type: ignore[method-assign]
            return slot.read(small_volume(), "case-1")

    with pytest.raises(OSError, match="bwrap: Can't chdir to /nowhere"):
        in_own_thread(work)


WRITES_ELSEWHERE = """
import os, sys
from pathlib import Path
import polars as pl
from nodulebench.runner.algorithms import read_algorithm
from nodulebench.runner.cases import open_slot_worker
from nodulebench.runner.slot import Slot
from builders.algorithms import small_volume
with open_slot_worker(read_algorithm(Path(sys.argv[1])), "bubblewrap") as worker:
    run = worker.do(lambda slot: slot.read(small_volume(), "case"))
os.chdir(sys.argv[2])
run.marks.write_csv("marks.csv")
print(run.state)
"""


@pytest.mark.slow
def test_mounts_and_folder_of_a_slot_stay_with_its_thread(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    folder = algorithm_folder(tmp_path / "mine")
    words = [sys.executable, "-c", WRITES_ELSEWHERE, str(folder), str(there)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    completed = subprocess.run(
        words, capture_output=True, text=True, check=True, env=env, cwd=tmp_path
    )
    assert completed.stdout == "ok\n"
    assert [path.name for path in there.iterdir()] == ["marks.csv"]
