"""Budgets and the ledger: what is corrected there reaches every process, nothing is forgotten."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.admission.limiter import Limiter
from app.admission.reservations import Reservations
from app.admission.spending import Spending
from app.ledger.posting import Ledger
from app.ledger.reconcile import day_ranges, rebuild
from app.ledger.repricing import reprice
from app.pricing.price_book import PriceBook, load_prices
from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS
from app.storage.sql.tables import corrections, daily_rollups
from app.storage.sql.transactions import reading
from app.usage.metering.meter import Meter
from app.usage.metering.request_context import RequestContext
from app.usage.recording.recorder import Recorder
from app.usage.redis.dead_letters import DeadLetterStream
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stores import Stores
from app.usage.redis.stream import EventStream
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import InsufficientQuota, RateLimited
from app.vocabulary.limits import Limits
from tests.support.services.polling import wait_until
from workers.consumer import consume
from workers.reaper import reap

#: Reserves and uses a thousand tokens.
ASKED = CompletionRequest(model="openai/m", prompt="x" * 2000, max_tokens=500)
USED = Usage(prompt_tokens=500, completion_tokens=500, total_tokens=1000)
#: A cent is a thousand tokens' price at ten dollars a million.
CENT = 10**7


@pytest.fixture
def book(tmp_path: Path) -> Callable[[int], PriceBook]:
    """Makes a price book: a token of `openai/m` costs so many dollars a million."""

    def make(dollars: int) -> PriceBook:
        path = tmp_path / f"{dollars}.toml"
        path.write_text(f'[[prices]]\nmodel = "openai/m"\ninput = {dollars}\noutput = {dollars}\n')
        return load_prices(path)

    return make


class World:
    """Web processes, each with its own memory of the ledger, and a worker."""

    def __init__(self, redis_url: str, engine: Engine, folder: Path) -> None:
        self.engine, self.folder, self.redis_url = engine, folder, redis_url
        self.redis = connect(redis_url, 5.0)
        self.connected = [self.redis]
        self.stream = EventStream(self.redis)
        self.processes: list[Recorder] = []
        accounts = Accounts(engine)
        accounts.create("acme", "Acme")
        self.key_id = accounts.create_key(["acme"], {"completions"})[0].key_id

    def process(self, prices: PriceBook) -> Recorder:
        """Start a web process."""
        redis = connect(self.redis_url, 5.0)
        self.connected.append(redis)
        stores, spool = Stores.of(redis), self.folder / str(len(self.processes))
        limiter = Limiter(Reservations(stores.commit), prices, Spending(self.engine))
        self.processes.append(Recorder(stores, spool, limiter=limiter))
        return self.processes[-1]

    def post(self, prices: PriceBook) -> None:
        """Have the worker post what waits."""
        consume(self.stream, Ledger(self.engine, prices), consumer="w")

    def update(self, prices: PriceBook) -> None:
        """Re-price everything."""
        list(reprice(self.engine, prices, 0, 2**44))

    def budget(self) -> dict[str, int]:
        """Return what Redis counts of the only budget."""
        (key,) = [key for key in self.redis.keys("limits:*:20*")]
        found: Any = self.redis.hgetall(key)
        return {name.decode(): int(number) for name, number in found.items()}


@pytest.fixture
def world(redis_url: str, engine: Engine, tmp_path: Path) -> Iterator[World]:
    world = World(redis_url, engine, tmp_path)
    yield world
    for process in world.processes:
        process.close()
    for redis in world.connected:
        redis.connection_pool.disconnect()


def opened(process: Recorder, budget_cents: int, key_id: str | None = None) -> Meter:
    """Open a request of an account, or of a key, whose budget is so many cents."""
    budget = budget_cents * CENT
    limits = Limits(kind="account", subject_id="acme", budget_nanousd=budget)
    if key_id is not None:
        limits = Limits(kind="key", subject_id=key_id, budget_nanousd=budget, period="day")
    context = RequestContext(
        request_id="req_1", account_id="acme", api_key_id=key_id or "other", limits=(limits,)
    )
    meter = Meter(process, context, ASKED)
    meter.open()
    return meter


def opened_soon(process: Recorder, budget_cents: int, key_id: str | None = None) -> Meter:
    """Open a request that was rejected until the ledger was corrected, a moment ago."""
    found: list[Meter] = []

    def is_open() -> bool:
        with suppress(InsufficientQuota):
            found.append(opened(process, budget_cents, key_id))
        return bool(found)

    wait_until(is_open, deadline_s=5.0)
    return found[0]


def reaped(world: World, process: Recorder, meter: Meter, prices: PriceBook) -> None:
    """Have a worker take the process for a crashed one, and estimate the request."""
    records = OpenRecords(world.redis)
    (raw,) = records.all().values()
    world.redis.hset("usage:open", meter.event_id, raw.replace(process.owner.encode(), b"gone"))
    assert reap(records, meter.started_at_ms + 60_000, prices=prices) == 1


def ended(meter: Meter) -> None:
    call = meter.call("openai", ASKED)
    call.observe(Completion("c", 1, "m", (Choice(0, "text", "stop"),), USED))
    meter.record("completed")


@pytest.mark.parametrize("kind", ["account", "key"])
def test_spend_that_is_corrected_down_is_free_again_at_once_in_every_process(
    world: World, book: Callable[[int], PriceBook], kind: str
) -> None:
    dear, cheap = book(10), book(1)
    key_id = world.key_id if kind == "key" else None
    processes = [world.process(dear) for _ in range(3)]
    for process in (processes[0], processes[1]):
        ended(opened(process, 2, key_id))
    world.post(dear)
    for process in processes:
        with pytest.raises(InsufficientQuota, match="used up"):
            opened(process, 2, key_id)
    world.update(cheap)
    meter = opened_soon(processes[2], 2, key_id)
    assert world.budget()["spent"] == 2 * CENT // 10
    meter.record("failed")
    for process in processes:
        opened_soon(process, 2, key_id).record("failed")
    world.update(cheap)  # again, which changes nothing
    opened(processes[0], 2, key_id).record("failed")
    assert (world.budget()["spent"], world.budget()["reserved"]) == (2 * CENT // 10, 0)


def test_what_is_reserved_or_not_yet_posted_survives_a_correction(
    world: World, book: Callable[[int], PriceBook]
) -> None:
    dear, cheap = book(10), book(1)
    process = world.process(dear)
    ended(opened(process, 5))
    world.post(dear)
    ended(opened(process, 5))  # waits in the stream
    under_way = opened(process, 5)
    world.update(cheap)
    process = world.process(dear)
    for _ in range(2):  # 0.1 and 1 spent, 1 under way: two fit, and no third
        opened(process, 5)
    with pytest.raises(RateLimited, match="reserved for running requests"):
        opened(process, 5)
    assert world.budget()["spent"] == CENT // 10 + CENT
    assert world.budget()["reserved"] == 3 * CENT
    ended(under_way)
    assert world.budget()["spent"] == CENT // 10 + 2 * CENT


def test_what_waited_at_an_old_price_is_put_right_when_it_is_posted_at_a_new_one(
    world: World, book: Callable[[int], PriceBook]
) -> None:
    """A price file is fixed, and processes restart with it while events wait."""
    dear, cheap = book(10), book(1)
    old = world.process(dear)
    for _ in range(2):
        ended(opened(old, 2))
    new = world.process(cheap)
    with pytest.raises(InsufficientQuota):
        opened(new, 2)
    world.post(cheap)
    world.update(cheap)
    opened_soon(new, 2).record("failed")
    assert world.budget()["spent"] == 2 * CENT // 10


def test_what_became_dearer_counts_too(world: World, book: Callable[[int], PriceBook]) -> None:
    dear, cheap = book(10), book(1)
    ended(opened(world.process(cheap), 2))
    world.post(cheap)
    world.update(dear)
    fresh = world.process(dear)
    opened(fresh, 2).record("failed")
    assert world.budget()["spent"] == CENT


def test_a_correction_of_another_time_or_key_changes_nothing(
    world: World, book: Callable[[int], PriceBook]
) -> None:
    dear, cheap = book(10), book(1)
    process = world.process(dear)
    ended(opened(process, 1, world.key_id))
    world.post(dear)
    ended(opened(process, 9))  # of another key of the account
    list(reprice(world.engine, cheap, 0, 1_000_000_000_000))  # nothing of this day
    world.post(cheap)
    world.update(cheap)
    with reading(world.engine) as connection:
        rows = connection.execute(sa.select(corrections)).all()
    assert {row.api_key_id: row.added_nanousd for row in rows} == {
        world.key_id: -CENT * 9 // 10,
        "other": -CENT * 9 // 10,  # reported by the consumer: it was charged at another price
    }
    assert {row.corrected_requests for row in rows} == {1}


def test_a_ledger_that_said_too_much_and_is_rebuilt_frees_the_budget(
    world: World, book: Callable[[int], PriceBook]
) -> None:
    prices = book(1)
    process = world.process(prices)
    ended(opened(process, 2))
    world.post(prices)
    with world.engine.execution_options(writes=True).begin() as connection:
        connection.execute(sa.update(daily_rollups).values(cost_nanousd=3 * CENT))
    process = world.process(prices)
    with pytest.raises(InsufficientQuota):
        opened(process, 2)
    for stretch in day_ranges(world.engine):
        rebuild(world.engine, stretch)
    opened_soon(process, 2).record("failed")
    assert world.budget()["spent"] == CENT // 10


def test_a_true_event_in_the_place_of_an_estimate_corrects_the_budget(
    world: World, book: Callable[[int], PriceBook]
) -> None:
    """A process that was only paused publishes what its request really used: nothing."""
    prices = book(10)
    process = world.process(prices)
    meter = opened(process, 1)
    reaped(world, process, meter, prices)
    world.post(prices)
    assert world.budget()["spent"] == CENT // 2  # the prompt, by its length
    with pytest.raises(InsufficientQuota):
        opened(process, 1)
    meter.record("failed")
    world.post(prices)
    opened(world.process(prices), 1).record("failed")
    assert world.budget()["spent"] == 0


def test_an_estimate_and_its_true_event_that_are_posted_together_correct_the_budget(
    world: World, book: Callable[[int], PriceBook]
) -> None:
    """No worker could reach the ledger in between."""
    prices = book(10)
    process = world.process(prices)
    meter = opened(process, 1)
    reaped(world, process, meter, prices)
    meter.record("failed")
    world.post(prices)
    opened_soon(world.process(prices), 1).record("failed")
    assert world.budget()["spent"] == 0


def test_an_estimate_at_another_price_than_the_ledgers_corrects_the_budget(
    world: World, book: Callable[[int], PriceBook]
) -> None:
    dear, cheap = book(10), book(1)
    process = world.process(dear)
    reaped(world, process, opened(process, 1), dear)
    world.post(cheap)
    opened_soon(world.process(cheap), 1).record("failed")
    assert world.budget()["spent"] == CENT // 20


def test_an_event_that_was_a_dead_letter_in_between_corrects_the_budget(
    world: World, book: Callable[[int], PriceBook]
) -> None:
    dear, cheap = book(10), book(1)
    ended(opened(world.process(dear), 2))
    stream = EventStream(world.redis, claim_idle_ms=0)
    stream.dead_letter((entry, "no") for entry in stream.claim_new("w", 1))
    dead = DeadLetterStream(world.redis)
    (letter,) = dead.entries()
    assert (world.redis.xlen(EVENTS), dead.retry([letter.entry_id])) == (0, [letter.entry_id])
    world.post(cheap)
    opened_soon(world.process(cheap), 2).record("failed")
    assert world.budget()["spent"] == CENT // 10
