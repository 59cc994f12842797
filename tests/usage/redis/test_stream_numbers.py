"""Whose events are in a stream."""

import pytest
from redis import Redis

from app.usage.redis import stream_numbers
from app.usage.redis.stream_numbers import numbers_in
from tests.support.events import usage_event


def test_all_pages_are_read_and_what_has_no_number_is_left_out(
    redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_numbers, "AT_ONCE", 2)
    assert list(numbers_in(redis, "stream")) == []
    for number in (1, 2, 0, 3, 4):
        redis.xadd("stream", {"event": usage_event(process="web-1", number=number).encode()})
    redis.xadd("stream", {"something": "else"})
    assert list(numbers_in(redis, "stream")) == [("web-1", number) for number in (1, 2, 3, 4)]
