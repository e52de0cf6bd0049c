"""A cache of expensive values; making one does not block access to others."""

from threading import Event, Thread

from nodulebench.web.portal.viewer_access.gateway import LruCache


def test_the_least_recently_used_value_is_dropped() -> None:
    held: LruCache[object] = LruCache(2)
    first, second = held.of("a", object), held.of("b", object)
    assert held.of("a", object) is first
    held.of("c", object)
    assert held.of("a", object) is first
    assert held.of("b", object) is not second


def test_two_threads_do_not_wait_and_share_the_first_value() -> None:
    held: LruCache[object] = LruCache(4)
    is_making, may_end, values = Event(), Event(), []

    def slowly() -> object:
        is_making.set()
        assert may_end.wait(600)
        return object()

    maker = Thread(target=lambda: values.append(held.of("a", slowly)))
    maker.start()
    assert is_making.wait(600)
    assert held.of("b", lambda: 1) == 1
    first = held.of("a", object)
    may_end.set()
    maker.join()
    assert values == [first]
