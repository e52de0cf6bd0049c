import pytest

from builders.annotation import SHARED, Desk
from nodulebench.annotate.process.events import check_chain
from nodulebench.errors import InputError


def test_an_event_that_does_not_follow_is_found(desk: Desk) -> None:
    desk.opens()
    desk.reads("r1", SHARED)
    first, second = desk.store.read()
    with pytest.raises(InputError, match=r"^event 2: does not follow from event 1: one of the two"):
        check_chain([first.model_copy(update={"change": "other"}), second])
