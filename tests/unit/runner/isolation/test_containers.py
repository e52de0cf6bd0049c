"""Containers by podman and docker: the same walls, images as they are, and nothing left behind."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from builders.algorithms import (
    MARKS,
    algorithm_folder,
    needs_bubblewrap,
    needs_engine,
    small_volume,
)
from builders.hostile import HOSTILE
from builders.images import DETECT, MANIFEST, archive, layer, layers, needs_busybox, oci
from nodulebench.core.errors import InputError
from nodulebench.runner.algorithms import read_algorithm, unpacked
from nodulebench.runner.isolation.bubblewrap import Bubblewrap
from nodulebench.runner.isolation.cgroups import TREE, make_outer_group, remove_outer_group
from nodulebench.runner.isolation.containers import (
    Docker,
    Engine,
    Podman,
    _call,
    _parts,
    _seconds,
    mounted,
    run_words,
)
from nodulebench.runner.isolation.sandbox import MIB, Isolation, Job, Limits, Mount
from nodulebench.runner.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.runner.isolation.self_test import (
    PROTECTIONS,
    SelfTest,
    choose_isolation,
    self_test,
)
from nodulebench.runner.slot import CaseRun, open_slot

LIMITS = Limits(cpus=1.5, memory_bytes=64 * MIB, pids=24, output_bytes=4 * MIB)
ENGINES = [
    pytest.param(Podman, marks=needs_engine("podman"), id="podman"),
    pytest.param(Docker, marks=needs_engine("docker"), id="docker"),
]
FEW = ["eats memory in a child and says all is well", *random.Random(15).sample(sorted(HOSTILE), 2)]
"""All of them in every sandbox: ``python -m benchmarks run_isolated hostile``."""


@cache
def tried(engine: type[Engine]) -> SelfTest:
    with scratch_folder() as place:
        return in_own_thread(lambda: self_test(engine(), place / "self-test"))


def starts(isolation: type[Isolation]) -> type[Isolation]:
    """An engine in which no program starts on this machine is skipped; a broken wall is not."""
    if issubclass(isolation, Engine) and (problem := tried(isolation).problem):
        pytest.skip(f"{isolation.name} runs no program here: {problem}")
    return isolation


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> type[Engine]:
    starts(request.param)
    return request.param  # type: ignore[no-any-return]


def read(folder: Path, isolation: Isolation) -> CaseRun:
    def work() -> CaseRun:
        with scratch_folder() as place:
            whole = unpacked(read_algorithm(folder), place)
            with open_slot(whole, isolation, place / "slot") as slot:
                return slot.read(small_volume(), "case-1")

    return in_own_thread(work)


def left_groups() -> list[str]:
    return [str(path) for path in TREE.rglob(f"nodulebench-{os.getpid()}-*")]


def test_every_wall_and_limit_is_a_word_for_the_engine(tmp_path: Path) -> None:
    mounts = (Mount(tmp_path, "/input"), Mount(tmp_path, "/output", is_writable=True))
    words = run_words(Job(("./x",), mounts, LIMITS), "/ours")
    for word in (
        "--network=none",
        "--read-only",
        "--cap-drop=all",
        "--security-opt=no-new-privileges",
        "--pull=never",
        "--log-driver=none",
        "--cgroup-parent=/ours",
        f"--memory={128 * MIB}",  # above those of our own group, which are met first
        f"--memory-swap={128 * MIB}",
        "--pids-limit=40",
        "--cpu-quota=150000",
        f"type=bind,source={tmp_path},target=/input,readonly",
        f"type=bind,source={tmp_path},target=/output",
        f"/tmp:rw,exec,nosuid,nodev,mode=1777,size={32 * MIB}",  # noqa: S108
        f"/dev/shm:rw,exec,nosuid,nodev,mode=1777,size={32 * MIB}",  # noqa: S108
    ):
        assert words.count(word) == 1, word


@pytest.mark.parametrize("engine", [Podman, Docker])
def test_an_engine_is_given_no_variable_that_it_could_hand_on(
    engine: type[Engine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Docker, "_image", lambda *_: "image")
    for name in ("HTTP_PROXY", "http_proxy", "DOCKER_PASSWORD", "LANG"):
        monkeypatch.setenv(name, "a-password")
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/mine.sock")
    ready = engine().prepared(Job(("./x",), (), LIMITS, space=tmp_path))
    assert "a-password" not in ready.environment.values()
    assert ready.environment["DOCKER_HOST"] == "unix:///run/mine.sock"
    stops_proxies = {Podman: ["--http-proxy=false"], Docker: ["http_proxy=", "HTTPS_PROXY="]}
    assert set(stops_proxies[engine]) <= set(ready.root)


def test_a_path_that_an_engine_would_take_apart_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has a comma or a quotation mark"):
        mounted(tmp_path / "a,readonly=false", "/input")


def test_of_an_image_links_are_links_and_the_rest_is_mounted(tmp_path: Path) -> None:
    for name in ("usr", "opt", "proc", "tmp", "input"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin").symlink_to("usr/bin")
    links, parts = _parts(tmp_path, {"/input"})
    assert links == {"bin": "usr/bin"}
    assert parts == {"/opt": f"{tmp_path}/opt", "/usr": f"{tmp_path}/usr"}


@pytest.mark.parametrize(
    ("began", "ended", "seconds"),
    [
        ("2026-11-16T09:20:17.074436389Z", "2026-11-16T09:20:18.574436999Z", 1.5),
        ("2026-11-16T10:20:17.25+01:00", "2026-11-16T09:20:18Z", 0.75),
        ("2026-11-16T09:20:17Z", "0001-01-01T00:00:00Z", None),  # it still runs
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", None),  # it never did
        ("2026-11-16T09:20:17Z", None, None),
    ],
)
def test_an_engine_s_clock_is_read(began: str, ended: str | None, seconds: float | None) -> None:
    elapsed = _seconds({"StartedAt": began, "FinishedAt": ended})
    assert elapsed == (None if seconds is None else pytest.approx(seconds, abs=1e-5))


def test_an_engine_that_does_not_answer_is_our_machine_s_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def waits(words: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(words, 1)

    monkeypatch.setattr(subprocess, "run", waits)
    with pytest.raises(OSError, match="podman does not answer"):
        _call(["podman", "rm"], {})


@pytest.mark.parametrize("engine", [Podman, Docker])
def test_a_machine_without_the_engine_says_what_to_install(
    engine: type[Engine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=rf"is not installed\. Install the package {engine.name}"):
        choose_isolation(engine.name, tmp_path)


@pytest.mark.slow
def test_every_wall_of_an_engine_holds(engine: type[Engine]) -> None:
    with scratch_folder() as place:
        _, tested = choose_isolation(engine.name, place)
    assert tested is not None
    assert tested.broken == ()
    assert set(tested.holds) == set(PROTECTIONS)
    assert tested.version.startswith(engine.name)
    assert left_groups() == []


@pytest.mark.parametrize("name", FEW)
def test_a_hostile_program_is_contained(
    tmp_path: Path, name: str, engine: type[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile, here = HOSTILE[name], tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    folder = algorithm_folder(tmp_path / "mine", hostile.program, **hostile.resources)
    run = read(folder, engine())
    assert not list(here.iterdir())
    code, is_capped = run.measured["exit_code"], engine.sees_our_mounts
    assert hostile.is_contained(run.state, code, is_capped=is_capped), (run.state, code, run.output)
    assert left_groups() == []


@needs_busybox
@pytest.mark.parametrize(
    "isolation",
    [pytest.param(Bubblewrap, marks=needs_bubblewrap, id="no engine"), *ENGINES],
)
def test_an_image_of_grand_challenge_runs_as_it_is(
    tmp_path: Path, isolation: type[Isolation]
) -> None:
    files, digest = oci(layers())
    folder = tmp_path / "mine"
    archive(files, folder / "image.tar", "gzip")
    (folder / "algorithm.toml").write_text(MANIFEST.format(digest=digest))
    run = read(folder, starts(isolation)())
    assert (run.state, run.measured["exit_code"]) == ("ok", 0), run.output
    assert run.marks.select("x_mm", "score").rows() == [(1.0, 0.5)]


def image_with_model(folder: Path, files: dict[str, bytes], digest: str) -> Path:
    """A folder with an image archive and a model."""
    archive(files, folder / "image.tar")
    manifest = MANIFEST.format(digest=digest).replace("[run]", '[run]\nmodel = "w"')
    (folder / "algorithm.toml").write_text(manifest)
    (folder / "w").mkdir()
    (folder / "w" / "w").write_text("model")
    return folder


LINKED = {
    "relative": {"input": "data/in", "output": "data/out", "opt/ml": "../usr/ml"},
    "absolute": {"input": "/data/in", "output": "/data/out", "opt/ml": "/usr/ml"},
    "above": {"input": "../../data/in", "output": "/../data/out", "opt/ml": "../../../usr/ml"},
    "of bubblewrap": {"input": "/oldroot/in", "output": "/oldroot/out", "opt/ml": "/newroot/ml"},
    "system": {"tmp": "/data", "proc": "/data", "dev": "../..", "sys": "."},
}
"""Links of an image in the paths of its mount points."""


@needs_busybox
@pytest.mark.parametrize("links", LINKED)
@pytest.mark.parametrize(
    "isolation",
    [pytest.param(Bubblewrap, marks=needs_bubblewrap, id="no engine"), *ENGINES],
)
def test_mounts_follow_no_link_of_an_image_out_of_it(
    tmp_path: Path, isolation: type[Isolation], links: str
) -> None:
    program = DETECT.replace("\n", '\ntest "$(cat /opt/ml/model/w)" = model || exit 4\n', 1)
    change = {"opt/app/detect.sh": program.encode(), **LINKED[links]}
    files, digest = oci([*layers(), layer(change)])
    run = read(image_with_model(tmp_path / "mine", files, digest), starts(isolation)())
    assert (run.state, run.measured["exit_code"]) == ("ok", 0), run.output
    assert run.marks.height == 1


@needs_busybox
@needs_bubblewrap
def test_bubblewrap_makes_no_folder_where_a_link_of_an_image_leads(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as outside:
        Path(outside).chmod(0o777)
        files, digest = oci([*layers(), layer({"opt/ml": f"/oldroot{outside}"})])
        read(image_with_model(tmp_path / "mine", files, digest), Bubblewrap())
        assert list(Path(outside).iterdir()) == []


SHOWS_PROCESSES = """
for file in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do
  { tr '\\0' '\\n' < "$file"; echo; } 2> /dev/null
