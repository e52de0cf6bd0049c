"""Columns of one's own in a CSV file of marks: how they are named, and a guess where they are not.

Places are LPS millimetres, whatever the columns are called.
"""

from collections.abc import Sequence
from pathlib import Path

from nodulebench.core.errors import InputError, Problems, did_you_mean, refuse_any
from nodulebench.io.csv_dialect import simple_name

OWN_NAMES = {
    "case": "seriesuid",
    "x": "coordX",
    "y": "coordY",
    "z": "coordZ",
    "score": "probability",
    "diameter": "diameter_mm",
}
"""What a column of marks holds -> what LUNA16 calls it."""
NEEDED = ("case", "x", "y", "z")
_USUAL = {
    "case": (
        *("case", "caseid", "series", "seriesid", "seriesinstanceuid", "scan", "scanid"),
        *("study", "patient", "patientid", "image", "imageid", "filename", "file", "name", "id"),
    ),
    **{
        axis: (axis, f"{axis}mm", f"center{axis}", f"centre{axis}", f"pos{axis}", f"world{axis}")
        for axis in "xyz"
    },
    "score": ("score", "prob", "confidence", "conf", "p"),
}
"""Names that people give to columns, without signs and capitals."""


def parse_columns(text: str) -> dict[str, str]:
    """What each column is called in a file, from ``x=px,y=py,...`` or a TOML file of such pairs.

    Raises:
        InputError: with one problem for each pair that cannot be used, and for each that lacks.
    """
    source = "--columns"
    if text.endswith(".toml"):
        source, pairs = text, _pairs_of_file(Path(text))
    else:
        pairs = [tuple(part.strip() for part in one.split("=", 1)) for one in text.split(",")]
    problems, found = Problems(), {}
    for pair in pairs:
        if len(pair) != 2 or not all(pair):
            problems.add(source, f"'{'='.join(pair)}' is no pair.", "Write x=NAME,y=NAME,...")
        elif pair[0] not in OWN_NAMES:
            known = ", ".join(OWN_NAMES)
            hint = did_you_mean(pair[0], OWN_NAMES)
            problems.add(
                source, f"'{pair[0]}' is nothing that marks have.{hint}", f"Known: {known}."
            )
        else:
            found[pair[0]] = pair[1]
    for name in NEEDED if not problems else ():
        if name not in found:
            problems.add(source, f"does not say which column is {name}.", f"Add {name}=NAME.")
    refuse_any(problems)
    return found


def guessed_columns(header: Sequence[str]) -> str:
    """What ``--columns`` might be for a header, dots where nothing looks right."""
    simple = {simple_name(name): name for name in header}
    parts = []
    for ours, theirs in OWN_NAMES.items():
        usual = (simple_name(theirs), *_USUAL.get(ours, ()))
        name = next((simple[one] for one in usual if one in simple), "")
        if name or ours in (*NEEDED, "score"):
            parts.append(f"{ours}={name or '...'}")
    return ",".join(parts)


def _pairs_of_file(path: Path) -> list[tuple[str, ...]]:
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError.at(path, f"cannot be read as TOML: {error}.") from error
    return [(name, value if isinstance(value, str) else "") for name, value in content.items()]
