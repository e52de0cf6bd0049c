"""Identities planted into CT slices -> which of them survive de-identification: none may.

``python -m benchmarks.red_team [SEED]``. Every place gets a made-up name and another number. A
slice that is written is searched for them, byte by byte and number by number, and checked by
``deidentify --check``; its image has to be that of the slice without them.
"""

import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pydicom

from benchmarks.red_team_pictures import STYLES, TextStyle, drawn
from benchmarks.red_team_places import (
    Place,
    Secret,
    body,
    changed,
    content_of,
    other_objects,
    places,
    plain_slice,
)
from nodulebench.curation.deidentify.identity import Pseudonyms
from nodulebench.curation.deidentify.service import check_file, deidentify_file

GONE, LEFT_OUT, SURVIVED = "gone", "slice left out", "survived"
PICTURE_SIDE = 512
KEYED = Pseudonyms(bytes(range(32)))


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What became of a planted identity."""

    group: str
    name: str
    outcome: str
    code: str = ""
    """Why a slice was left out."""


def main() -> None:
    """Plant everything and print what came of it."""
    seed = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 1
    attacks = list(run(seed))
    print_table(attacks)
    if any(attack.outcome == SURVIVED for attack in attacks):
        sys.exit(1)


def run(seed: int, *, side: int = PICTURE_SIDE) -> Iterator[AttackResult]:
    """Plant an identity in every place, one slice each.

    Args:
        seed: of the made-up names and numbers.
        side: of the pictures that text is drawn into.
    """
    random = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place in all_places(side):
            letters = "".join(random.choice(list("BCDFGHJKLMNPQRSTVWXZ"), 9))
            secret = Secret(letters, str(random.integers(2_000_000, 9_999_999)))
            yield tried(place, secret, folder)


def all_places(side: int) -> Iterator[Place]:
    """Headers, pixels, objects of other kinds, names, and styles of burned-in text."""
    yield from places()
    for name, plant in other_objects():
        yield Place("an object of another kind", name, plant)
    yield Place("names", "name of the file", lambda data, _: content_of(data))
    yield Place("names", "name of the folder", lambda data, _: content_of(data))
    picture = body(side)
    for name, style in STYLES.items():

        def draw(data: pydicom.Dataset, _: Secret, style: TextStyle = style) -> None:
            data.Rows = data.Columns = side
            data.PixelData = drawn(picture, 1, -1024, style).tobytes()

        yield Place("burned into the picture", name, changed(draw))


def tried(place: Place, secret: Secret, folder: Path) -> AttackResult:
    """Plant one identity, de-identify the slice, and look for it in what is written."""
    source = folder / secret.word / f"{secret.word}.dcm"
    source.parent.mkdir()
    source.write_bytes(place.plant(plain_slice(), secret))
    outcome = deidentify_file(source, folder / "out", KEYED)
    if outcome.refused is not None:
        return AttackResult(place.group, place.name, LEFT_OUT, outcome.refused.code)
    written = folder / "out" / outcome.written
    content, picture = written.read_bytes(), plain_slice().PixelData
    header = content.removesuffix(picture).lower()  # pixels contain any number by chance
    has_needle = any(needle in header for needle in needles(secret))
    has_needle |= secret.word.lower() in outcome.written.lower() or secret.number in outcome.written
    has_needle |= picture_of(content) != picture
    has_needle |= bool(check_file(written))
    return AttackResult(place.group, place.name, SURVIVED if has_needle else GONE)


def picture_of(content: bytes) -> bytes:
    """The picture in a file."""
    held: bytes = pydicom.dcmread(pydicom.filebase.DicomBytesIO(content)).PixelData
    return held


def needles(secret: Secret) -> Iterator[bytes]:
    """What a secret can look like in a file, in small letters."""
    number = int(secret.number)
    for text in (secret.word.lower(), secret.number):
        yield text.encode()
        yield text.encode("utf-16-le")
        yield text[::-1].encode()
    yield struct.pack("<L", number).lower()
    yield struct.pack("<d", float(number)).lower()
    yield b"19480229"


def print_table(attacks: list[AttackResult]) -> None:
    """What became of all that was planted, by group."""
    print(f"| planted in | places | {GONE} | {LEFT_OUT} | {SURVIVED} |")
    print("|---|---|---|---|---|")
    groups = list(dict.fromkeys(attack.group for attack in attacks))
    for group in [*groups, ""]:
        chosen = [attack for attack in attacks if group in ("", attack.group)]
        count = Counter(attack.outcome for attack in chosen)
        cells = [str(count[outcome]) for outcome in (GONE, LEFT_OUT, SURVIVED)]
        print(f"| {group or 'all'} | {len(chosen)} | {' | '.join(cells)} |")
    for attack in attacks:
        if attack.outcome == SURVIVED:
            print(f"\nsurvived: {attack.group}: {attack.name}")


if __name__ == "__main__":
    main()
