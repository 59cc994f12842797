"""Tables and bars for the terminal."""

import pytest

from app.cli.tables import BAR_WIDTH, TEXT_WIDTH, Cell, add_bars, bar, format_table


def test_numbers_are_right_aligned_and_text_left_aligned() -> None:
    rows: list[list[Cell]] = [["a", 5, None], ["long", 1234, "x"]]
    assert list(format_table(["name", "count", "note"], rows, pretty=False)) == [
        "name  count  note",
        "a         5  -",
        "long   1234  x",
    ]


def test_pretty_numbers_have_separators_and_long_text_is_shortened() -> None:
    (_, line) = format_table(["a", "b"], [["x" * 100, 1234]], pretty=True)
    text, number = line.split()
    assert (len(text), text[-1], number) == (TEXT_WIDTH, "…", "1,234")


def test_wide_and_combining_characters_keep_columns_aligned() -> None:
    rows = [["日本", "|"], ["e\N{COMBINING ACUTE ACCENT}", "|"], ["abcd", "|"]]
    lines = list(format_table(["name", "end"], rows, pretty=True))
    assert lines[1:] == ["日本  |", "e\N{COMBINING ACUTE ACCENT}     |", "abcd  |"]


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\nb", "a\x00b", "\N{RIGHT-TO-LEFT OVERRIDE}x"])
def test_control_characters_do_not_reach_the_terminal(text: str) -> None:
    (_, line) = format_table(["a"], [[text]], pretty=False)
    assert "\N{REPLACEMENT CHARACTER}" in line
    assert line.isprintable()


def test_a_table_without_rows_has_its_headings() -> None:
    assert list(format_table(["a", "b"], [], pretty=True)) == ["a  b"]


def test_bars_are_in_proportion_and_anything_above_zero_shows() -> None:
    assert bar(10, 10, 8) == "█" * 8
    assert bar(5, 10, 8) == "█" * 4
    assert bar(1, 10**9, 8) == "▏"
    assert bar(0, 10, 8) == bar(5, 0, 8) == ""


def test_bars_start_in_one_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = list(add_bars(["a", "long"], [2, 1]))
    assert lines == ["a     " + "█" * BAR_WIDTH, "long  " + "█" * (BAR_WIDTH // 2)]


def test_a_narrow_terminal_has_no_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "8")
    assert list(add_bars(["a", "long"], [2, 1])) == ["a", "long"]
