"""`python -m tests.contract.wild` runs many seeds, and prints their faults."""

import logging
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from tests.contract.wild.case import Case
from tests.contract.wild.deal import deal
from tests.contract.wild.rig import Rig, running_rig
from tests.contract.wild.verdict import faults
from tests.support.services.valkey import Valkey


@click.command()
@click.option("--seeds", type=int, default=1000, show_default=True, help="How many cases.")
@click.option("--first", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--only", default="", help="Deal deviations whose name matches this pattern, alone.")
@click.option("--but", default="", help="Deal no deviation whose name matches this pattern.")
@click.option("--row", default="", help="Ask this row of the vendor table alone.")
@click.option("--side-by-side", type=int, default=8, show_default=True, help="Cases at a time.")
@click.option("--show", type=int, default=20, show_default=True, help="Faults to print in full.")
def main(
    seeds: int, first: int, only: str, but: str, row: str, side_by_side: int, show: int
) -> None:
    """Run cases against a gateway in this process, and print the deviations and the faults."""
    logging.disable(logging.CRITICAL)
    begun_s, dealt, lost = time.monotonic(), Counter[str](), Counter[str]()
    shown = 0
    with tempfile.TemporaryDirectory() as folder:
        valkey = Valkey(Path(folder)).start()
        try:
            with (
                running_rig(Path(folder), valkey.url) as rig,
                ThreadPoolExecutor(side_by_side) as pool,
            ):
                numbers = range(first, first + seeds)
                for names, line, found in pool.map(
                    lambda s: _play(rig, deal(s, row, only, but)), numbers
                ):
                    dealt.update(names)
                    if found:
                        lost.update(names)
                        shown += 1
                        if shown <= show:
                            click.echo(f"{line}\n  " + "\n  ".join(found))
                rig.recorded.read()
                twice = [r for r, events in rig.recorded.by_request.items() if len(events) > 1]
        finally:
            valkey.stop()
    for name, count in sorted(dealt.items()):
        click.echo(f"{count:7}  {lost[name]:6} lost  {name}")
    took_s = time.monotonic() - begun_s
    click.echo(f"{seeds} seeds, {shown} with faults, {len(twice)} recorded twice, {took_s:.0f} s")
    sys.exit(bool(shown or twice))


def _play(rig: Rig, case: Case) -> tuple[list[str], str, list[str]]:
    outcome = rig.play(case)
    found = faults(case, outcome, rig.recorded.of(outcome.request_id))
    return [deviation.name for deviation in case.deviations] or ["nothing"], str(case), found


if __name__ == "__main__":
    main()
