"""A PostgreSQL server on loopback, of Debian's package, for as long as it is needed."""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any


def programs() -> Path | None:
    """Where PostgreSQL's programs are; None: it is not installed."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return homes[-1].parent if homes else None


def free_port() -> int:
    """A free port of loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@dataclass(frozen=True)
class Server:
    """A server that can be killed and started again."""

    folder: Path
    port: int
    bin: Path
    is_durable: bool
    as_user: dict[str, Any]

    @property
    def address(self) -> str:
        """Where it answers, without a database."""
        return f"postgresql://portal@127.0.0.1:{self.port}"

    def new_database(self) -> str:
        """The address of an empty database."""
        import psycopg

        name = f"t{token_hex(6)}"
        with psycopg.connect(f"{self.address}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"{self.address}/{name}"

    def start(self) -> None:
        """Begin, or go on after a kill."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -k {self.folder}"
        if not self.is_durable:
            options += " -c fsync=off"
        self._control("-o", options, "-l", str(self.folder / "log"), "start")

    def stop(self) -> None:
        """End at once."""
        self._control("-m", "immediate", "stop")

    def kill(self) -> None:
        """SIGKILL of the server and all its processes, as when the machine ends them."""
        head = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{head}/task/{head}/children").read_text().split()
        for process in (head, *map(int, children)):
            try:
                os.kill(process, 9)
            except ProcessLookupError:
                continue
        for process in (head, *map(int, children)):
            while _lives(process):
                pass
        # a zombie counts as running when the next server checks these files
        for claim in ("data/postmaster.pid", f".s.PGSQL.{self.port}.lock"):
            (self.folder / claim).unlink()

    def _control(self, *words: str) -> None:
        command = [self.bin / "pg_ctl", "-D", self.folder / "data", "-w", *words]
        self.run(command)

    def run(self, command: list[Any]) -> None:
        """Run one of its programs as whom it wants to be run."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, cwd=self.folder, **quiet, **self.as_user)


@contextmanager
def postgres_server(*, is_durable: bool = False) -> Iterator[Server]:
    """A separate server, which waits for the disk only if it is asked to."""
    binaries = programs()
    assert binaries is not None, "PostgreSQL is not installed (Debian: postgresql)"
    folder = Path("/tmp") / f"nodulebench-pg-{token_hex(4)}"  # noqa: S108 - sockets want short names
    folder.mkdir(mode=0o755)
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    server = Server(folder, free_port(), binaries, is_durable, as_user)
    init = ["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=portal"]
    server.run([binaries / "initdb", *init, "-D", folder / "data"])
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _lives(process: int) -> bool:
    """Whether a process still runs; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
