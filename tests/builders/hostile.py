"""Hostile algorithms, one small program each, and how their runs have to end."""

from dataclasses import dataclass, field

from builders.algorithms import MARKS

LEFT = "98765.4321"
"""Seconds that a process sleeps which must not be left: seen in lists of processes."""
_PYTHON = "#!/usr/bin/python3 -I\n"


@dataclass(frozen=True)
class Hostile:
    """A program, and what has to come of it."""

    program: str
    state: str
    exit_code: int | None = None
    """None: it was ended by others."""
    says_exit: bool = True
    """Whether its exit code is the same every time."""
    resources: dict[str, float] = field(default_factory=dict)
    code: str = ""
    """Code of the notice that names it, if there is one in addition to the state."""
    watched: str = ""
    """The state where ``/output`` is watched and no file system caps it, if it is another."""

    def is_contained(self, state: str, exit_code: int | None, *, is_capped: bool = True) -> bool:
        """Whether a run ended as it must."""
        if not is_capped and self.watched:
            return state == self.watched
        return state == self.state and (not self.says_exit or exit_code == self.exit_code)


HOSTILE = {
    "reaches for the network": Hostile(
        _PYTHON
        + """
import glob, socket, sys
ways = [(socket.AF_INET, ("127.0.0.1", 22)), (socket.AF_INET, ("127.0.0.1", 4743)),
        (socket.AF_INET6, ("::1", 22)), (socket.AF_UNIX, "/run/docker.sock"),
        (socket.AF_UNIX, "/var/run/dbus/system_bus_socket"), (socket.AF_INET, ("192.0.2.1", 9))]
for family, address in ways:
    kind = socket.SOCK_DGRAM if address == ("192.0.2.1", 9) else socket.SOCK_STREAM
    with socket.socket(family, kind) as client:
        try:
            client.connect(address)
        except OSError:
            continue
        sys.exit(99)
names = {line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line}
sys.exit(3 if names <= {"lo"} else 98)
""",
        "failed",
        3,
    ),
    "writes its input": Hostile('echo x > "$1/case.json" && exit 99; exit 3', "failed", 3),
    "writes its own files": Hostile("echo x >> ./run.sh && exit 99; exit 3", "failed", 3),
    "fork bomb": Hostile(
        "f() { f | f & }; f; sleep 60",
        "too_many_processes",
        resources={"timeout_s": 2, "memory_gb": 1},  # its error messages fill memory, too
        says_exit=False,  # the shell may give up by itself
    ),
    "eats memory in a child and says all is well": Hostile(
        _PYTHON
        + """
import os, sys
if os.fork() == 0:
    held = [bytearray(1 << 20) for _ in range(400)]
    os._exit(0)
os.wait()
open(sys.argv[2] + "/marks.csv", "w").write("seriesuid,coordX,coordY,coordZ,probability\\n")
""",
        "out_of_memory",
        says_exit=False,
    ),
    "hangs with a detached grandchild": Hostile(
        f"setsid sh -c 'sleep {LEFT}' & sleep {LEFT}", "timed_out", resources={"timeout_s": 0.5}
    ),
    "leaves a daemon": Hostile(
        MARKS + f"setsid sleep {LEFT} < /dev/null > /dev/null 2>&1 &", "ok", 0
    ),
    "leaves a daemon that holds its words": Hostile(MARKS + f"setsid sleep {LEFT} &", "ok", 0),
    "fills its output": Hostile(
        'dd if=/dev/zero of="$2/big" bs=1M count=64 2> /dev/null || exit 3; sleep 9',
        "failed",
        3,
        watched="output_invalid",
    ),
    "fills its output with names": Hostile(
        _PYTHON + "import os, sys\nfor number in range(2500): os.mkdir(f'{sys.argv[2]}/{number}')",
        "output_invalid",
        0,
        code="output_many_files",
    ),
    "fills /tmp": Hostile(
        "dd if=/dev/zero of=/tmp/big bs=1M count=256 2> /dev/null || exit 3", "failed", 3
    ),
    "leaves a link": Hostile(
        'ln -s /etc/shadow "$2/marks.csv"', "output_invalid", 0, code="output_no_file"
    ),
    "leaves a pipe": Hostile('mkfifo "$2/marks.csv"', "output_invalid", 0, code="output_no_file"),
    "writes nothing": Hostile("exit 0", "output_missing", 0),
    "writes rubbish": Hostile(
        'head -c 5000 /dev/urandom > "$2/marks.csv"', "output_invalid", 0, code="output_no_marks"
    ),
    "prints without end": Hostile("yes 'secret pixels'", "timed_out", resources={"timeout_s": 0.5}),
    "reads other cases and the machine's files": Hostile(
        "for place in /root /home /work /var /etc/passwd /etc/shadow /proc/1/root/root /mnt; do\n"
        'test -e "$place" && exit 99\ndone\n'
        'test "$(ls /input | tr "\\n" " ")" = "case.json ct.mhd ct.raw " || exit 98\n'
        "for place in /proc/[0-9]*; do n=$((n+1)); done; test $n -lt 6 || exit 97; exit 3",
        "failed",
        3,
    ),
    "reads the variables of every process": Hostile(
        "for file in /proc/[0-9]*/environ; do tr '\\0' '\\n' < \"$file\"; done 2> /dev/null |\n"
        "grep -vE '^(PATH|LANG|HOME|TMPDIR|CUDA_VISIBLE_DEVICES|PWD|HOSTNAME|TERM|container)=' |\n"
        "grep '=.' && exit 99; exit 3",
        "failed",
        3,
    ),
    "sends signals to everybody": Hostile(
        "kill -9 -1 $PPID 1 2> /dev/null; kill -9 -1 2> /dev/null; exit 3", "failed", 3
    ),
    "finds no right to anything": Hostile(
        "grep -q 'CapEff:.0000000000000000' /proc/self/status || exit 99\n"
        "unshare --user true 2> /dev/null && exit 98\n"
        "mount -t tmpfs none /tmp 2> /dev/null && exit 97\n"
        'case "$(id -u)" in 65534 | 1987654321) ;; *) exit 96 ;; esac\n'
        'test -z "$NODULEBENCH_KEY$SECRET_OF_OURS" || exit 95\nexit 3',
        "failed",
        3,
    ),
}
