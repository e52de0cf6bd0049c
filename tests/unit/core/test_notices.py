import json

from nodulebench.core.notices import Notice, read_notice


def test_a_notice_comes_back_from_json_as_it_was() -> None:
    notice = Notice("marks_outside", {"count": 3, "first": ["a", "b"]})
    assert read_notice(json.loads(json.dumps(notice.to_json()))) == notice


def test_equal_notices_are_found_once() -> None:
    assert len({Notice("a", {"n": 1}), Notice("a", {"n": 1}), Notice("a", {"n": 2})}) == 2
