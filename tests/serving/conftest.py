"""Fixtures: engines of one process each; all their entries are at one simulated vendor."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from app.vendors.vendor import Vendor
from tests.serving.engine import Engine, engine_of
from tests.support.vendor import SimulatedVendor

MakeEngine = Callable[..., Engine]


@pytest.fixture
def make_engine(vendor: SimulatedVendor, redis_url: str, tmp_path: Path) -> Iterator[MakeEngine]:
    """Make engines, each of one process; they share Redis and the vendor."""
    numbers = count()
    with ExitStack() as stack:

        def make(*entries: Vendor) -> Engine:
            spool = tmp_path / f"spool-{next(numbers)}"
            return stack.enter_context(engine_of(vendor, redis_url, spool, list(entries)))

        yield make
