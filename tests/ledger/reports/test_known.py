"""Names that have never had any usage."""

from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.known import without_usage
from tests.ledger.ledgers import at


def test_names_without_usage_are_found_by_kind(engine: Engine) -> None:
    Ledger(engine).post([at(0, account_id="a", api_key_id="k", vendor="v", model="m")])
    assert without_usage(engine, "account_ids", ["a", "A", "b"]) == ["A", "b"]
    assert without_usage(engine, "api_key_ids", ["k", "a"]) == ["a"]
    assert without_usage(engine, "models", ["v/m", "v/M", "m/v"]) == ["m/v", "v/M"]
    assert without_usage(engine, "models", []) == []
