"""What is dear to make is held; who makes something keeps nobody else from what is there."""

from threading import Event, Thread

from nodulebench.web.portal.viewer_access.gateway import LruCache


def test_of_many_the_longest_unused_goes() -> None:
    held: LruCache[object] = LruCache(2)
    first, second = held.of("a", object), held.of("b", object)
    assert held.of("a", object) is first
    held.of("c", object)
    assert held.of("a", object) is first
    assert held.of("b", object) is not second


def test_nobody_waits_for_what_another_makes_and_of_two_all_have_the_first() -> None:
    held: LruCache[object] = LruCache(4)
    is_making, may_end, found = Event(), Event(), []

    def slowly() -> object:
        is_making.set()
        assert may_end.wait(600)
        return object()

    maker = Thread(target=lambda: found.append(held.of("a", slowly)))
    maker.start()
    assert is_making.wait(600)
    assert held.of("b", lambda: 1) == 1
    first = held.of("a", object)
    may_end.set()
    maker.join()
    assert found == [first]
