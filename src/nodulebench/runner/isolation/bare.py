"""Programs as they are, for whoever writes one: no wall, no limit but time."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from nodulebench.core.errors import InputError
from nodulebench.runner.isolation.inside import environment_of
from nodulebench.runner.isolation.sandbox import Job, Usage, close_streams


@dataclass
class BareRunning:
    """A program without a sandbox."""

    process: "subprocess.Popen[bytes]"

    def usage(self) -> Usage:
        """Nobody measures."""
        return Usage()

    def kill(self) -> None:
        """End it and its group; what left the group goes on."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def network_of(self) -> tuple[str, ...]:
        """It has that of this machine."""
        return ()


class Bare:
    """No isolation at all."""

    name = "none"
    sees_our_mounts = True

    def version(self) -> str:
        """There is nothing that has one."""
        return ""

    def fault(self, exit_code: int | None, said: str) -> str:  # noqa: ARG002
        """There is no sandbox that could fail."""
        return ""

    @contextmanager
    def start(self, job: Job) -> Iterator[BareRunning]:
        """Start a program where it lies; arguments that name a mount name its folder instead."""
        if job.root is not None:
            raise InputError.at("isolation 'none'", "cannot run an image.", "Use bubblewrap.")
        places = {mount.target: str(mount.source) for mount in job.mounts}
        process = subprocess.Popen(  # noqa: S603 - asked for by name
            [places.get(word, word) for word in job.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=places.get(job.folder, job.folder),
            env={**environment_of(job), "PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
            bufsize=0,
        )
        running = BareRunning(process)
        try:
            yield running
        finally:
            running.kill()
            close_streams(process)
