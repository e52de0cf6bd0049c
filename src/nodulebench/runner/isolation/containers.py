"""Programs in containers of podman or docker, below our own control group.

Neither pulls nor stores an image: podman runs an unpacked one directly from the disk, docker gets
its parts as mounts. Everything is read-only except ``/output`` and ``/tmp``.
"""

import hashlib
import io
import json
import os
import secrets
import shutil
import subprocess
import tarfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.io.folders import is_alive, owner
from nodulebench.runner.isolation.cgroups import (
    Group,
    kill_count,
    make_outer_group,
    remove_outer_group,
)
from nodulebench.runner.isolation.sandbox import (
    MIB,
    SERVICE_ID,
    Job,
    Usage,
    cards_of,
    close_streams,
    environment_of,
    machine_links,
    machine_parts,
)
from nodulebench.runner.isolation.system_calls import profile_of

LABEL = "nodulebench"
_MORE_MEMORY, _MORE_PROCESSES = 64 * MIB, 16
"""The container's own limits are above ours, so that ours apply first: the container's group
disappears with it, and so do its counters."""
_WITH_US = ("setpriv", "--pdeathsig=KILL", "--")
"""The client ends when we do; the next run removes the container."""
_STARTS_S, _ENDS_S, _ANSWERS_S, _POLL_S = 300.0, 30.0, 120.0, 0.003
_CANNOT_MAKE, _CANNOT_EXECUTE = 125, (126, 127)
_PERIOD_US = 100_000
_CLIENT_VARIABLES = (
    "PATH",
    "HOME",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
)
"""Variables that an engine's client needs to find its programs, settings and service."""
_RUNTIMES = (b"runc", b"crun", b"exe\n")


