"""The limiter: what a request may use, and that nothing stays reserved when Redis or we die."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec.structs import replace
from redis import Redis
from sqlalchemy import Engine

from app.admission.at_most import UNBOUND_TOKENS
from app.admission.limiter import TOKENS_LIMIT, Limiter
from app.admission.reservations import Reservations
from app.admission.spending import Spending
from app.pricing.price_book import PriceBook, load_prices
from app.storage.redis.connection import connect
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import EVENTS, OPEN, RESERVED
from app.storage.sql.engine import create_engine
from app.usage.metering.meter import Meter
from app.usage.metering.request_context import RequestContext
from app.usage.recording.recorder import Recorder
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stores import Stores
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import LimitReached
from app.vocabulary.limits import Limits
from tests.support.events import opening
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from workers.reaper import reap

ASKED = CompletionRequest(model="openai/m", prompt="twenty-four characters..", max_tokens=10)
ACME = Limits(
    kind="account",
    subject_id="acme",
    tokens_per_minute=10**6,
    budget_nanousd=10**9,
    soft_nanousd=10**9,
    period="day",
)


@pytest.fixture
def redis_url(own_valkey: Valkey) -> str:
    """Redis is the test's own here."""
    return own_valkey.url


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    engine = create_engine(sqlite_url)
    yield engine
    engine.dispose()


@pytest.fixture
def prices(tmp_path: Path) -> PriceBook:
    """A token of `openai/m` costs a thousand nano-dollars."""
    path = tmp_path / "prices.toml"
    path.write_text('[[prices]]\nmodel = "openai/m"\ninput = 1\noutput = 1\n')
    return load_prices(path)


@pytest.fixture
def books(
    own_valkey: Valkey, engine: Engine, prices: PriceBook, tmp_path: Path
) -> Iterator[Recorder]:
    """The recorder of one web process."""
    redis = connect(own_valkey.url, 5.0)
    limiter = Limiter(Reservations(GroupCommit(redis)), prices, Spending(engine))
    books = Recorder(Stores.of(redis), tmp_path / "spool", limiter=limiter)
    yield books
    books.close()


def opened(books: Recorder, request: CompletionRequest = ASKED, limits: Limits = ACME) -> Meter:
    context = RequestContext(
        request_id="req_1", account_id="acme", api_key_id="key_1", limits=(limits,)
    )
    meter = Meter(books, context, request)
    meter.open()
    return meter


def taken(redis: "Redis") -> dict[str, int]:
    """Return what the only open request has reserved, by kind of limit."""
    values: Any = redis.hvals(RESERVED)
    (checks,) = values
    return {check["kind"]: check["amount"] for check in orjson.loads(checks)}


def budget(redis: "Redis") -> dict[bytes, bytes]:
    (key,) = redis.keys("limits:account:acme:20*")
    found: Any = redis.hgetall(key)
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("changes", "amount"),
    [
        ({}, 6 + 10),
        ({"n": 3}, 6 + 30),
        ({"n": 2, "best_of": 5}, 6 + 50),
        ({"prompt": ["four", "5 chars"]}, 1 + 2 + 20),
        ({"prompt": [[1, 2, 3], [4]]}, 4 + 20),
        ({"prompt": [1, 2, 3]}, 3 + 10),
        ({"prompt": "漢字漢字"}, 3 + 10),  # twelve bytes
        ({"prompt": ""}, 10),
        ({"max_tokens": 0}, 6),
        ({"max_tokens": None}, 6 + UNBOUND_TOKENS),
        ({"max_tokens": 10**30}, TOKENS_LIMIT),
    ],
)
def test_a_request_takes_what_it_may_use(
    books: Recorder, redis: "Redis", changes: dict[str, Any], amount: int
) -> None:
    request = dataclasses.replace(ASKED, **changes)
    everything = dataclasses.replace(ACME, budget_nanousd=None)
    if amount == TOKENS_LIMIT:
        with pytest.raises(LimitReached, match=f"may use {TOKENS_LIMIT} tokens"):
            opened(books, request, everything)
        return
    meter = opened(books, request, everything)
    assert taken(redis) == {"tokens": amount, "budget": amount * 1000}
    meter.record("failed")


def test_what_has_no_known_price_takes_the_stated_one_until_it_has_ended(
    books: Recorder, redis: "Redis"
) -> None:
    asked = dataclasses.replace(ASKED, model="nobody/knows")
    meter = opened(books, asked)
    assert taken(redis)["budget"] == 6 * 10_000 + 10 * 50_000
    call = meter.call("nobody", asked)
    usage = Usage(prompt_tokens=6, completion_tokens=10, total_tokens=16)
    call.observe(Completion("c", 1, "knows", (Choice(0, "text", "stop"),), usage))
    meter.record("completed")
    assert budget(redis) == {b"spent": b"0", b"reserved": b"0"}
    assert redis.hlen(RESERVED) == 0


def test_an_event_out_of_the_spool_settles_what_redis_still_holds(
    books: Recorder, own_valkey: Valkey, redis: "Redis"
) -> None:
    meter = opened(books)
    assert budget(redis) == {b"spent": b"0", b"reserved": b"16000"}
    own_valkey.kill()
    call = meter.call("openai", ASKED)
    usage = Usage(prompt_tokens=5, completion_tokens=2, total_tokens=7)
    call.observe(Completion("c", 1, "m", (Choice(0, "text", "stop"),), usage))
    meter.record("completed")
    opened(books).record("failed")  # served while Redis is down
    own_valkey.start()
    wait_until(lambda: redis.xlen(EVENTS) == 2 and not redis.hlen(OPEN))
    assert budget(redis) == {b"spent": b"7000", b"reserved": b"0"}
    assert redis.hlen(RESERVED) == 0


def test_what_a_dead_process_had_reserved_is_given_back_but_for_the_estimate(
    engine: Engine, prices: PriceBook, redis: "Redis", tmp_path: Path
) -> None:
    """The budget is charged with the prompt, which the vendor may have read."""
    limiter = Limiter(Reservations(GroupCommit(redis)), prices, Spending(engine))
    books = Recorder(Stores.of(redis), tmp_path, limiter=limiter)
    context = RequestContext(
        request_id="req_1", account_id="acme", api_key_id="key_1", limits=(ACME,)
    )
    meter = Meter(books, context, ASKED)
    record = replace(meter.opening(), owner="a crashed process")
    limiter.admit(meter.admission_request, opening(meter.event_id, record.encode()))
    late_ms = meter.started_at_ms + 60_000
    assert reap(OpenRecords(redis), late_ms, prices=prices) == 1
    assert budget(redis) == {b"spent": b"6000", b"reserved": b"0"}
    assert redis.hlen(RESERVED) == 0


def test_an_event_that_nobody_can_read_gives_back_what_its_request_had_reserved(
    books: Recorder, redis: "Redis", tmp_path: Path
) -> None:
    meter = opened(books)
    left = b'{"event":{"event_id":"%s"}}\n' % meter.event_id.encode()
    (tmp_path / "spool").mkdir(exist_ok=True)
    (tmp_path / "spool" / "dead-1.1.jsonl").write_bytes(left)
    books._heartbeat_and_replay()
    assert redis.hlen(RESERVED) == 0
    assert budget(redis) == {b"spent": b"0", b"reserved": b"0"}
