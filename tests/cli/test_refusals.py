"""`tollgate refusals`."""

import csv
import io
import json
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.refusals import post_refusals
from app.storage.sql.engine import create_engine
from app.usage.refusal import Refusal
from tests.cli.command import Tollgate
from tests.support.events import usage_event

#: The start of an hour, five hours ago.
HOUR_S = int(time.time()) // 3600 * 3600 - 5 * 3600


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    engine = create_engine(sqlite_url)
    yield engine
    engine.dispose()


@pytest.fixture
def tollgate(sqlite_url: str, engine: Engine) -> Tollgate:
    return Tollgate(sqlite_url, engine)


@pytest.fixture
def refused(engine: Engine) -> None:
    """Refused requests of two accounts, and of nobody; a third account has only usage."""
    used = (("acme", "key_1"), ("beta", "key_2"), ("none", "key_3"))
    Ledger(engine).post(
        usage_event(account_id=account_id, api_key_id=key_id) for account_id, key_id in used
    )
    counts = {
        Refusal(HOUR_S, "acme", "key_1", "completions", "invalid_json"): 1,
        Refusal(HOUR_S, "", "", "completions", "invalid_api_key"): 4,
        Refusal(HOUR_S + 3600, "beta", "key_2", "completions", "invalid_json"): 2,
    }
    post_refusals(engine, "b", counts, 0)


@pytest.mark.usefixtures("refused")
def test_an_endpoint_may_be_selected(tollgate: Tollgate, engine: Engine) -> None:
    chat = {Refusal(HOUR_S, "acme", "key_1", "chat.completions", "invalid_json"): 5}
    post_refusals(engine, "c", chat, 0)

    def total(*arguments: str) -> int:
        text = tollgate.run("refusals", *arguments, "--format", "json").stdout
        return int(json.loads(text)["total"]["refused_requests"])

    assert total("--endpoint", "chat.completions") == 5
    assert total("--endpoint", "completions", "--account", "acme") == 1
    assert total("--endpoint", "completions", "--endpoint", "chat.completions") == total() == 12
    result = tollgate.run("refusals", "--endpoint", "images", exit_code=2)
    assert "'--endpoint'" in result.stderr


@pytest.mark.usefixtures("refused")
def test_the_table_is_by_reason_with_the_most_first_and_a_total(tollgate: Tollgate) -> None:
    result = tollgate.run("refusals")
    assert result.stderr.startswith("Refused from ")
    assert result.stdout == (
        "reason           refused\n"
        "invalid_api_key        4\n"
        "invalid_json           3\n"
        "total                  7\n"
    )


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        (["--by", "account"], [["", "4"], ["beta", "2"], ["acme", "1"]]),
        (["--by", "key,reason"], [["", "invalid_api_key", "4"], ["key_2", "invalid_json", "2"]]),
        (["--account", "acme"], [["invalid_json", "1"]]),
        (["--account", "acme", "--account", "beta"], [["invalid_json", "3"]]),
        (["--key", "key_2", "--by", "account"], [["beta", "2"]]),
        (["--until", "150m", "--account", "none"], []),
    ],
)
def test_rows_are_grouped_and_filtered(
    tollgate: Tollgate, arguments: list[str], rows: list[list[str]]
) -> None:
    text = tollgate.run("refusals", *arguments, "--format", "csv").stdout
    assert list(csv.reader(io.StringIO(text)))[1:][: len(rows)] == rows


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("filters", [("--account", "acmee"), ("--key", "key_4")])
def test_a_filter_that_names_nothing_is_an_error(
    tollgate: Tollgate, filters: tuple[str, str]
) -> None:
    assert f"{filters[1]}. List" in tollgate.run("refusals", *filters, exit_code=1).stderr


@pytest.mark.usefixtures("refused")
def test_json_has_hours_in_their_order(tollgate: Tollgate) -> None:
    found = json.loads(tollgate.run("refusals", "--by", "hour", "--format", "json").stdout)
    assert [it["refused_requests"] for it in found["rows"]] == [5, 2]
    assert found["rows"][0]["hour"] < found["rows"][1]["hour"]
    assert found["total"] == {"refused_requests": 7}


def test_an_empty_ledger_and_a_wrong_range_are_said(tollgate: Tollgate) -> None:
    assert "No refused requests" in tollgate.run("refusals").stderr
    result = tollgate.run("refusals", "--since", "1h", "--until", "9h", exit_code=2)
    assert "--since must be before --until" in result.stderr
