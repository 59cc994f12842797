"""The ledger: each event is posted once, even if it is repeated."""

import random
from pathlib import Path

import pytest
import sqlalchemy as sa
from msgspec.structs import fields, replace
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import SLOT_S, entries, rollups
from app.usage.messages.call_attempt import CallAttempt
from app.usage.messages.call_usage import CallUsage
from app.usage.messages.event import UsageEvent
from app.vocabulary.completion import USAGE_COUNTS, Usage
from app.vocabulary.errors import LedgerUnavailable
from app.vocabulary.text import TEXT_LIMIT
from tests.ledger.ledgers import HOUR_MS, MIDNIGHT_MS, as_posted, ledger_of, rows
from tests.support.events import usage_event


def test_the_columns_of_an_entry_are_the_fields_of_an_event_and_its_cost() -> None:
    names = [field.name for field in fields(UsageEvent)]
    of_event = [name for name in names if name not in ("process", "number")]  # in `processes`
    assert [column.name for column in entries.c] == [*of_event, "cost_nanousd", "price_id"]


def test_an_entry_holds_its_event_to_the_last_field(engine: Engine) -> None:
    bare = usage_event(
        model_served=None, http_status=None, first_token_ms=None, status="abandoned", source="none"
    )
    full = usage_event(
        user='a "user" \\ \u2028 \U0001f600',
        vendor_request_id="cmpl-1",
        stream=False,
        service_tier="flex",
        completion_source="estimated",
        calls=(
            CallUsage.of("a", 'the "model" \\ \u2028', None, None, Usage(prompt_tokens=2**40)),
            CallUsage.of("b", "m", "m-1", "flex", Usage(completion_tokens=3, total_tokens=4)),
        ),
        error_code="vendor_overloaded",
        error_message='It is "full" \\ \u2028',
        attempt_log=(
            CallAttempt(
                "a", 'the "model" \\ \u2028', 1, 2, 503, "r-1", "vendor_overloaded", "full"
            ),
            CallAttempt("b", "m", 5, 2**40),
        ),
        **{name: 2**40 + i for i, name in enumerate(USAGE_COUNTS)},
    )
    assert Ledger(engine).post([bare, full]) == 2
    assert rows(engine, entries) == as_posted([bare, full])[0]


def test_a_rollup_is_the_sum_of_its_entries(engine: Engine) -> None:
    same = [
        usage_event(),
        usage_event(status="failed", source="none", prompt_tokens=0),
        usage_event(source="estimated", cached_tokens=1),
    ]
    other = usage_event(api_key_id="key_2")
    ledger = Ledger(engine)
    ledger.post(same[:2])
    ledger.post([same[2], other])
    first, second = rows(engine, rollups)
    assert (first["requests"], first["failed_requests"], first["estimated_requests"]) == (3, 1, 1)
    assert (first["prompt_tokens"], first["completion_tokens"], first["cached_tokens"]) == (6, 6, 1)
    assert (second["api_key_id"], second["requests"], second["total_tokens"]) == ("key_2", 1, 5)


def test_nothing_to_post_is_no_error(engine: Engine) -> None:
    assert Ledger(engine).post([]) == 0
    assert ledger_of(engine) == ([], [])


def test_a_batch_that_is_posted_again_changes_nothing(engine: Engine) -> None:
    batch = [usage_event() for _ in range(20)]
    assert [Ledger(engine).post(batch) for _ in range(3)] == [20, 0, 0]
    assert ledger_of(engine) == as_posted(batch)


def test_an_event_that_is_twice_in_a_batch_counts_once(engine: Engine) -> None:
    event = usage_event()
    assert Ledger(engine).post([event, usage_event(), event]) == 2
    assert sum(row["requests"] for row in rows(engine, rollups)) == 2


def test_of_two_events_with_one_id_the_first_stays(engine: Engine) -> None:
    real = usage_event()
    guess = replace(real, status="abandoned", source="estimated", total_tokens=999)
    assert Ledger(engine).post([real, guess]) == 1
    assert Ledger(engine).post([guess]) == 0
    assert ledger_of(engine) == as_posted([real])


@pytest.mark.parametrize("at_once", [True, False])
def test_of_two_true_events_with_one_id_the_first_stays(engine: Engine, at_once: bool) -> None:
    first = usage_event(prompt_tokens=7, total_tokens=9)
    second = replace(first, prompt_tokens=8, total_tokens=10, model="another")
    guess = replace(first, status="abandoned", source="estimated", total_tokens=999)
    batches = [[guess, first, second]] if at_once else [[guess], [first], [second]]
    assert [Ledger(engine).post(batch) for batch in batches] == [1, 0, 0][: len(batches)]
    assert ledger_of(engine) == as_posted([first])


