"""How often equal requests have failed."""

from app.sandbox.first_tries import FirstTries


def test_the_first_tries_fail_then_one_succeeds_and_the_next_is_a_first_one_again() -> None:
    tries = FirstTries()
    assert [tries.fails(b"a", 2) for _ in range(5)] == [True, True, False, True, True]
    assert not tries.fails(b"b", 0)


def test_requests_with_other_bodies_are_counted_apart() -> None:
    tries = FirstTries()
    assert [tries.fails(body, 1) for body in (b"a", b"b", b"a", b"b")] == [True, True, False, False]


def test_the_oldest_of_too_many_is_forgotten() -> None:
    tries = FirstTries(limit=2)
    assert [tries.fails(body, 1) for body in (b"a", b"b", b"c")] == [True] * 3
    assert [tries.fails(body, 1) for body in (b"b", b"c", b"a")] == [False, False, True]
