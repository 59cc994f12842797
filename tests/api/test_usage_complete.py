"""Up to when usage is complete, as its header says."""

import dataclasses
import time

import pytest

from app.settings import Settings
from app.storage.redis.connection import connect
from app.usage.missing import Missing, Search
from app.usage.redis.processes import Processes
from tests.api.usage_site import (
    MIDNIGHT_S,
    Site,
    at,
    make_site,
    tokens,
)
from tests.support.ports import free_port


@pytest.fixture
def searched(settings: Settings) -> Processes:
    """A worker has just searched for what is missing, and found nothing."""
    processes = Processes(connect(settings.redis_url, settings.redis_timeout_s))
    processes.store({}, Search(time.time_ns() // 1_000_000))
    return processes


def _complete_until_s(site: Site) -> int:
    return int(site.get({"start_time": MIDNIGHT_S}).headers["x-tollgate-complete-until"])


@pytest.mark.usefixtures("searched")
def test_figures_are_complete_to_the_last_search_when_nothing_waits(site: Site) -> None:
    before_s = int(time.time())
    assert before_s - 10 <= _complete_until_s(site) <= time.time()


@pytest.mark.usefixtures("searched")
def test_a_file_says_when_it_is_complete(site: Site) -> None:
    response = site.get({"start_time": MIDNIGHT_S, "format": "csv"})
    assert "x-tollgate-complete-until" in response.headers


def test_without_redis_usage_is_answered_but_not_called_complete(settings: Settings) -> None:
    down = dataclasses.replace(settings, redis_url=f"redis://127.0.0.1:{free_port()}/0")
    site = make_site(down)
    site.post(at(MIDNIGHT_S))
    response = site.get({"start_time": MIDNIGHT_S, "limit": 1})
    assert tokens(response.get_json()["data"]) == 5
    assert "x-tollgate-complete-until" not in response.headers
    site.close()


def test_figures_are_not_complete_beyond_a_gap_nor_beyond_the_last_search(
    site: Site, searched: Processes
) -> None:
    searched.store({}, Search((MIDNIGHT_S + 50) * 1000))
    assert _complete_until_s(site) == MIDNIGHT_S + 50
    gap = Missing("web-1", 3, 4, MIDNIGHT_S * 1000, (MIDNIGHT_S + 9) * 1000, 0)
    searched.store({}, Search(time.time_ns() // 1_000_000, (gap,)))
    assert _complete_until_s(site) == MIDNIGHT_S


def test_after_redis_lost_its_data_nothing_is_called_complete_until_a_search(
    site: Site, settings: Settings
) -> None:
    connect(settings.redis_url, settings.redis_timeout_s).flushall()
    assert "x-tollgate-complete-until" not in site.get({"start_time": MIDNIGHT_S}).headers
