"""The table: every metric of every target, ratios to the peers, goals, and the last result."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.figures import GOALS, METRICS, TOLLGATE, VENDOR
from bench.results import Key, Median, Result, Shares

#: Other possible bottlenecks: a share, and the threshold above which it is one.
REMARKS: Sequence[tuple[str, float, Callable[[Shares], float]]] = (
    ("Other processes took more than 5 % of the gateway's core", 0.05, lambda x: x.foreign),
    ("The cores of vendor, client and worker were full", 0.9, lambda x: x.rest),
    ("The vendor took a whole core", 0.9, lambda x: x.vendor),
    ("The client took a whole core", 0.9, lambda x: x.client),
)


def report(result: Result, before: Result | None) -> Iterator[str]:
    """Yield the lines of the table, and remarks."""
    medians = result.medians()
    old = before.medians() if before else {}
    targets = list(dict.fromkeys(one.target for one in result.records))
    targets.sort(key=place)
    headings = ["", *targets, "goal", f"before ({before.commit})" if before else ""]
    lines = [headings]
    case = ""
    for part, name, figure in dict.fromkeys((key[0], key[1], key[3]) for key in medians):
        if case != (case := f"{part}: {name}"):
            lines.append([case])
        lines.append(
            [
                f"  {METRICS[figure].label}",
                *(_cell(medians, (part, name, target, figure)) for target in targets),
                goals(medians, part, name, figure),
                _before(medians, old, (part, name, TOLLGATE, figure)),
            ]
        )
    yield from _aligned(lines)
    yield ""
    yield from remarks(result)
    yield from worse(medians, old)


def worse(medians: Mapping[Key, Median], before: Mapping[Key, Median]) -> Iterator[str]:
    """Yield a line for each of Tollgate's metrics that is worse by more than its rounds vary."""
    for key, now in medians.items():
        old = before.get(key)
        if old is None or key[2] != TOLLGATE or now.spread is None or old.spread is None:
            continue
        figure = METRICS[key[3]]
        if figure.is_worse(now.median, old.median, max(now.spread, old.spread)):
            yield (
                f"Worse than before, beyond the rounds' spread: {key[1]}, {figure.label}:"
                f" {figure.show(now.median)}, was {figure.show(old.median)}"
            )


def place(target: str) -> int:
    """Return the sort key of a target's column: the vendor, Tollgate, the peers."""
    return {VENDOR: 0, TOLLGATE: 1}.get(target, 2)


def _cell(medians: Mapping[Key, Median], key: Key) -> str:
    value = medians.get(key)
    if value is None:
        return ""
    shown = METRICS[key[3]].show(value.median)
    ours = medians.get((*key[:2], TOLLGATE, key[3]))
    if place(key[2]) < 2 or ours is None or min(value.median, ours.median) <= 0:
        return shown
    return f"{shown} (x {ours.median / value.median:.2f})"


def goals(medians: Mapping[Key, Median], part: str, case: str, figure: str) -> str:
    """Return the goals of a metric, and whether they are met."""
    ours = medians.get((part, case, TOLLGATE, figure))
    words = []
    for goal in GOALS:
        if ours is None or (goal.part, goal.case, goal.figure) != (part, case, figure):
            continue
        peer = medians.get((part, case, goal.peer, figure)) if goal.peer else None
        met = goal.is_met(ours.median, peer.median if peer else None)
        words.append(f"{goal}: {'-' if met is None else 'met' if met else 'MISSED'}")
    return ", ".join(words)


def _before(medians: Mapping[Key, Median], old: Mapping[Key, Median], key: Key) -> str:
    if key not in old or key not in medians:
        return ""
    figure = METRICS[key[3]]
    shown = figure.show(old[key].median)
    if not old[key].median:
        return shown
    change = medians[key].median / old[key].median - 1
    return f"{shown} ({change:+.0%})"


def remarks(result: Result) -> Iterator[str]:
    """Yield remarks about cases in which the gateway may not have been the bottleneck."""
    rounds = [one for one in result.records if place(one.target) and one.shares != Shares()]
    for remark, limit, share in REMARKS:
        cases = dict.fromkeys(f"{one.case} ({one.target})" for one in rounds)
        where = dict.fromkeys(
            f"{one.case} ({one.target})" for one in rounds if share(one.shares) > limit
        )
        if where:
            all_or_some = "everywhere" if len(where) == len(cases) else ", ".join(where)
            yield f"{remark}, and may have been the bottleneck: {all_or_some}"


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines with aligned columns; the first column and the goals are left-aligned."""
    columns = max(map(len, lines))
    widths = [
        max(len(line[at]) for line in lines if len(line) > max(at, 1)) for at in range(columns)
    ]
    for line in lines:
        if len(line) == 1:
            yield line[0]
            continue
        cells = [
            text.ljust(width) if at in (0, columns - 2) else text.rjust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
