"""The figures in `docs/performance.md`: made from a kept result, so that none is typed."""

from collections.abc import Iterator, Mapping

from app.settings import ROOT
from bench.figures import FIGURES
from bench.report import goals, place, remarks
from bench.results import Key, Median, Result

PAGE = ROOT / "docs" / "performance.md"
#: File -> what stands in its place where it cannot be seen.
CHARTS: Mapping[str, str] = {
    "requests": "Requests a second, and processor time of each, by gateway",
    "chunks": "Chunks a second, and processor time of each, by gateway",
    "memory": "Memory by the number of open streams, by gateway",
    "lags": "Lag of chunks by percentile, by gateway",
}
BEGIN = "<!-- from bench/results by `python -m bench.charts`: begin -->"
END = "<!-- end -->"


def with_figures(text: str, result: Result) -> str:
    """Return the page `text` with the charts and tables of `result`.

    Raises: ValueError when the page has no place for it.
    """
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n{figures(result)}\n{text[end:]}"


def figures(result: Result) -> str:
    """Return the result in Markdown: where and when, charts, each figure of each target."""
    machine = result.machine
    packages = ", ".join(f"{name} {number}" for name, number in result.versions.items())
    middles = result.middles()
    targets = sorted(dict.fromkeys(one.target for one in result.records), key=place)
    head = (
        f"{result.kept_at[:10]}, commit {result.commit}: {machine['processor']},"
        f" {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']};"
        f" load before {result.load_before:.1f}. {packages}."
    )
    charts = [f"\n![{words}](performance/{name}.svg)" for name, words in CHARTS.items()]
    said = [f"\n{remark}." for remark in remarks(result)]
    return "\n".join([head, *said, *charts, *_tables(middles, targets)])


def _tables(middles: Mapping[Key, Median], targets: list[str]) -> Iterator[str]:
    """Yield the lines of a table for each case."""
    cases = dict.fromkeys((key[0], key[1]) for key in middles)
    for part, case in cases:
        seen = [one for one in targets if any(key[:3] == (part, case, one) for key in middles)]
        yield f"\n| {case} | {' | '.join(seen)} | goal |"
        yield f"| --- |{' ---: |' * len(seen)} --- |"
        for figure in dict.fromkeys(key[3] for key in middles if key[:2] == (part, case)):
            cells = (_cell(middles.get((part, case, one, figure)), figure) for one in seen)
            goal = goals(middles, part, case, figure)
            yield f"| {FIGURES[figure].label} | {' | '.join(cells)} | {goal} |"


def _cell(value: Median | None, figure: str) -> str:
    return FIGURES[figure].show(value.median) if value else ""
