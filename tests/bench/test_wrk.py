"""The load on whole answers."""

import shutil
from dataclasses import replace

import pytest

from bench.failures import LoadFailed
from bench.target import Target
from bench.wrk import parse, press, to_rate

LINE = (
    'RESULT {"requests": 3000, "duration_us": 1500000, "p50_us": 900, "p99_us": 2500,'
    ' "max_us": 4000, "refused": 0, "broken": 0}'
)


def test_figures_are_found_among_what_wrk_prints_and_get_our_units() -> None:
    rate = to_rate(parse(f"Running 1s test\n  1 threads\n{LINE}\n"))
    assert rate.requests == 3000
    assert (rate.requests_s, rate.p50_ms, rate.p99_ms, rate.max_ms) == (2000.0, 0.9, 2.5, 4.0)


def test_output_without_figures_is_an_error() -> None:
    with pytest.raises(LoadFailed, match="unable to connect"):
        parse("unable to connect to 127.0.0.1\n")


@pytest.fixture(params=["wrk", "our own"])
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either client, the first one where it is installed."""
    if request.param == "our own":
        monkeypatch.setenv("PATH", "")
    elif shutil.which("wrk") is None:
        pytest.skip("wrk is not installed")


@pytest.mark.usefixtures("client")
def test_a_load_is_measured(vendor: Target) -> None:
    rate = press(vendor, connections=4, seconds=1)
    assert rate.requests_s == pytest.approx(rate.requests, rel=0.5)  # in about a second
    assert 0 < rate.p50_ms <= rate.p99_ms <= rate.max_ms


@pytest.mark.usefixtures("client")
def test_an_error_among_the_answers_fails_the_run(vendor: Target) -> None:
    with pytest.raises(LoadFailed, match="refused"):
        press(replace(vendor, path="/v1/nothing"), connections=2, seconds=1)
