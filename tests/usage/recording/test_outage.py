"""What a process knows of whether Redis takes its usage."""

import logging
from pathlib import Path

import pytest

from app.usage.recording.outage import Outage
from app.vocabulary.errors import StreamFull, StreamTimeout, StreamUnavailable

SPOOL = Path("/spool")


def test_redis_is_up_until_an_error() -> None:
    outage = Outage(SPOOL)
    assert (outage.is_up, outage.since_ms) == (True, None)


@pytest.mark.parametrize("error", [StreamUnavailable("x"), StreamTimeout("x")])
def test_an_error_is_an_outage_once_since_the_oldest_request(error: StreamUnavailable) -> None:
    outage = Outage(SPOOL)
    assert outage.begin(error, 7)
    assert (outage.is_up, outage.since_ms, outage.reason) == (False, 7, error.reason)
    assert not outage.begin(error, 5)
    assert outage.since_ms == 7


def test_a_full_redis_is_up_and_is_logged_once_until_it_takes_an_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outage = Outage(SPOOL)
    for _ in range(2):
        caplog.clear()
        for _ in range(3):
            assert not outage.begin(StreamFull("it is full"), 7)
        assert (outage.is_up, outage.since_ms, outage.reason) == (True, 7, "redis_full")
        assert [record.levelno for record in caplog.records] == [logging.ERROR]
        assert "it is full; usage goes to the spool in /spool" in caplog.text
        outage.took_event()


def test_a_full_redis_may_go_down_and_come_back_full() -> None:
    outage = Outage(SPOOL)
    outage.begin(StreamFull("x"), 7)
    assert outage.begin(StreamUnavailable("x"), 8)
    assert (outage.is_up, outage.since_ms, outage.reason) == (False, 7, "redis_down")
    outage.is_up = True
    assert not outage.begin(StreamFull("x"), 9)
    assert (outage.is_up, outage.reason) == (True, "redis_full")
