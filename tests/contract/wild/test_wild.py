"""Vendors that are sloppy lose nobody's answer: every wire, under deviations dealt from seeds.

No paid answer is lost that a careful reader could read; usage that was sent is never replaced by
a guess; never two texts in one choice; always exactly one event; and a caller's answer ends when
the vendor's does. `WILD_SEEDS=17` plays one seed of each row, `WILD_SEEDS=0-999` a thousand.
"""

import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.wild.case import Case
from tests.contract.wild.deal import deal, plain
from tests.contract.wild.rig import Rig, running_rig
from tests.contract.wild.verdict import faults
from tests.contract.wild.wires.rows import SPEAKERS
from tests.support.services.valkey import Valkey

#: Cases of a row that are played at the same time: many of them wait.
SIDE_BY_SIDE = 8


def _seeds() -> range:
    first, _, last = os.environ.get("WILD_SEEDS", "0-39").partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Rig]:
    """A gateway in front of a sloppy vendor."""
    logging.disable(logging.CRITICAL)  # a line for each request would bury what was lost
    try:
        with running_rig(tmp_path_factory.mktemp("wild"), valkey.url) as served:
            yield served
    finally:
        logging.disable(logging.NOTSET)


def _lost(rig: Rig, cases: list[Case]) -> str:
    """Run the cases; return the faults, each with the command that runs its case alone."""

    def play(case: Case) -> str:
        outcome = rig.play(case)
        found = faults(case, outcome, rig.recorded.of(outcome.request_id))
        return f"{case}\n  " + "\n  ".join(found) + _again(case) if found else ""

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        lost = "\n".join(filter(None, pool.map(play, cases)))
    rig.recorded.read()
    twice = [name for name, events in rig.recorded.by_request.items() if len(events) > 1]
    return lost + "".join(f"\nrecorded twice: {name}" for name in twice)


def _again(case: Case) -> str:
    return f"\n  python -m tests.contract.wild --row {case.row} --first {case.seed} --seeds 1"


@pytest.mark.parametrize("row", sorted(SPEAKERS))
def test_a_good_answer_is_delivered_and_counted(rig: Rig, row: str) -> None:
    lost = _lost(rig, [plain(seed, row) for seed in range(6)])
    assert not lost, lost


@pytest.mark.parametrize("row", sorted(SPEAKERS))
def test_a_sloppy_answer_is_delivered_and_counted(rig: Rig, row: str) -> None:
    lost = _lost(rig, [deal(seed, row) for seed in _seeds()])
    assert not lost, lost
