"""The recorder while a real Valkey is full of events: limits hold, and events go to the spool."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import Engine

from app.admission.at_most import CostCandidate
from app.admission.limiter import Limiter
from app.admission.reservations import Reservations
from app.admission.spending import Spending
from app.admission.unchecked import UncheckedRequests
from app.pricing.price_book import PriceBook
from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS, OPEN, OWNER, RESERVED
from app.storage.sql.engine import create_engine
from app.usage.metering.meter import Meter
from app.usage.recording.recorder import Recorder
from app.usage.redis.stores import Stores
from app.vocabulary.completion import Choice, Completion
from app.vocabulary.errors import InsufficientQuota, RateLimited, StreamUnavailable
from app.vocabulary.limits import Limits
from tests.support.services.full import fill, make_room, memory
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.usage.recording.steps import ASKED, CONTEXT, COUNT, answer, events

RPM = Limits(kind="account", subject_id="acme", requests_per_minute=3)
STREAMS = Limits(kind="account", subject_id="acme", streams=2)


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
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def recorder(
    valkey: Valkey, engine: Engine, spool: Path, prices: PriceBook, *, serves: bool = True
) -> Recorder:
    """A process's recorder, as the factory makes it."""
    redis = connect(valkey.url, 5.0)
    stores = Stores.of(redis, serves_if_full=serves)
    return Recorder(
        stores,
        spool,
        serve_without_redis=serves,
        limiter=Limiter(Reservations(stores.commit, even_if_full=serves), prices, Spending(engine)),
        unchecked=UncheckedRequests(redis),
    )


@pytest.fixture
def books(own_valkey: Valkey, engine: Engine, spool: Path, prices: PriceBook) -> Iterator[Recorder]:
    books = recorder(own_valkey, engine, spool, prices)
    yield books
    books.close()


def request(books: Recorder, *limits: Limits) -> Meter:
    context = CONTEXT._replace(limits=limits)
    meter = Meter(books, context, ASKED, [CostCandidate("openai", "m")])
    meter.open()
    return meter


def test_limits_hold_while_redis_is_full(books: Recorder, redis: "Redis") -> None:
    fill(redis)
    redis.script_flush()  # they are loaded into a full Redis, too
    for _ in range(3):
        answer(request(books, RPM))
    with pytest.raises(RateLimited):
        request(books, RPM)


def test_a_stream_that_has_ended_while_redis_is_full_holds_no_limit(
    books: Recorder, redis: "Redis"
) -> None:
    fill(redis)
    for _ in range(5):
        first, second = request(books, STREAMS), request(books, STREAMS)
        with pytest.raises(RateLimited):
            request(books, STREAMS)
        answer(first)
        answer(second)


def test_a_budget_is_charged_while_redis_is_full_and_once(
    books: Recorder, redis: "Redis", spool: Path
) -> None:
    """The answer's replay charges nothing more."""
    budget = Limits(kind="account", subject_id="acme", budget_nanousd=10**15, period="day")
    fill(redis)
    answer(request(books, budget))
    (key,) = redis.keys("limits:account:acme:*:day")
    during = redis.hgetall(key)
    assert during[b"reserved"] == b"0"
    make_room(redis)
    wait_until(lambda: not list(spool.glob("*.jsonl")))
    assert redis.hgetall(key) == during
    spent = Limits(kind="account", subject_id="acme", budget_nanousd=0, period="day")
    with pytest.raises(InsufficientQuota):
        request(books, spent)


def test_events_go_to_the_spool_and_to_redis_once_it_has_room(
    books: Recorder, redis: "Redis", spool: Path
) -> None:
    before = request(books)
    fill(redis)
    taken = {event.event_id for event in events(redis)}
    during = [before, *(request(books) for _ in range(4))]
    for meter in during[:-1]:
        answer(meter)
    assert list(spool.glob("*.jsonl"))
    assert redis.hkeys(OPEN) == [during[-1].event_id.encode()]
    assert books.oldest_spooled_ms is not None
    assert books.oldest_spooled_ms <= before.started_at_ms
    make_room(redis)
    wait_until(lambda: not list(spool.glob("*.jsonl")))
    answer(during[-1])
    recorded = [event.event_id for event in events(redis)]
    assert sorted(recorded) == sorted({*taken, *(meter.event_id for meter in during)})
    assert (redis.hlen(OPEN), redis.hlen(RESERVED)) == (0, 0)


