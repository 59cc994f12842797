"""What is kept, and what it is compared with."""

from pathlib import Path

from bench.page import BEGIN, END, with_figures
from bench.report import report, worse
from bench.results import Key, Median, Record, Result, Shares, keep, last, load, save

MACHINE = {"processor": "A", "cores": 2, "memory_gb": 8, "system": "Linux 6"}


def result(*rates: float, kept_at: str = "2026-11-29T12:00:00+00:00", cores: int = 2) -> Result:
    records = [record("Tollgate", requests_s=rate) for rate in rates]
    machine = {**MACHINE, "cores": cores}
    return Result(kept_at, "abc1234", machine, {"python": "3.11"}, 0.1, tuple(records))


def record(target: str, shares: Shares | None = None, **figures: float) -> Record:
    return Record("requests", "32 connections", target, figures, shares or Shares())


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    kept = result(100, 300, 120)
    path = save(kept, tmp_path)
    assert path.name == "2026-11-29-abc1234.json"
    assert load(path) == kept


def test_rounds_become_a_median_and_a_spread() -> None:
    medians = result(100, 300, 120).medians()
    assert medians == {("requests", "32 connections", "Tollgate", "requests_s"): Median(120, 200)}


def test_a_result_is_compared_with_the_last_one_of_the_same_kind_of_machine(tmp_path: Path) -> None:
    first, second = result(1), result(2, kept_at="2026-11-30T12:00:00+00:00")
    save(second, tmp_path)
    save(first, tmp_path)
    save(result(3, kept_at="2026-12-01T12:00:00+00:00", cores=64), tmp_path)
    assert last(MACHINE, tmp_path) == second
    assert last({**MACHINE, "cores": 4}, tmp_path) is None


def test_other_measurements_are_kept_by_case_and_compared_with_no_run(tmp_path: Path) -> None:
    def posted(case: str, rate: float) -> Record:
        return Record("backlog", case, "Tollgate", {"events_s": rate})

    for one in (posted("sqlite", 1), posted("postgresql", 2), posted("sqlite", 3)):
        path = keep("backlog", [one], 0.5, tmp_path)
    assert path.parent == tmp_path / "backlog"
    assert load(path).records == (posted("postgresql", 2), posted("sqlite", 3))
    assert last(None, tmp_path) is None


def test_only_what_is_worse_by_more_than_the_rounds_differ_is_called_worse() -> None:
    before = result(1000, 1010, 990).medians()
    assert list(worse(result(985, 985).medians(), before)) == []
    assert list(worse(result(2000, 2000).medians(), before)) == []
    (line,) = worse(result(970, 970).medians(), before)
    assert "requests/s: 970, was 1,000" in line
    assert list(worse(result(970, 1000, 900).medians(), before)) == []  # they differ by 100


def test_what_was_measured_once_is_not_judged() -> None:
    assert list(worse(result(1).medians(), result(1000, 1000).medians())) == []


def test_lower_is_better_for_times() -> None:
    def medians(cpu_ms: float) -> dict[Key, Median]:
        rounds = (record("Tollgate", cpu_ms=cpu_ms), record("Tollgate", cpu_ms=cpu_ms))
        return Result("", "", MACHINE, {}, 0, rounds).medians()

    assert list(worse(medians(0.6), medians(0.5)))
    assert not list(worse(medians(0.4), medians(0.5)))


def table(*records: Record, before: Result | None = None) -> str:
    now = Result("2026-11-29T12:00:00+00:00", "abc1234", MACHINE, {}, 0.1, records)
    return "\n".join(report(now, before))


def test_the_table_has_ratios_and_says_which_goals_are_met() -> None:
    shown = table(
        record("Portkey", requests_s=1000.0),
        record("Tollgate", requests_s=1300.0, cpu_ms=0.56),
        record("vendor alone", requests_s=40_000.0),
    )
    lines = shown.splitlines()
    rate, cpu = (next(line for line in lines if label in line) for label in ("requests/s", "CPU"))
    assert rate.split("  >=")[0].split() == [
        "requests/s",
        "40,000",
        "1,300",
        "1,000",
        "(x",
        "1.30)",
    ]
    assert ">= 1.25 x Portkey: met, >= 18 x LiteLLM: -" in rate
    assert "<= 0.55: MISSED" in cpu


def test_the_table_shows_what_was_before() -> None:
    assert "1,000 (-10%)" in table(record("Tollgate", requests_s=900.0), before=result(1000))


def test_the_table_says_when_something_else_may_have_set_the_pace() -> None:
    busy = table(record("Tollgate", Shares(rest=0.95, foreign=0.2, client=0.99), requests_s=900.0))
    assert "Other processes took more than 5 % of the gateway's core" in busy
    assert "The cores of vendor, client and worker were full" in busy
    assert "The client took a whole core" in busy
    assert "The vendor took" not in busy
    assert "may have been" not in table(record("Tollgate", Shares(rest=0.5), requests_s=900.0))
    assert "may have been" not in table(record("vendor alone", Shares(1, 1, 1, 1), requests_s=9.0))


def test_it_says_where() -> None:
    mixed = (record("Tollgate", Shares(rest=0.5)), record("Portkey", Shares(rest=1)))
    assert "been the bottleneck: 32 connections (Portkey)" in table(*mixed)
    assert "been the bottleneck: everywhere" in table(mixed[1])


def test_the_page_gets_its_figures_in_their_place() -> None:
    text = f"# Before\n{BEGIN}\nold\n{END}\nafter\n"
    page = with_figures(text, result(1000, 1200))
    assert page.startswith(f"# Before\n{BEGIN}\n2026-11-29, commit abc1234: A, 2 cores")
    assert "| requests/s | 1,100 | >= 1.25 x Portkey: -, >= 18 x LiteLLM: - |" in page
    assert page.endswith(f"{END}\nafter\n")
    assert "old" not in page
    assert "(performance/lags.svg)" in page
    assert with_figures(page, result(1000, 1200)) == page
