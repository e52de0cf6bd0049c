"""Sealed test set -> its reference in plain form, or a kept result, for those who may."""

from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError
from nodulebench.custody import layout
from nodulebench.custody.sealed_set import open_sealed, refuse_inside
from nodulebench.custody.stored_results import kept_file, shown_result, unsealed
from nodulebench.custody.withdrawal import withdrawn_since
from nodulebench.io.atomic import staged_folder
from nodulebench.security.vault import Secret


def export_reference(sealed: Path, secret: Secret, person: str, reason: str, out: Path) -> int:
    """Write the sealed tables of a set in plain form into a new folder; how many files.

    Raises:
        InputError: if the person may not, gives no reason, or the folder is not empty.
    """
    if not reason.strip():
        raise InputError.at("export", "has no reason.", "Say why in --reason; it is logged.")
    refuse_inside(out, sealed)
    opened = open_sealed(sealed, secret, person, "export")
    names = opened.secret_names
    with staged_folder(out, is_new=True) as stage:
        opened.record("exported", {"reason": reason.strip(), "files": len(names)})
        for name in names:
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_bytes(opened.plain(name))
    return len(names)


def open_result(sealed: Path, secret: Secret, person: str, look: int) -> dict[str, Any]:
    """The kept result of an evaluation, by the number of its look in the log.

    Raises:
        InputError: if there is none, it was changed, or the person may not.
    """
    opened = open_sealed(sealed, secret, person, "inspect")
    path, gone = kept_file(sealed, look), withdrawn_since(opened.events, look)
    if path is None and gone:
        what = f"was erased: it was made with {', '.join(gone)}, withdrawn since."
        raise InputError.at(str(sealed / layout.result_file(look)), what)
    if path is None:
        kept = sorted(one.name for one in (sealed / layout.RESULTS).glob(f"*{layout.SUFFIX}"))
        listed = ", ".join(str(int(name.partition(".")[0])) for name in kept) or "none"
        where = str(sealed / layout.result_file(look))
        raise InputError.at(where, "is not there.", f"Kept looks: {listed}.")
    opened.record("inspected", {"look": look})
    shown = shown_result(unsealed(opened, path, path.read_bytes()))
    return {**shown, "withdrawn_since": list(gone)} if gone else shown
