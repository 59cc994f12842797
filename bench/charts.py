"""`python -m bench.charts`: draws the charts and tables of docs/performance.md.

Requires matplotlib (the extra `bench`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click

from app.settings import ROOT
from bench.figures import (
    CHUNKS,
    FLAT_STREAMS,
    METRICS,
    REQUESTS,
    STREAMS,
    TOLLGATE,
    VENDOR,
    connections,
    open_streams,
)
from bench.page import PAGE, with_figures
from bench.results import Median, Result, last

FOLDER = ROOT / "docs" / "performance"
#: Tollgate stands out; peers in the order of their columns; the vendor is the background.
COLOURS = {TOLLGATE: "#0969da", VENDOR: "#c8cdd3"}
PEER_COLOURS = ("#6e7781", "#9a6700", "#8250df")
STREAM_COUNTS = (100, 500, 1000, 2000)


def main() -> None:
    """Draw the charts and write the page."""
    result = last()
    if result is None:
        raise click.ClickException("There is no saved result. Run: make bench BENCH_FLAGS=--keep")
    import matplotlib as mpl  # noqa: PLC0415  # an extra

    mpl.use("svg")
    mpl.rcParams.update(
        {
            "svg.hashsalt": "tollgate",  # the same result gives the same file
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    FOLDER.mkdir(exist_ok=True)
    bars(result, REQUESTS, connections(32), ("requests_s", "cpu_ms"), FOLDER / "requests.svg")
    bars(result, CHUNKS, FLAT_STREAMS, ("chunks_s", "cpu_us"), FOLDER / "chunks.svg")
    memory(result, FOLDER / "memory.svg")
    lags(result, FOLDER / "lags.svg")
    PAGE.write_text(with_figures(PAGE.read_text("utf-8"), result), "utf-8")
    click.echo(f"Drawn from {result.kept_at[:10]}-{result.commit}", err=True)


def bars(result: Result, part: str, case: str, figures: Sequence[str], path: Path) -> None:
    """Draw one panel per metric, with a bar for each gateway."""
    medians = result.medians()
    drawing, panels = _panels(len(figures), height=0.55 * len(gateways(result)) + 0.9)
    for panel, name in zip(panels, figures, strict=True):
        figure = METRICS[name]
        shown = [one for one in gateways(result) if (part, case, one, name) in medians]
        values = [medians[part, case, one, name].median for one in shown]
        drawn = panel.barh(shown, values, color=[colour(result, one) for one in shown], height=0.6)
        panel.bar_label(drawn, [figure.show(value) for value in values], padding=4)
        panel.set_title(f"{figure.label} ({figure.better} is better)", loc="left", fontsize=10)
        panel.invert_yaxis()
        panel.margins(x=0.25)
        panel.set_xticks([])
        panel.spines["bottom"].set_visible(False)
        panel.tick_params(axis="y", length=0)
    drawing.suptitle(case, x=0.01, ha="left", fontsize=11, fontweight="bold")
    _save(drawing, path)


def memory(result: Result, path: Path) -> None:
    """Draw the memory of each gateway by its number of open streams."""
    medians = result.medians()
    drawing, (panel,) = _panels(1)
    for name in gateways(result):
        counts, values = _line(medians, name, "peak_mb")
        panel.plot(counts, values, marker="o", color=colour(result, name), label=name)
    panel.set_xlabel("concurrent streams, each with a chunk every 50 ms")
    panel.set_title("memory of all processes, MB", loc="left", fontsize=10)
    panel.set_xticks(STREAM_COUNTS)
    panel.set_ylim(bottom=0)
    _name_lines(panel)
    _save(drawing, path)


def lags(result: Result, path: Path) -> None:
    """Draw the lag of chunks by percentile, with 1,000 streams."""
    drawing, (panel,) = _panels(1)
    for name in (VENDOR, *gateways(result)):
        rounds = [
            one.lags
            for one in result.records
            if (one.part, one.case, one.target) == (STREAMS, open_streams(1000), name) and one.lags
        ]
        if rounds:
            percents = list(rounds[0])
            values = [median([one[percent] for one in rounds]) for percent in percents]
            labels = ["max" if percent == "100" else f"{percent} %" for percent in percents]
            panel.plot(labels, values, marker="o", color=colour(result, name), label=name)
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.set_xlabel("percentile over the chunks of 1,000 streams, a chunk every 50 ms in each")
    panel.set_title("from the vendor's sending a chunk to its arrival, ms", loc="left", fontsize=10)
    _name_lines(panel)
    _save(drawing, path)


def gateways(result: Result) -> list[str]:
    """Return the gateways' names, Tollgate first."""
    names = dict.fromkeys(one.target for one in result.records if one.target != VENDOR)
    return sorted(names, key=lambda name: name != TOLLGATE)


def colour(result: Result, target: str) -> str:
    """Return a target's colour."""
    peers = [name for name in gateways(result) if name not in COLOURS]
    return COLOURS.get(target) or PEER_COLOURS[peers.index(target)]


def _line(
    medians: Mapping[tuple[str, str, str, str], Median], target: str, figure: str
) -> tuple[list[int], list[float]]:
    found = {count: (STREAMS, open_streams(count), target, figure) for count in STREAM_COUNTS}
    counts = [count for count, key in found.items() if key in medians]
    return counts, [medians[found[count]].median for count in counts]


def _panels(count: int, height: float = 3.4) -> tuple[Any, Sequence[Any]]:
    import matplotlib.pyplot as plt  # noqa: PLC0415  # an extra

    drawing, panels = plt.subplots(1, count, figsize=(8, height), squeeze=False)
    return drawing, list(panels[0])


def _name_lines(panel: Any) -> None:
    """Label the lines beside the panel."""
    panel.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _save(drawing: Any, path: Path) -> None:
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