def test_a_requests_own_event_replaces_an_abandoned_one(engine: Engine) -> None:
    ledger, true = Ledger(engine), usage_event(prompt_tokens=7, total_tokens=17)
    guess = replace(
        true, status="abandoned", source="estimated", prompt_tokens=1, total_tokens=2, model="x"
    )
    other = usage_event()
    assert ledger.post([guess, other]) == 2
    assert ledger.post([true]) == 0
    assert ledger_of(engine)[0] == as_posted([true, other])[0]
    sums = [row for row in ledger_of(engine)[1] if row["requests"]]
    assert sums == as_posted([true, other])[1]
    ledger.post([guess, true, guess])
    assert ledger_of(engine)[0] == as_posted([true, other])[0]


def test_a_batch_may_be_of_any_size(engine: Engine) -> None:
    batch = [usage_event(account_id=f"a{i % 3}", model=f"m{i % 7}") for i in range(12_345)]
    assert Ledger(engine).post(batch[:1]) == 1
    assert Ledger(engine).post(iter(batch)) == 12_344
    assert ledger_of(engine) == as_posted(batch)


def test_the_longest_names_fit_in_the_indexes(engine: Engine) -> None:
    """PostgreSQL rejects index rows over 2,704 bytes, and compresses only repetitions."""
    letters = random.Random(1)  # noqa: S311 - no secret
    longest = "".join(chr(letters.randrange(0x20000, 0x2A6DF)) for _ in range(TEXT_LIMIT))
    event = usage_event(
        account_id="a" * 64, vendor=longest[:64], model=longest, user=longest, request_id=longest
    )
    assert Ledger(engine).post([event]) == 1
    assert ledger_of(engine) == as_posted([event])


def test_a_batch_with_an_impossible_event_leaves_nothing(engine: Engine) -> None:
    batch = [usage_event(), usage_event(account_id=None)]
    with pytest.raises(sa.exc.IntegrityError):
        Ledger(engine).post(batch)
    assert ledger_of(engine) == ([], [])


def test_a_ledger_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    with pytest.raises(LedgerUnavailable):
        Ledger(engine).post([usage_event()])
    engine.dispose()


@pytest.mark.parametrize(
    ("offset_ms", "slot_s"), [(0, 0), (1, 0), (899_999, 0), (900_000, 900), (-1, -900)]
)
def test_an_event_is_in_exactly_one_slot(engine: Engine, offset_ms: int, slot_s: int) -> None:
    Ledger(engine).post([usage_event(started_at_ms=MIDNIGHT_MS + offset_ms)])
    assert [row["slot_s"] for row in rows(engine, rollups)] == [MIDNIGHT_MS // 1000 + slot_s]


@pytest.mark.parametrize("zone_minutes", [0, 330, 345, -480, 765])
def test_local_days_add_up_in_every_time_zone(engine: Engine, zone_minutes: int) -> None:
    """Case D14: usage at 23:30 and 00:30 UTC is in one local day each, and days add up."""
    times_ms = [MIDNIGHT_MS + HOUR_MS // 2 * half for half in range(-49, 49)]
    Ledger(engine).post(usage_event(started_at_ms=time_ms) for time_ms in times_ms)
    days: dict[int, int] = {}
    for row in rows(engine, rollups):
        # A slot never straddles a local midnight, so its start says the day of all of it.
        assert row["slot_s"] % SLOT_S == 0
        day = (row["slot_s"] + zone_minutes * 60) // 86_400
        days[day] = days.get(day, 0) + row["requests"]
    expected: dict[int, int] = {}
    for time_ms in times_ms:
        day = (time_ms // 1000 + zone_minutes * 60) // 86_400
        expected[day] = expected.get(day, 0) + 1
    assert days == expected


def test_a_late_event_changes_its_own_day_alone(engine: Engine) -> None:
    """Case D28: an event of two days ago arrives after today's."""
    today, late = usage_event(), usage_event(started_at_ms=MIDNIGHT_MS - 48 * HOUR_MS)
    Ledger(engine).post([today])
    before = rows(engine, rollups)
    assert [Ledger(engine).post([late]), Ledger(engine).post([late, today])] == [1, 0]
    after = rows(engine, rollups)
    assert len(after) == 2
    assert after[1:] == before


def test_names_keep_their_case_and_their_colons(engine: Engine) -> None:
    """Cases B04 and B05: what differs in case alone is different, in accounts and in models."""
    events = [
        usage_event(account_id="Acme", vendor="openai", model="ft:m:org::Abc"),
        usage_event(account_id="acme", vendor="openai", model="ft:m:org::abc"),
        usage_event(account_id="acme", vendor="bedrock", model="anthropic.claude-x-v1:0"),
        usage_event(
            account_id="acme", vendor="fireworks_ai", model="accounts/A/models/Llama-3.1-8B"
        ),
    ]
    Ledger(engine).post(events)
    found = {(row["account_id"], row["vendor"], row["model"]) for row in rows(engine, rollups)}
    assert found == {(event.account_id, event.vendor, event.model) for event in events}