done
env
"""


@pytest.mark.parametrize(
    "isolation",
    [pytest.param(Bubblewrap, marks=needs_bubblewrap, id="bubblewrap"), *ENGINES],
)
def test_a_program_reads_no_variable_and_no_path_of_the_operator(
    tmp_path: Path, isolation: type[Isolation], monkeypatch: pytest.MonkeyPatch
) -> None:
    starts(isolation)
    secret = "a-password-of-the-operator"  # noqa: S105
    for name in ("NODULEBENCH_DATABASE", "HTTP_PROXY", "https_proxy", "container_x", "LS_COLORS"):
        monkeypatch.setenv(name, f"{secret}-{name}")
    here = tmp_path / "folder-of-the-operator"
    here.mkdir()
    monkeypatch.chdir(here)
    run = read(algorithm_folder(here / "mine", MARKS + SHOWS_PROCESSES), isolation())
    assert run.state == "ok"
    assert "HOME=/tmp" in run.output
    assert secret not in run.output
    assert "nodulebench" not in run.output  # of the folder for the sandbox's files
    assert "folder-of-the-operator" not in run.output


def test_a_program_that_cannot_be_executed_is_its_own_fault(
    tmp_path: Path, engine: type[Engine]
) -> None:
    run = read(algorithm_folder(tmp_path / "mine", "#!/usr/bin/nothing"), engine())
    assert run.state == "failed"
    assert run.measured["exit_code"] in (1, 127)


def test_a_container_that_cannot_be_made_is_not_the_algorithm_s_fault(
    tmp_path: Path, engine: type[Engine]
) -> None:
    def work() -> None:
        with scratch_folder() as space:
            job = Job(("/bin/true",), (Mount(tmp_path / "gone", "/x"),), LIMITS, space=space)
            with engine().start(job):
                pass

    with pytest.raises(OSError, match="gone"):
        in_own_thread(work)
    assert left_groups() == []


KILLED = """
import sys, time
from pathlib import Path
from nodulebench.runner.isolation.self_test import ISOLATIONS
from nodulebench.runner.isolation.sandbox import Job, Limits, MIB
job = Job(("/bin/sleep", "98765"), (), Limits(1.0, 64 * MIB, 24, MIB), space=Path(sys.argv[2]))
with ISOLATIONS[sys.argv[1]]().start(job) as running:
    print(running.child, flush=True)
    time.sleep(60)
"""


def test_what_a_killed_run_left_is_ended_by_the_next(engine: type[Engine]) -> None:
    with scratch_folder() as space:
        words = [sys.executable, "-c", KILLED, engine.name, str(space)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as runner:
            assert runner.stdout is not None
            inside = Path("/proc") / runner.stdout.readline().decode().strip()
            runner.send_signal(signal.SIGKILL)
        assert (inside / "comm").read_text() == "sleep\n"
        remove_outer_group(make_outer_group(LIMITS))
        if engine is Docker:
            Docker()._sweep()
    assert not inside.exists()
    assert not list(TREE.rglob(f"nodulebench-{runner.pid}-*"))
    assert f"--label=nodulebench={runner.pid}-" not in _processes()
    if engine is Docker:
        words = [shutil.which("docker") or "", "ps", "--all", "--format={{.Names}}"]
        completed = subprocess.run(words, capture_output=True, check=True)
        assert f"nodulebench-{runner.pid}-".encode() not in completed.stdout


def _processes() -> str:
    names = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            names.append(path.read_text(errors="replace"))
    return "\n".join(names)
