"""Separate program that tries what a hostile program would try, and prints the outcome as JSON.

Needs only Python. Arguments: what to try, then the addresses that the tester listens on.
"""

import json
import os
import socket
import sys
import time

FORKS = 40
NEW_USERS = 0x10000000
CHUNK = b"x" * (1 << 20)


def _connects(family: int, address: object, kind: int = socket.SOCK_STREAM) -> bool:
    try:
        with socket.socket(family, kind) as client:
            client.settimeout(0.5)
            client.connect(address)  # type: ignore[arg-type]
            return True
    except OSError:
        return False


def _writes(path: str) -> bool:
    try:
        with open(path, "wb") as file:  # noqa: PTH123 - starts sooner without
            file.write(b"x")
    except OSError:
        return False
    return True


def _reads(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return bool(file.read(1)) or True
    except OSError:
        return False


def _fills(path: str, most: int) -> bool:
    """Whether more than ``most`` bytes can be written."""
    written = 0
    try:
        with open(path, "wb", buffering=0) as file:  # noqa: PTH123
            while written <= most:
                written += file.write(CHUNK)
    except OSError:
        return False
    finally:
        if os.path.exists(path):  # noqa: PTH110
            os.unlink(path)  # noqa: PTH108
    return True


def _forks() -> int:
    started = []
    try:
        for _ in range(FORKS):
            pid = os.fork()
            if pid == 0:
                time.sleep(30)
                os._exit(0)
            started.append(pid)
    except OSError:
        pass
    for pid in started:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return len(started)


def _makes_spaces() -> bool:
    """Whether it can become root in a new namespace, as in many known escapes."""
    import ctypes

    return bool(ctypes.CDLL(None).unshare(NEW_USERS) == 0)


def _rights() -> "list[str]":
    """Return the fields of the process status that show rights it should not have."""
    wanted = {"CapEff": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}
    with open("/proc/self/status", encoding="utf-8") as file:  # noqa: PTH123
        status = dict(line.split(":", 1) for line in file if ":" in line)
    return [name for name, value in wanted.items() if status.get(name, "").strip() != value]


def _seen_of_others(allowed: "list[str]", folder: str) -> "list[str]":
    """Return names of variables that are not ours, and arguments of others that name a folder.

    Both are searched in all visible processes.
    """
    seen = []
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        for variable in _entries(f"/proc/{pid}/environ"):
            name, _, value = variable.partition("=")
            if value and variable not in allowed and name not in allowed:
                seen.append(name)
        words = _entries(f"/proc/{pid}/cmdline")
        seen += [word for word in words if folder in word and word not in sys.orig_argv]
    return sorted(set(seen))


def _entries(path: str) -> "list[str]":
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return os.fsdecode(file.read()).split("\0")
    except OSError:
        return []


def reach(given: dict[str, object]) -> dict[str, object]:
    """Try all attacks that end by themselves."""
    lo4, lo6 = given["lo4"], given["lo6"]
    output, most = str(given["output"]), given["output_bytes"]
    return {
        "tcp4": _connects(socket.AF_INET, ("127.0.0.1", lo4)),
        "tcp6": _connects(socket.AF_INET6, ("::1", lo6)),
        "route": _connects(socket.AF_INET, ("192.0.2.1", 9), socket.SOCK_DGRAM),
        "abstract": _connects(socket.AF_UNIX, "\0" + str(given["abstract"])),
        "socket_file": _connects(socket.AF_UNIX, given["socket_file"]),
        "writes_input": _writes(f"{given['input']}/probe"),
        "writes_system": any(map(_writes, ("/probe", "/usr/probe", "/etc/probe"))),
        "reads_host": _reads(str(given["host_file"])),
        "sees_processes": len([entry for entry in os.listdir("/proc") if entry.isdigit()]) > 8,  # noqa: PTH208
        "sees_of_others": _seen_of_others(given["environment"], str(given["host_folder"])),  # type: ignore[arg-type]
        "fills_output": most is not None and _fills(f"{output}/probe", int(str(most))),
        "fills_tmp": _fills("/tmp/probe", int(str(given["tmp_bytes"]))),  # noqa: S108
        "writes_output": _writes(f"{output}/probe"),
        "forks": _forks(),
        "makes_spaces": _makes_spaces(),
        "rights": _rights(),
    }


def eat(megabytes: int) -> None:
    """Use memory in a child, and end normally."""
    pid = os.fork()
    if pid == 0:
        held = [bytearray(CHUNK) for _ in range(megabytes)]
        os._exit(0 if held else 1)
    os.waitpid(pid, 0)


def fill(path: str, most: int) -> None:
    """Write more than ``most`` bytes, and wait."""
    with open(path, "wb", buffering=0) as file:  # noqa: PTH123
        for _ in range(most // len(CHUNK) + 2):
            file.write(CHUNK)
    time.sleep(20)


def hang() -> None:
    """Leave a detached grandchild behind, and never end."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    time.sleep(600)


if __name__ == "__main__":
    if sys.argv[1] == "reach":
        sys.stdout.write(json.dumps(reach(json.loads(sys.argv[2]))))
    elif sys.argv[1] == "eat":
        eat(int(sys.argv[2]))
    elif sys.argv[1] == "fill":
        fill(sys.argv[2], int(sys.argv[3]))
    else:
        hang()
