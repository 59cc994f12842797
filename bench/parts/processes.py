"""The start-up of gateways, and the speed-up by a second web process."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from bench.cores import pinned, split
from bench.figures import SCALING, TWO_WEB
from bench.parts.requests import CONNECTIONS, LOAD_S, WARM_UP_S
from bench.results import Record
from bench.stage import Stage, metered, start_record
from bench.wrk import press

#: The least cores with which vendor, client and worker keep up with two web processes.
SCALING_CORES = 4


def startup(stage: Stage) -> Iterator[Record]:
    """Measure the time to each gateway's first response, and its memory; Tollgate several times."""
    yield from stage.starts
    for at in range(1, stage.rounds):
        log_dir = stage.folder / "tollgate" / f"start-{at}"
        web, target, start_s = stage.tollgate.start_web(log_dir, stage.gateway_cores)
        with contextlib.ExitStack() as exits:
            exits.callback(web.stop)
            yield start_record(target, start_s)


def scaling(stage: Stage) -> Iterator[Record]:
    """Compare two web processes with one; each has its own core."""
    cores = stage.gateway_cores | stage.rest
    if len(cores) < SCALING_CORES:
        stage.say(
            f"Two web processes are not measured: of {len(cores)} cores, too few are left for"
            f" vendor, client and worker to keep up ({SCALING_CORES} are needed)"
        )
        return
    both, rest = split(cores, 2)
    stage = replace(stage, gateway_cores=both, rest=rest)
    one = stage.gateways[0]
    with contextlib.ExitStack() as exits:
        exits.enter_context(pinned(rest))
        log_dir = stage.folder / "tollgate" / "two"
        web, two, _ = stage.tollgate.start_web(log_dir, both, web_processes=2)
        exits.callback(web.stop)
        press(two, 2 * CONNECTIONS, WARM_UP_S)
        for _ in range(stage.rounds):
            single = press(one, CONNECTIONS, LOAD_S)
            one.settle()
            with metered(stage, two) as meter:
                rate = press(two, 2 * CONNECTIONS, LOAD_S)
            figures = {
                "requests_s": rate.requests_s,
                "ratio": rate.requests_s / single.requests_s,
                "cpu_ms": meter.cpu_s / rate.requests * 1000,
            }
            yield Record(SCALING, TWO_WEB, two.name, figures, meter.shares)
