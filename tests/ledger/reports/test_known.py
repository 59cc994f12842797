"""Names that have never had any usage."""

from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.known import first_day_s, without_usage
from tests.ledger.ledgers import MIDNIGHT_S, at


def test_names_without_usage_are_found_by_kind(engine: Engine) -> None:
    Ledger(engine).post([at(0, account_id="a", api_key_id="k", vendor="v", model="m")])
    assert without_usage(engine, "account_ids", ["a", "A", "b"]) == ["A", "b"]
    assert without_usage(engine, "api_key_ids", ["k", "a"]) == ["a"]
    assert without_usage(engine, "models", ["v/m", "v/M", "m/v"]) == ["m/v", "v/M"]
    assert without_usage(engine, "models", []) == []


def test_the_first_day_with_usage_is_found(engine: Engine) -> None:
    assert first_day_s(engine) is None
    Ledger(engine).post([at(200_000), at(100)])
    assert first_day_s(engine) == MIDNIGHT_S
