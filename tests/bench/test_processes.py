"""What the operating system tells of a tree of processes, and small sums."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.cores import pinned, share, split, ticks
from bench.procs import largest_mb, memory_mb, processor_s, tree
from bench.stats import median_interval, percentile
from bench.steady import Minute, compare
from bench.tollgate import procfile
from tests.support.processes import ended, started

#: Starts a child that works for a while and one that lives; says when the first has ended.
PARENT = """
import subprocess, sys
work = "import time\\nwhile time.process_time() < 0.3: pass"
subprocess.run([sys.executable, "-c", work])
hold = "x = bytearray(64_000_000); print(1, flush=True); input()"
pipe = subprocess.PIPE
held = subprocess.Popen([sys.executable, "-c", hold], stdin=pipe, stdout=pipe)
held.stdout.readline()
print("ready", flush=True)
input()
"""


@contextmanager
def parent() -> Iterator[int]:
    command = [sys.executable, "-c", PARENT]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid


def test_a_tree_is_its_living_and_the_time_of_its_dead() -> None:
    with parent() as pid:
        assert len(list(tree(pid))) == 2
        assert processor_s(pid) >= 0.3
        assert memory_mb(pid) > largest_mb(pid) > 64


def test_a_process_that_is_gone_uses_nothing() -> None:
    with started([sys.executable, "-c", ""]) as gone:
        ended(gone)
        assert (processor_s(gone.pid), memory_mb(gone.pid)) == (0, 0)


def test_a_pinned_process_starts_on_its_cores_and_we_return_to_ours() -> None:
    ours = os.sched_getaffinity(0)
    wanted = {max(ours)}
    with (
        pinned(wanted),
        started([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child,
    ):
        assert os.sched_getaffinity(child.pid) == wanted
        assert child.stdin is not None
        child.stdin.close()
    assert os.sched_getaffinity(0) == ours


def test_the_gateway_gets_the_last_cores() -> None:
    assert split({0, 1, 2, 3}, 1) == ({3}, {0, 1, 2})
    assert split({0, 1, 2, 3}, 2) == ({2, 3}, {0, 1})
    assert split({0}, 1) == ({0}, {0})


def test_a_core_that_works_is_busy() -> None:
    core = {max(os.sched_getaffinity(0))}
    with pinned(core):
        before, until_s = ticks(core), time.process_time() + 0.3
        while time.process_time() < until_s:
            pass
        assert share(before, ticks(core)) > 0.5


def test_a_percentile_is_one_of_the_values() -> None:
    assert [percentile([1, 2, 3, 4], percent) for percent in (0, 50, 75, 76, 100)] == [
        1,
        2,
        3,
        4,
        4,
    ]
    assert percentile([7], 99.9) == 7
    assert percentile(range(1, 1001), 99.9) == 999


def test_the_procfile_has_what_is_measured() -> None:
    assert {"web", "worker", "beat"} <= procfile().keys()
    assert procfile()["web"][0] == "gunicorn"


def test_endurance_compares_the_last_third_with_the_first_after_the_warm_up() -> None:
    minutes = [Minute(rate, 5, 0.5, 500, 9, 100 + rate, 0) for rate in (1, 100, 90, 80)]
    lines = list(compare(minutes))
    assert lines[0] == "requests/s: 100.00 in the first third, 80.00 in the last (-20.0%)"
    assert lines[-1] == "memory, MB: 200.00 in the first third, 180.00 in the last (-10.0%)"
    assert next(iter(compare(minutes[:1]))).endswith("(+0.0%)")


@pytest.mark.parametrize("cores", [set(), {10_000}])
def test_a_core_that_is_not_there_was_never_busy(cores: set[int]) -> None:
    assert share(ticks(cores), ticks(cores)) == 0


def test_the_bounds_of_a_median_are_values_around_it() -> None:
    assert median_interval([2.0]) == (2.0, 2.0, 2.0)
    assert median_interval([3.0, 1.0, 2.0, 4.0]) == (2.5, 1.0, 4.0)
    middle, low, high = median_interval([float(value) for value in range(101)])
    assert (middle, low, high) == (50.0, 40.0, 60.0)