def test_each_time_that_redis_becomes_full_is_logged_once(
    books: Recorder, redis: "Redis", spool: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        caplog.clear()
        fill(redis)
        for _ in range(3):
            answer(request(books))
        assert caplog.text.count("usage goes to the spool") == 1
        make_room(redis)
        wait_until(lambda: not list(spool.glob("*.jsonl")))


def test_a_request_is_checkpointed_while_redis_is_full(books: Recorder, redis: "Redis") -> None:
    """A crash then loses no more than at other times."""
    meter = request(books)
    before = redis.hget(OPEN, meter.event_id)
    fill(redis)
    call = meter.call("sim", ASKED)
    call.observe(Completion("c", 1, "m", (Choice(0, "generated words"),), COUNT))
    books.note(meter.event_id)
    wait_until(lambda: redis.hget(OPEN, meter.event_id) != before)


def test_a_full_redis_grows_no_further(books: Recorder, redis: "Redis") -> None:
    """What admission writes is bounded, whatever the number of requests."""
    fill(redis)
    many = Limits(kind="account", subject_id="acme", requests_per_minute=10**6, streams=1000)
    for _ in range(10):
        answer(request(books, many))
    before = memory(redis)
    for _ in range(300):
        answer(request(books, many))
    assert memory(redis) - before < 50_000  # an event alone takes 500 to 1,000


def test_the_heartbeat_goes_on_while_redis_is_full(books: Recorder, redis: "Redis") -> None:
    """Without it, the reaper would estimate requests that still run."""
    request(books)
    fill(redis)
    redis.delete(OWNER + books.owner)
    wait_until(lambda: redis.exists(OWNER + books.owner))


def test_an_outage_of_a_full_redis_spools_what_comes_during_it(
    books: Recorder, redis: "Redis", own_valkey: Valkey, spool: Path
) -> None:
    fill(redis)
    full = request(books)
    answer(full)
    own_valkey.kill()
    down = request(books, RPM)
    answer(down)
    own_valkey.start()  # its limit was not in a file
    wait_until(lambda: not list(spool.glob("*.jsonl")))
    recorded = {event.event_id for event in events(redis)}
    assert {full.event_id, down.event_id} <= recorded
    assert books._unchecked is not None
    assert books._unchecked.recent() == {"redis_down": 1}


def test_only_requests_with_limits_count_as_unchecked(
    books: Recorder, own_valkey: Valkey, redis: "Redis"
) -> None:
    request(books, RPM)
    own_valkey.kill()
    for limits in ([], [RPM], [STREAMS]):
        request(books, *limits)
    assert books._unchecked is not None
    assert books._unchecked.recent() == {"redis_down": 2}
    own_valkey.start()
    other = UncheckedRequests(redis)  # of another process, once this one has reported
    wait_until(lambda: other.recent() == {"redis_down": 2})


def test_a_budget_that_the_ledger_has_not_confirmed_counts_as_unchecked(
    own_valkey: Valkey, spool: Path, prices: PriceBook, tmp_path: Path
) -> None:
    """It is compared with what Redis has counted, and Redis may have lost that."""
    engine = create_engine(f"sqlite:///{tmp_path / 'not-migrated.db'}")
    books = recorder(own_valkey, engine, spool, prices)
    budget = Limits(kind="account", subject_id="acme", budget_nanousd=10**15, period="day")
    request(books, RPM)
    request(books, budget)
    assert books._unchecked is not None
    assert books._unchecked.recent() == {"ledger_unknown": 1}
    books.close()
    engine.dispose()


def test_without_a_spool_a_full_redis_admits_nothing_and_takes_the_events_of_what_it_admitted(
    own_valkey: Valkey, redis: "Redis", engine: Engine, spool: Path, prices: PriceBook
) -> None:
    books = recorder(own_valkey, engine, spool, prices, serves=False)
    plain, limited = request(books), request(books, STREAMS)
    fill(redis)
    for limits in ([], [STREAMS]):
        with pytest.raises(StreamUnavailable):
            request(books, *limits)
    answer(plain)
    answer(limited)
    recorded = {event.event_id for event in events(redis)}
    assert {plain.event_id, limited.event_id} <= recorded
    assert (redis.hlen(OPEN), redis.hlen(RESERVED)) == (0, 0)
    assert not list(spool.glob("*.jsonl"))
    redis.delete(EVENTS)
    limit = int(redis.config_get("maxmemory")["maxmemory"] or 0)
    wait_until(lambda: memory(redis) < limit)  # a server may free it a moment later
    answer(request(books, STREAMS))
    books.close()
