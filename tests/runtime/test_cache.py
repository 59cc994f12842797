"""The cache of a slow source."""

from app.runtime.cache import Cache


def test_a_value_is_used_until_it_is_too_old() -> None:
    cache = Cache[str, int](10)
    cache.put("a", 1, 100.0)
    cached = cache.get("a")
    assert cached is not None
    assert cached.value == 1
    assert not cached.is_due(104.9, 5.0)
    assert cached.is_due(105.0, 5.0)


def test_one_caller_asks_again_and_the_others_use_the_old_value() -> None:
    cache = Cache[str, int](10)
    cache.put("a", 1, 100.0)
    one, other = cache.get("a"), cache.get("a")
    assert one is not None
    assert other is not None
    assert [one.is_due(105.0, 5.0), other.is_due(105.0, 5.0), other.is_due(110.0, 5.0)] == [
        True,
        False,
        True,
    ]
    assert one.confirmed_s == 100.0  # nothing has come back yet


def test_the_least_recently_used_key_is_evicted() -> None:
    cache = Cache[str, int](2)
    cache.put("a", 1, 0.0)
    cache.put("b", 2, 0.0)
    assert cache.get("a") is not None
    cache.put("c", 3, 0.0)
    assert [key for key in "abc" if cache.get(key)] == ["a", "c"]


def test_a_dropped_key_is_gone_and_may_be_dropped_again() -> None:
    cache = Cache[str, int](2)
    cache.put("a", 1, 0.0)
    cache.drop("a")
    cache.drop("a")
    assert cache.get("a") is None