@dataclass
class Container:
    """A program in a container, and the client that controls it."""

    process: "subprocess.Popen[bytes]"
    words: list[str]
    """Command prefix of the engine."""
    environment: dict[str, str]
    name: str
    group: Group
    """Our group with the limits; the container's own group is below it."""
    kills: Callable[[], int]
    pids: int
    child: int = 0
    """The first process inside, by its number outside."""
    _refused_forks: int = 0
    _state: JsonObject | None = None
    _problem: str = ""

    def usage(self) -> Usage:
        whole = self.group.usage()
        for group in self._inside():  # kernels without a peak count refused processes there
            self._refused_forks = max(self._refused_forks, group.usage().refused_forks)
        over = int(self.group.most_processes() > self.pids)
        return replace(
            whole,
            memory_kills=self.kills(),
            refused_forks=max(whole.refused_forks, self._refused_forks, over),
            seconds=None if self._state is None else _seconds(self._state),
        )

    def kill(self) -> None:
        """Kill the container, read how it ended, and remove it.

        Raises:
            OSError: if the engine did not start it, or does not remove it.
        """
        if self._state is not None:
            return
        self.usage()
        for group in self._inside():
            group.kill()
        try:
            self.process.wait(_ENDS_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._state = self._inspected()
        _call([*self.words, "rm", "--force", self.name], self.environment)
        is_own = self.process.returncode in _CANNOT_EXECUTE
        if _moment(self._state, "StartedAt") is None and not is_own:
            problem = self._problem or self._state.get("Error") or "did not start it"
            raise OSError(f"{self.words[0]}: {problem}")

    def network_of(self) -> tuple[str, ...]:
        return ("nsenter", f"--target={self.child}", "--net", "--")

    def wait_until_started(self) -> None:
        deadline = time.monotonic() + _STARTS_S
        while (ended := _ended(self.process.pid)) is None:
            pids = {pid for group in self._inside() for pid in group.pids() if _is_program(pid)}
            if pids:
                self.child = min(pids)
                return
            if time.monotonic() > deadline:
                if any(group.pids() for group in self._inside()):
                    return  # its name is not known
                self._problem = "the container does not start"
                break
            time.sleep(_POLL_S)
        else:
            if ended != _CANNOT_MAKE:
                return  # it has already ended
            message = b"" if self.process.stderr is None else self.process.stderr.read(2000) or b""
            self._problem = message.decode(errors="replace").strip()
        self.kill()
        raise OSError(f"{self.words[0]}: {self._problem}")

    def _inside(self) -> list[Group]:
        return list(self.group.inner().values())

    def _inspected(self) -> JsonObject:
        asked = [*self.words, "inspect", "--format", "{{json .State}}", self.name]
        answer = _call(asked, self.environment)
        try:
            state = json.loads(answer.stdout) if answer.returncode == 0 else {}
        except ValueError:
            state = {}
        return state if isinstance(state, dict) else {}


class Engine(ABC):
    """What podman and docker have in common."""

    name: str
    package: str
    asks_version: tuple[str, ...]
    """Arguments that print its version, which is the last word of the output."""
    sees_our_mounts: bool

    def version(self) -> str:
        """Return the version of the engine.

        Raises:
            InputError: if it is not installed, or does not answer.
        """
        if shutil.which(self.name) is None:
            raise InputError.at(self.name, "is not installed.", f"Install {self.package}.")
        answer = _call([self.name, *self.asks_version], client_environment())
        words = answer.stdout.decode(errors="replace").split()
        if answer.returncode or not words:
            raise InputError.at(self.name, f"does not answer: {_last(answer)}")
        return f"{self.name} {words[-1]}"

    def fault(self, exit_code: int | None, output: str) -> str:  # noqa: ARG002
        """Return nothing: the failure of an engine is seen in the container's state."""
        return ""

    @abstractmethod
    def prepared(self, job: Job) -> "Prepared":
        """Return how to call the engine for a job."""

    @contextmanager
    def start(self, job: Job) -> Iterator[Container]:
        ready, name = self.prepared(job), f"{LABEL}-{owner()}-{secrets.token_hex(4)}"
        limits = job.limits
        # one more process, so that exceeding the limit is visible
        outer = make_outer_group(replace(limits, pids=limits.pids + 1, cpus=limits.cpus + 1))
        with ExitStack() as ending:
            ending.callback(remove_outer_group, outer)
            kills = ending.enter_context(kill_count(outer))
            words = [*_WITH_US, *ready.words, "run", "--name", name]
            words += run_words(job, outer.place)
            process = subprocess.Popen(  # noqa: S603 - in the container
                [*words, *ready.root, *job.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=ready.environment,
                cwd=job.space,  # conmon leaves a file where it is when memory runs out
                start_new_session=True,
                bufsize=0,
            )
            running = Container(
                process, ready.words, ready.environment, name, outer, kills, limits.pids
            )
            try:
                running.wait_until_started()
                yield running
            finally:
                running.kill()
                close_streams(process)


@dataclass(frozen=True, slots=True)
class Prepared:
    """How to call an engine for a job."""

    words: list[str]
    environment: dict[str, str]
    root: list[str]
    """Words that name the root file system, and mounts that belong to it."""


def client_environment() -> dict[str, str]:
    """Return those of our variables that an engine receives; it would pass on others."""
    return {name: os.environ[name] for name in _CLIENT_VARIABLES if name in os.environ}


def run_words(job: Job, group: str) -> list[str]:
    """Return the options for isolation and limits that both engines take."""
    limits = job.limits
    words = ["--interactive", "--pull=never", "--network=none", "--read-only", "--ipc=none"]
    words += ["--log-driver=none", "--hostname=case", f"--label={LABEL}={owner()}"]
    words += ["--cap-drop=all", "--security-opt=no-new-privileges", f"--user={_user()}"]
    memory, quota = limits.memory_bytes + _MORE_MEMORY, max(1000, int(limits.cpus * _PERIOD_US))
    words += [f"--memory={memory}", f"--memory-swap={memory}"]
    words += [f"--pids-limit={limits.pids + _MORE_PROCESSES}"]
    words += [f"--cpu-period={_PERIOD_US}", f"--cpu-quota={quota}"]
    words += ["--ulimit=nofile=16384:16384", "--ulimit=core=0:0"]
    words += [f"--cgroup-parent={group}", f"--workdir={job.folder}"]
    for path in ("/tmp", "/dev/shm"):  # noqa: S108 - those of the container
        words += ["--tmpfs", f"{path}:rw,exec,nosuid,nodev,mode=1777,size={limits.tmp_bytes}"]
    for name, value in environment_of(job).items():
        words += ["--env", f"{name}={value}"]
    for card in cards_of(limits.gpus):
        words.append(f"--device={card}")
    for mount in job.mounts:
        words += mounted(mount.source, mount.target, is_writable=mount.is_writable)
    return words


def mounted(source: Path | str, target: str, *, is_writable: bool = False) -> list[str]:
    if any(letter in f"{source}{target}" for letter in ',"\n'):
        what = "has a comma or a quotation mark in its path, which engines cannot mount."
        raise InputError.at(source, what, "Move it, or use --isolation bubblewrap.")
    kind = "" if is_writable else ",readonly"
    return ["--mount", f"type=bind,source={source},target={target}{kind}"]


def _user() -> str:
    """Return the user of a container: unprivileged outside, too, if root starts it."""
    if os.geteuid() == 0:
        return f"{SERVICE_ID}:{SERVICE_ID}"
    return f"{os.geteuid()}:{os.getegid()}"


def _ended(pid: int) -> int | None:
    """Return the exit code of a child without reaping it; None: it still runs."""
    result = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return None if result is None else result.si_status


def _is_program(pid: int) -> bool:
    """Whether a process is the first inside, and not the runtime that creates the container."""
    folder = Path(f"/proc/{pid}")
    try:
        name, status = ((folder / file).read_bytes() for file in ("comm", "status"))
    except OSError:
        return False
    numbers = next((line for line in status.splitlines() if line.startswith(b"NSpid:")), b"")
    return numbers.endswith(b"\t1") and not name.startswith(_RUNTIMES)


def _call(words: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(  # noqa: S603
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            check=False,
            timeout=_ANSWERS_S,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{words[0]} does not answer within {_ANSWERS_S:g} s") from error


def _last(answer: "subprocess.CompletedProcess[bytes]") -> str:
    lines = answer.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with {answer.returncode}"


def _seconds(state: JsonObject) -> float | None:
    began, ended = _moment(state, "StartedAt"), _moment(state, "FinishedAt")
    if began is None or ended is None:
        return None
    return max(0.0, (ended - began).total_seconds())


def _moment(state: JsonObject, name: str) -> datetime | None:
    """Return a time from an engine's state; year 1 means that it did not happen."""
    try:
        moment = datetime.fromisoformat(state[name])
    except (KeyError, ValueError, TypeError):
        return None
    return moment if moment.year > 1 else None


_IMAGE = "nodulebench-links"
_COVERED = ("proc", "dev", "sys", "tmp")
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")


class Docker(Engine):
    """Sandboxes with docker."""

    name = "docker"
    package = "the package docker.io, and start its service"
    asks_version = ("version", "--format={{.Server.Version}}")
    sees_our_mounts = False

    def __init__(self) -> None:
        self._images: dict[bytes, str] = {}
        self._lock = threading.Lock()

    def prepared(self, job: Job) -> Prepared:
        """Return an image that has the links of the root, and its folders as mounts."""
        if job.root is None:
            links, parts = machine_links(), {path: path for path in machine_parts()}
        else:
            links, parts = _parts(job.root, {mount.target for mount in job.mounts})
        own: list[str] = []
        for target, source in parts.items():
            own += mounted(source, target)
        for name in _PROXIES:  # otherwise its client adds those of the operator's settings
            own += ["--env", f"{name}=", "--env", f"{name.upper()}="]
        return Prepared([self.name], client_environment(), [*own, self._image(links)])

    def _image(self, links: dict[str, str]) -> str:
        """Return the image with these links; before the first one, remove leftover containers."""
        content = _archive(links)
        with self._lock:
            if not self._images:
                self._sweep()
            if content not in self._images:
                name = f"{_IMAGE}:{hashlib.sha256(content).hexdigest()[:16]}"
                self._ask("import", "-", name, given=content)
                self._images[content] = name
            return self._images[content]

    def _sweep(self) -> None:
        names = self._ask("ps", "--all", f"--filter=label={LABEL}", "--format={{.Names}}")
        for name in names.split():
            known = name.removeprefix(f"{LABEL}-").rpartition("-")[0]
            if not is_alive(known):
                self._ask("rm", "--force", name)

    def _ask(self, *words: str, given: bytes = b"") -> str:
        answer = subprocess.run(  # noqa: S603
            [self.name, *words],
            input=given,
            capture_output=True,
            check=False,
            env=client_environment(),
        )
        if answer.returncode:
            raise OSError(f"docker {words[0]}: {answer.stderr.decode(errors='replace').strip()}")
        return answer.stdout.decode(errors="replace")


def _parts(root: Path, targets: set[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the links at the top of an unpacked image, and its other entries as mounts."""
    links, parts = {}, {}
    for path in sorted(root.iterdir()):
        target = f"/{path.name}"
        if path.is_symlink():
            links[path.name] = str(path.readlink())
        elif path.name not in _COVERED and target not in targets:
            parts[target] = str(path)
    return links, parts


def _archive(links: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(folder)
        for name, target in sorted(links.items()):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
    return content.getvalue()


_SETTINGS = """[engine]
lock_type = "file"
events_logger = "none"
cgroup_manager = "cgroupfs"
static_dir = "{space}/static"
tmp_dir = "{space}/tmp"
volume_path = "{space}/volumes"
{runtime}
"""
_MOST_PROCESSES = 32768
_USUAL = Path("/usr/share/containers/seccomp.json")
_PROFILE = "seccomp.json"


class Podman(Engine):
    """Sandboxes with podman."""

    name = "podman"
    package = "the package podman"
    asks_version = ("--version",)
    sees_our_mounts = True

    def prepared(self, job: Job) -> Prepared:
        """Return a call with a private store, and the root file system on the disk."""
        if job.space is None:
            raise AssertionError("a slot has a space")
        space, root = job.space, job.root or job.space / "root"
        settings = space / "containers.conf"
        if not settings.exists():
            # with control groups of version 1, since crun does not support both versions mixed
            is_second = Path("/sys/fs/cgroup/cgroup.controllers").exists()
            runtime = "" if is_second else 'runtime = "runc"'
            if _USUAL.exists():  # without it, the self-test reports that calls are not filtered
                calls = profile_of(json.loads(_USUAL.read_bytes()))
                (space / _PROFILE).write_text(json.dumps(calls), encoding="utf-8")
            settings.write_text(_SETTINGS.format(space=space, runtime=runtime), encoding="utf-8")
        words = [self.name, "--root", f"{space}/store", "--runroot", f"{space}/r"]
        words += ["--storage-driver", "vfs"]
        own = ["--read-only-tmpfs=false", "--passwd=false", "--no-hosts", "--cgroups=no-conmon"]
        own.append("--http-proxy=false")
        own.append(_processes())
        profile = space / _PROFILE
        own += [f"--security-opt=seccomp={profile}"] if profile.exists() else []
        own += [] if os.geteuid() == 0 else ["--userns=keep-id"]
        if job.root is None:
            if not root.exists():
                root.mkdir(mode=0o755)
                (root / "tmp").mkdir()
                (root / "tmp").chmod(0o1777)
                for name, target in machine_links().items():
                    (root / name).symlink_to(target)
            for path in machine_parts():
                own += mounted(path, path)
        environment = {**client_environment(), "CONTAINERS_CONF": str(settings)}
        return Prepared(words, environment, [*own, "--rootfs", str(root)])


def _processes() -> str:
    """Return a limit on processes that we may set: podman's default needs full root rights."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    most = _MOST_PROCESSES if hard == resource.RLIM_INFINITY else min(hard, _MOST_PROCESSES)
    return f"--ulimit=nproc={most}:{most}"
