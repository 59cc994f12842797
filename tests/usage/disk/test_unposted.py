"""Which requests the ledger may not have."""

from app.usage.disk.unposted import Unposted
from app.usage.messages.numbered import Numbered
from app.usage.numbers import with_numbers


def it(process: str, number: int) -> Numbered:
    return Numbered("e", process=process, number=number)


def test_requests_are_held_until_they_are_posted() -> None:
    unposted = Unposted()
    assert not unposted
    unposted.add("web-1", 1)
    unposted.add("web-1", 2)
    unposted.add("web-2", 1)
    assert unposted.last() == {"web-1": 2, "web-2": 1}
    assert unposted.processes == {"web-1", "web-2"}
    unposted.forget({"web-1": with_numbers((), [(1, 0)]), "web-3": ()})
    assert [unposted.holds(it("web-1", 1)), unposted.holds(it("web-1", 2))] == [False, True]
    assert unposted.holds(it("web-2", 1))
    assert not unposted.holds(it("web-3", 1))
    assert not unposted.holds(Numbered("e", process="web-1"))
    assert not unposted.holds(None)
    unposted.forget({name: with_numbers((), [(1, 0), (2, 0)]) for name in ("web-1", "web-2")})
    assert not unposted
