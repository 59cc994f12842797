"""The queries of a month on a small ledger, on both databases."""

import pytest
from sqlalchemy import Engine

from app.ledger.reconcile import day_ranges, differences
from bench import month


def test_a_month_can_be_filled_and_asked(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(month, "ENTRIES", 4000)
    monkeypatch.setattr(month, "AT_ONCE", 2000)
    monkeypatch.setattr(month, "ROUNDS", 1)
    month.fill(engine)
    asked = {it.name: it for it in month.measure(engine)}
    assert asked["the month by day and model"].rows == month.DAYS * month.MODELS
    assert asked["the month by day and key"].rows == month.DAYS * month.KEYS
    assert all(it.p50_ms <= it.worst_ms for it in asked.values())
    assert [it for stretch in day_ranges(engine) for it in differences(engine, stretch)] == []
