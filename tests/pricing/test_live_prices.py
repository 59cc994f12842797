"""Prices that are taken while a process runs."""

import gc
import logging
import os
import threading
import time
from pathlib import Path

import pytest

from app.pricing.live_prices import CHECK_S, SETTLE_S, LivePrices, prices_version
from app.settings import ConfigError
from tests.pricing.books import TOKENS, row
from tests.support.services.polling import wait_until

#: How long ago a file must have been written to be taken at the first look.
LONG_AGO_S = SETTLE_S + 1


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class World:
    """A price file, and a process that looks at it when the test says so."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock = path, Clock()
        self.write(row("x/m", "1"), age_s=60)
        self.live = LivePrices(path, clock_s=self.clock)

    def write(self, text: str, age_s: float = LONG_AGO_S) -> None:
        """Replace the file, as if that had been done `age_s` ago."""
        new = self.path.with_suffix(".new")
        new.write_text(text)
        at_s = time.time() - age_s
        os.utime(new, (at_s, at_s))
        new.replace(self.path)

    def cost(self) -> float | None:
        """Return what a million tokens cost, in dollars."""
        nanousd = self.live.book.cost_nanousd("x", "m", TOKENS)
        return None if nanousd is None else nanousd / 1e9

    def look(self) -> float | None:
        """Have the process look at the file; return what a million tokens cost then."""
        self.clock.now_s += CHECK_S
        self.live.refresh()
        return self.cost()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "own.toml")


def test_a_changed_file_is_taken_at_the_next_look(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    assert world.cost() == 1
    world.write(row("x/m", "2"))
    world.live.refresh()
    assert world.cost() == 1  # a look is due only every few seconds
    with caplog.at_level(logging.INFO):
        assert world.look() == 2
    assert prices_version(world.path) in caplog.text
    caplog.clear()
    assert world.look() == 2
    assert caplog.records == []


def test_an_invalid_file_changes_nothing_and_is_said_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.write('[[prices]]\nmodel = "x/m"\ninp')
    assert [world.look() for _ in range(3)] == [1, 1, 1]
    [record] = caplog.records
    assert record.levelname == "ERROR"
    assert str(world.path) in (world.live.fault or "")
    world.write(row("x/m", "-5"))
    assert world.look() == 1
    assert len(caplog.records) == 2
    world.write(row("x/m", "3"))
    assert world.look() == 3
    assert world.live.fault is None


@pytest.mark.parametrize(
    "text",
    [
        *("", " \n", "x = " + "[" * 100_000, f"x = {'9' * 5_000}", "[[prices]]\nmodel = 'x/m"),
        *("\ufeff", "prices = 3", "[[prices]]\nmodel = 'x/m'\ninput = nan\noutput = 1e999"),
    ],
)
def test_a_file_that_was_cut_or_makes_no_sense_changes_nothing_and_the_next_one_is_taken(
    world: World, text: str
) -> None:
    world.write(text)
    assert (world.look(), world.look()) == (1, 1)
    assert world.live.fault
    world.write(row("x/m", "2"))
    assert world.look() == 2
    assert not world.live.fault


def test_a_file_that_is_being_written_is_left_until_it_stays_the_same(world: World) -> None:
    world.write(row("x/m", "2"), age_s=0)
    assert world.look() == 1
    world.write(row("x/m", "2") + row("y/m", "1"), age_s=0)
    assert world.look() == 1
    # The clock of its disk may be ahead: a file that has not changed since the last look is whole.
    world.write(row("x/m", "4"), age_s=-3600)
    assert [world.look(), world.look()] == [1, 4]


def test_a_file_that_is_gone_changes_nothing_until_it_is_back(world: World) -> None:
    world.path.unlink()
    assert [world.look(), world.look()] == [1, 1]
    assert "cannot be read" in (world.live.fault or "")
    world.write(row("x/m", "1"), age_s=60)
    assert world.look() == 1
    assert world.live.fault is None


def test_a_book_that_was_handed_out_has_the_new_price_of_an_unknown_model(world: World) -> None:
    book = world.live.book
    before = book.unknown("x")
    world.write(row("x/m", "2"))
    world.look()
    assert [price.tiers for price in book.unknown("x")] != [price.tiers for price in before]


def test_a_process_does_not_start_with_an_invalid_file(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[[prices]]\n")
    with pytest.raises(ConfigError):
        LivePrices(path)


def test_a_thread_looks_until_nobody_needs_the_prices() -> None:
    before = set(threading.enumerate())
    live = LivePrices(None)
    live.watch()
    (thread,) = set(threading.enumerate()) - before
    assert thread.daemon
    del live
    gc.collect()
    wait_until(lambda: not thread.is_alive())


def test_closing_ends_the_thread_and_the_prices_stay() -> None:
    before = set(threading.enumerate())
    live = LivePrices(None)
    live.watch()
    (thread,) = set(threading.enumerate()) - before
    price = live.book.context("openai", "gpt-4o")
    live.close()
    wait_until(lambda: not thread.is_alive())
    assert live.book.context("openai", "gpt-4o") == price is not None
