"""Posting in any order and at the same time: each event counts once."""

import random
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.ledger.posting import Entry, Ledger, summed
from app.ledger.reconcile import day_ranges, differences
from app.pricing.price import EffectivePeriod, PriceHistory
from app.pricing.price_book import PriceBook
from app.pricing.rates import load_price
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import ENDPOINT_KEY
from app.usage.messages.event import UsageEvent
from tests.ledger.ledgers import EVENTS, as_posted, empty_ledger, ledger_of
from tests.support.events import usage_event

M_PRICE = load_price("openai/m", {"input": "0.15", "cached": "0.0375", "output": "0.6"})


#: Knows the price of the model `m`, and no other.
BOOK = PriceBook(
    lambda _, models, _tier: PriceHistory(
        ((EffectivePeriod(), M_PRICE if "m" in models else None),)
    ),
)


@settings(max_examples=40, deadline=None)
@given(EVENTS, st.data())
def test_batches_in_any_order_and_number_post_each_event_once(
    events: list[UsageEvent], data: st.DataObject
) -> None:
    again = data.draw(st.lists(st.sampled_from(events), max_size=12))
    deliveries = data.draw(st.permutations(events + again))
    with empty_ledger() as engine:
        posted = 0
        while deliveries:
            size = data.draw(st.integers(1, len(deliveries)))
            posted += Ledger(engine, BOOK).post(deliveries[:size])
            deliveries = deliveries[size:]
        assert posted == len(events)
        assert ledger_of(engine) == as_posted(events, BOOK)
        assert [it for days in day_ranges(engine) for it in differences(engine, days)] == []


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12), st.data())
def test_a_requests_own_event_stays_in_any_order_with_abandoned_ones(
    told: list[tuple[int, bool]], cuts: st.DataObject
) -> None:
    truths = [usage_event(prompt_tokens=10 + at, total_tokens=20 + at) for at in range(4)]
    guesses = [
        replace(e, status="abandoned", source="estimated", prompt_tokens=1, total_tokens=1)
        for e in truths
    ]
    events = [truths[at] if true else guesses[at] for at, true in told]
    cut = cuts.draw(st.integers(0, len(events)))
    with empty_ledger() as engine:
        for batch in (events[:cut], events[cut:]):
            Ledger(engine).post(batch)
        kept = [
            truths[at] if (at, True) in told else guesses[at] for at in sorted({n for n, _ in told})
        ]
        assert ledger_of(engine) == as_posted(kept)


def test_concurrent_writers_post_each_event_once(database_url: str) -> None:
    """Case D26: overlapping batches over many accounts, in opposite orders."""
    shuffler = random.Random(26)  # noqa: S311 - no secret
    rounds = [
        [usage_event(account_id=f"acct_{n % 60}", model=f"m{n % 2}") for n in range(120)]
        for _ in range(25)
    ]

    def post_all(rounds: list[list[UsageEvent]]) -> int:
        engine = create_engine(database_url)
        try:
            return sum(Ledger(engine).post(batch) for batch in rounds)
        finally:
            engine.dispose()

    shuffled = [shuffler.sample(batch, len(batch)) for batch in rounds]
    backwards = [batch[::-1] for batch in rounds[::-1]]
    with ThreadPoolExecutor(3) as pool:
        posted = sum(pool.map(post_all, (rounds, shuffled, backwards)))
    everything = [event for batch in rounds for event in batch]
    engine = create_engine(database_url)
    assert posted == len(everything)
    assert ledger_of(engine) == as_posted(everything)
    engine.dispose()


def test_rollups_are_summed_in_the_order_of_their_keys() -> None:
    """All writers lock rows in this order, to avoid deadlocks."""
    events = [usage_event(account_id=name, model=model) for name in "bca" for model in "yx"]
    keys = [tuple(row[name] for name in ENDPOINT_KEY) for row in summed(map(Entry, events))]
    assert keys == sorted(keys)
    assert len(keys) == 6
