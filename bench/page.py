"""Generates the tables of docs/performance.md from a saved result."""

from collections.abc import Iterator, Mapping

from app.settings import ROOT
from bench.figures import METRICS
from bench.report import goals, place, remarks
from bench.results import Key, Median, Result

PAGE = ROOT / "docs" / "performance.md"
#: File -> alternative text.
CHARTS: Mapping[str, str] = {
    "requests": "Requests per second and processor time per request, by gateway",
    "chunks": "Chunks per second and processor time per chunk, by gateway",
    "memory": "Memory by number of open streams, by gateway",
    "lags": "Lag of chunks by percentile, by gateway",
}
BEGIN = "<!-- from bench/results by `python -m bench.charts`: begin -->"
END = "<!-- end -->"


def with_figures(text: str, result: Result) -> str:
    """Return the page `text` with the charts and tables of `result`.

    Raises: ValueError if the page lacks the markers.
    """
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n{figures(result)}\n{text[end:]}"


def figures(result: Result) -> str:
    """Return the result in Markdown: host and date, charts, and every metric of every target."""
    machine = result.machine
    packages = ", ".join(f"{name} {number}" for name, number in result.versions.items())
    medians = result.medians()
    targets = sorted(dict.fromkeys(one.target for one in result.records), key=place)
    head = (
        f"{result.kept_at[:10]}, commit {result.commit}: {machine['processor']},"
        f" {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']};"
        f" load before {result.load_before:.1f}. {packages}."
    )
    charts = [f"\n![{words}](performance/{name}.svg)" for name, words in CHARTS.items()]
    said = [f"\n{remark}." for remark in remarks(result)]
    return "\n".join([head, *said, *charts, *_tables(medians, targets)])


def _tables(medians: Mapping[Key, Median], targets: list[str]) -> Iterator[str]:
    """Yield the lines of a table for each case."""
    cases = dict.fromkeys((key[0], key[1]) for key in medians)
    for part, case in cases:
        seen = [one for one in targets if any(key[:3] == (part, case, one) for key in medians)]
        yield f"\n| {case} | {' | '.join(seen)} | goal |"
        yield f"| --- |{' ---: |' * len(seen)} --- |"
        for figure in dict.fromkeys(key[3] for key in medians if key[:2] == (part, case)):
            cells = (_cell(medians.get((part, case, one, figure)), figure) for one in seen)
            goal = goals(medians, part, case, figure)
            yield f"| {METRICS[figure].label} | {' | '.join(cells)} | {goal} |"


def _cell(value: Median | None, figure: str) -> str:
    return METRICS[figure].show(value.median) if value else ""
