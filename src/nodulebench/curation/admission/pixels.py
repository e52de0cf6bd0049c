"""Series -> whether all of its pixels can be read."""

from collections.abc import Sequence

from nodulebench.core.notices import Notice
from nodulebench.curation.admission.image import Fault
from nodulebench.curation.admission.reasons import Reason, Subject


def unreadable(subject: Subject) -> Reason | None:
    """A file cannot be read: its header or its compressed pixels are damaged."""
    return _told([one for one in _faults(subject) if not one.is_truncated])


def truncated_pixels(subject: Subject) -> Reason | None:
    """A file ends before its pixels do."""
    return _told([one for one in _faults(subject) if one.is_truncated])


def _faults(subject: Subject) -> Sequence[Fault]:
    return () if subject.image is None else subject.image.faults


def _told(faults: Sequence[Fault]) -> Reason | None:
    if not faults:
        return None
    files = tuple(dict.fromkeys(one.path for one in faults))
    values = {"problem": faults[0].notice, "more": len(faults) - 1 or None}
    return Reason(Notice("slice_unread", values), files)
