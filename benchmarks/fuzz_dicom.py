"""Mutated DICOM -> the reader of admission, for a bounded time: no crash, no hang, no memory.

``python -m benchmarks.fuzz_dicom [SECONDS]``. Every input is read in this process: headers, then
all pixels. An input that raises, takes more than 10 s or 1 GB more memory is stored and reported.
"""

import resource
import signal
import sys
import tempfile
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import numpy as np
import pydicom
from pydicom.uid import ImplicitVRLittleEndian, RLELossless

from benchmarks.measure import DATA
from nodulebench.curation.admission_checks import Limits
from nodulebench.curation.examine import examine
from nodulebench.io.dicom.series import group_series
from nodulebench.io.dicom.slices import NoSlices, read_slices

SECONDS = 60.0
SECONDS_PER_INPUT = 10
MOST_GROWTH_MB = 1024
HEAD = 6000
"""Most mutations hit the header, which is in the first bytes."""


@dataclass
class Outcome:
    """What came of the inputs that were tried."""

    tried: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0


def main() -> None:
    """Fuzz for the time given and print what came of it."""
    seconds = float(sys.argv[-1]) if sys.argv[-1].replace(".", "").isdigit() else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        outcome = fuzz(seeds(Path(folder)), seconds, Path(folder) / "input.dcm", seed=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("| inputs tried | headers unreadable | excluded | admitted | failures | slowest | peak |")
    print("|---|---|---|---|---|---|---|")
    print(
        f"| {outcome.tried} | {outcome.kinds['damaged']} | {outcome.kinds['excluded']} | "
        f"{outcome.kinds['admitted']} | {len(outcome.failures)} | {outcome.slowest:.2f} s | "
        f"{peak:.0f} MB |"
    )
    for failure in outcome.failures:
        print(failure)
    if outcome.failures:
        sys.exit(1)


def seeds(folder: Path) -> list[bytes]:
    """A real slice in four encodings: JPEG 2000, plain explicit and implicit, RLE."""
    with zipfile.ZipFile(DATA / "ct" / "LIDC-IDRI-0001.zip") as packed:
        first = packed.read("LIDC-IDRI-0001/0060.dcm")
    path = folder / "seed.dcm"
    path.write_bytes(first)
    return [first, *encodings(path)]


def encodings(path: Path) -> list[bytes]:
    """A slice of 64 x 64 pixels in plain explicit, plain implicit and RLE encoding."""
    data = pydicom.dcmread(path)
    pixels = data.pixel_array[::8, ::8].copy()
    data.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    data.Rows, data.Columns = pixels.shape
    data.PixelData = pixels.astype("<i2").tobytes()
    data["PixelData"].is_undefined_length = False
    datasets = []
    for syntax in (pydicom.uid.ExplicitVRLittleEndian, ImplicitVRLittleEndian):
        data.file_meta.TransferSyntaxUID = syntax
        pydicom.dcmwrite(
            path, data, force_encoding=True, implicit_vr=syntax.is_implicit_VR, little_endian=True
        )
        datasets.append(path.read_bytes())
    data = pydicom.dcmread(path)
    data.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    data.compress(RLELossless)
    data.save_as(path)
    return [*datasets, path.read_bytes()]


def fuzz(inputs: list[bytes], seconds: float, place: Path, seed: int) -> Outcome:
    """Read mutated inputs until the time is over."""
    random = np.random.default_rng(seed)
    outcome = Outcome()
    signal.signal(signal.SIGALRM, _too_slow)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        content = mutated(inputs[int(random.integers(len(inputs)))], random)
        place.write_bytes(content)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.monotonic()
        signal.alarm(SECONDS_PER_INPUT)
        try:
            outcome.kinds[read(place)] += 1
        except Exception as error:
            _keep(outcome, content, f"{type(error).__name__}: {error}")
        finally:
            signal.alarm(0)
        outcome.tried += 1
        outcome.slowest = max(outcome.slowest, time.monotonic() - start)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        if grown > MOST_GROWTH_MB:
            _keep(outcome, content, f"{grown:.0f} MB more memory")
    return outcome


def read(place: Path) -> str:
    """Do with a file all that admission does."""
    slices = read_slices(place)
    if isinstance(slices, NoSlices):
        return "damaged"
    results = [examine(series, Limits(fewest_slices=2)) for series in group_series(slices)]
    return "excluded" if any(result.reasons for result in results) else "admitted"


def mutated(content: bytes, random: np.random.Generator) -> bytes:
    """Some bytes flipped, set, cut out, doubled or moved; mostly in the header."""
    data = bytearray(content)
    for _ in range(int(random.integers(1, 8))):
        reach = min(len(data), HEAD if random.random() < 0.8 else len(data))
        if reach < 16:
            break
        at = int(random.integers(0, reach))
        length = int(random.integers(1, 64))
        match int(random.integers(6)):
            case 0:
                data[at] ^= 1 << int(random.integers(8))
            case 1:
                data[at : at + length] = random.bytes(length)
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length]
            case 4:
                data[at : at + 4] = random.choice(
                    [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\x7f\0\0"]
                )
            case _:
                del data[int(random.integers(at, len(data))) :]
    return bytes(data)


def _too_slow(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS_PER_INPUT} s")


def _keep(outcome: Outcome, content: bytes, what: str) -> None:
    path = Path(tempfile.gettempdir()) / f"fuzz_dicom_{len(outcome.failures)}.dcm"
    path.write_bytes(content)
    outcome.failures.append(f"{path}: {what}")


if __name__ == "__main__":
    main()
