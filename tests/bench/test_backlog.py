"""The backlog: what is published, what is seen while it is posted, and what must come of it."""

import pytest

from app.pricing.price_book import load_prices
from app.usage.cost import cost_of
from bench.events import ACCOUNTS, MODELS, Sums, add_up, differences, events
from bench.procfile import parse
from bench.samples import Sample, at_tenths, posting_span, report

START_MS = 1_788_220_800_000


def test_events_are_of_many_accounts_and_priced_models_and_in_their_span() -> None:
    published = list(events(1200, START_MS, 60_000))
    assert len({event.event_id for event in published}) == 1200
    assert len({event.account_id for event in published}) == ACCOUNTS
    assert {(event.vendor, event.model) for event in published} == set(MODELS)
    assert all(START_MS <= event.started_at_ms < START_MS + 60_000 for event in published)
    prices = load_prices()
    assert all(cost_of(event, prices).nanousd is not None for event in published)


def test_sums_are_told_apart_to_the_last_token() -> None:
    published = list(events(300, START_MS, 60_000))
    whole: dict[str, Sums] = {}
    add_up(whole, published, load_prices())
    assert sum(sums.requests for sums in whole.values()) == 300
    assert sum(s.prompt_tokens for s in whole.values()) == sum(e.prompt_tokens for e in published)
    assert differences(whole, dict(whole)) == []
    lacking: dict[str, Sums] = {}
    add_up(lacking, published[:-1], load_prices())
    assert len(differences(whole, lacking)) == 1
    assert len(differences(whole, {})) == len(whole)


def test_a_procfiles_line_is_the_program_of_this_environment() -> None:
    program, *arguments = parse("web: gunicorn app\nworker: celery --app 'a b'\n", "worker")
    assert program.endswith("/celery")
    assert arguments == ["--app", "a b"]
    with pytest.raises(KeyError):
        parse("web: gunicorn app\n", "worker")


def sample(at_s: float, waiting: int, memory_mb: float = 0, workers_s: float = 0.0) -> Sample:
    return Sample(at_s, waiting, workers_s, workers_s / 2, memory_mb)


def test_time_counts_from_the_last_sample_before_the_first_post() -> None:
    samples = [sample(0, 100), sample(1, 100), sample(2, 50), sample(3, 0), sample(4, 0)]
    began, ended = posting_span(samples)
    assert (began.at_s, ended.at_s) == (1, 3)


def test_memory_is_told_at_each_tenth() -> None:
    samples = [sample(0, 100, 7), sample(1, 85, 10), sample(2, 40, 20), sample(3, 0, 30)]
    assert at_tenths(samples) == [10, 20, 20, 20, 20, 20, 30, 30, 30, 30]


def test_the_report_is_of_a_million_events() -> None:
    samples = [sample(0, 1000, 1, 1.0), sample(0.1, 0, 2, 1.05)]
    lines = list(report("title", samples))
    assert "10,000 events/s" in lines[1]
    assert "50.0 s per million" in lines[2]
    assert "2 MB" in lines[4]
