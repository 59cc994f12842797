"""`tollgate requests`."""

import csv
import io
import json
import time

import pytest

from app.ledger.posting import Ledger
from app.pricing.price_book import PriceBook
from app.usage.messages.call_attempt import CallAttempt
from tests.cli.command import Tollgate
from tests.support.events import usage_event

NOW_MS = time.time_ns() // 1_000_000


@pytest.fixture
def ledger(tollgate: Tollgate, prices: PriceBook) -> Ledger:
    """The ledger that the commands read, with one failed request and a good one."""
    ledger = Ledger(tollgate.engine, prices)
    failed = usage_event(
        event_id="e1",
        request_id="req_failed",
        account_id="acme",
        api_key_id="key_a",
        started_at_ms=NOW_MS - 60_000,
        status="failed",
        http_status=503,
        attempts=2,
        error_code="vendor_overloaded",
        error_message="It is \x1b[31mfull.",
        attempt_log=(
            CallAttempt("openai", "m", 0, 12, 503, "v-1", "vendor_overloaded", "full"),
            CallAttempt("openai", "m", 900, 11, 503, "v-2", "vendor_overloaded", "It is full."),
        ),
    )
    good = usage_event(
        event_id="e2",
        request_id="req_good",
        account_id="beta",
        started_at_ms=NOW_MS,
        user="u1",
        endpoint="chat.completions",
    )
    ledger.post([failed, good])
    return ledger


@pytest.mark.usefixtures("ledger")
def test_show_says_why_a_request_failed_and_what_each_call_did(tollgate: Tollgate) -> None:
    output = tollgate.run("requests", "show", " req_failed\n").stdout  # as it was pasted
    assert "failed: the caller got an error" in output
    assert "vendor_overloaded" in output
    assert "+900 ms" in output
    assert "2: It is full." in output
    assert "\x1b" not in output


@pytest.mark.usefixtures("ledger")
def test_show_as_json_has_every_field(tollgate: Tollgate) -> None:
    found = json.loads(tollgate.run("requests", "show", "e2", "--json").stdout)
    assert (found["id"], found["cost_nanousd"], found["attempt_log"]) == ("req_good", 1650, [])


def test_an_unknown_request_is_an_error_that_says_what_an_id_is(tollgate: Tollgate) -> None:
    result = tollgate.run("requests", "show", "req_x", exit_code=1)
    assert "No request with this id is in the ledger" in result.stderr


def test_requests_that_share_an_id_are_named(tollgate: Tollgate, ledger: Ledger) -> None:
    ledger.post([usage_event(event_id="e3", request_id="req_good", started_at_ms=NOW_MS - 1)])
    output = tollgate.run("requests", "show", "req_good").stdout
    assert "Also with this id: tollgate requests show e3" in output


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], ["req_good", "req_failed"]),
        (["--account", "acme"], ["req_failed"]),
        (["--account", "acme", "--account", "beta"], ["req_good", "req_failed"]),
        (["--key", "key_a"], ["req_failed"]),
        (["--model", "openai/m", "--status", "failed"], ["req_failed"]),
        (["--user", "u1"], ["req_good"]),
        (["--endpoint", "chat.completions"], ["req_good"]),
        (["--endpoint", "completions"], ["req_failed"]),
        (["--since", "2099-01-01"], []),
        (["--since", "2019-01-01", "--until", "2020-01-01"], []),
        (["--limit", "1"], ["req_good"]),
    ],
)
@pytest.mark.usefixtures("ledger")
def test_list_shows_the_newest_first(
    tollgate: Tollgate, options: list[str], found: list[str]
) -> None:
    output = tollgate.run("requests", "list", *options).stdout
    assert [word for word in output.split() if word.startswith("req_")] == found


@pytest.mark.usefixtures("ledger")
def test_a_list_is_also_csv_and_json(tollgate: Tollgate) -> None:
    """Both have the columns of the dashboard's file, and nothing else is on stdout."""
    asked = ("requests", "list", "--limit", "1", "--format")
    text = tollgate.run(*asked, "csv", "--bom").stdout
    [row] = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    assert text.startswith("\ufeffstarted_at,")
    assert (row["request_id"], row["user"], row["cost_usd"]) == ("req_good", "u1", "0.00000165")
    [found] = json.loads(tollgate.run(*asked, "json").stdout)
    assert {name: "" if it is None else str(it) for name, it in found.items()} == row
    for form, nothing in (("json", "[]\n"), ("csv", text.splitlines()[0][1:] + "\n")):
        assert tollgate.run(*asked, form, "--user", "nobody").stdout == nothing
    assert "csv only" in tollgate.run("requests", "list", "--bom", exit_code=2).stderr


@pytest.mark.usefixtures("ledger")
def test_a_list_that_is_cut_says_so(tollgate: Tollgate) -> None:
    assert "more than these 1" in tollgate.run("requests", "list", "--limit", "1").stderr


def test_a_range_that_ends_before_it_begins_is_an_error(tollgate: Tollgate) -> None:
    for options in (("--since", "1h", "--until", "2h"), ("--until", "2020-01-01")):
        said = tollgate.run("requests", "list", *options, exit_code=2).stderr
        assert "--since must be before --until" in said


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(
    ("option", "name"), [("account", "acmee"), ("key", "key_b"), ("model", "openai/gpt-5o")]
)
def test_a_filter_that_names_nothing_is_an_error(
    tollgate: Tollgate, option: str, name: str
) -> None:
    failed = tollgate.run("requests", "list", f"--{option}", name, exit_code=1)
    assert name in failed.stderr
    assert failed.stdout == ""
