"""What a process does with the results of its checks."""

import logging

import pytest

from app.startup.finding import Finding, refused, start_or_exit

WELL = Finding("PORT", "ok", "port 8000 is free")
WARNING = Finding("TOLLGATE_SPOOL_DIR", "warning", "almost full")
DOWN = Finding("REDIS_URL", "down", "no response")
FAULT = Finding("DATABASE_URL", "refused", "the host is unknown")
MISSING = Finding("REDIS_URL", "refused", "is not set")


def test_a_fault_is_one_line_that_counts_the_others(caplog: pytest.LogCaptureFixture) -> None:
    for faults, line in (
        ([FAULT], "cannot start: DATABASE_URL: the host is unknown"),
        (
            [MISSING, FAULT],
            "cannot start: REDIS_URL is not set (1 more: run `tollgate config check`)",
        ),
    ):
        caplog.clear()
        with pytest.raises(SystemExit) as caught:
            start_or_exit([WELL, WARNING, DOWN, *faults])
        assert caught.value.code == 1
        assert [record.getMessage() for record in caplog.records] == [line]


def test_what_is_down_is_logged_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        start_or_exit([WELL, WARNING, DOWN])
    (record,) = caplog.records
    assert record.getMessage() == "starting although a service is down: REDIS_URL: no response"
    assert refused([WELL, WARNING, DOWN]) == []
