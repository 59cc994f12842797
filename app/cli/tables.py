"""Tables and bars for the terminal.

Text may come from a caller (a `user`, a key's name), so control characters are replaced.
"""

import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence

Cell = str | int | None

#: Widest text in a terminal, in columns; longer text ends with an ellipsis.
TEXT_WIDTH = 48
#: Longest bar, in columns.
BAR_WIDTH = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"


def on_terminal() -> bool:
    """Return whether stdout is a terminal, not a file or a pipe."""
    return sys.stdout.isatty()


def format_table(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, pretty: bool
) -> Iterator[str]:
    """Yield the lines of a table: numbers right-aligned, text left-aligned, None as `-`.

    `pretty` adds thousands separators and shortens long text.
    """
    texts = [[_text(cell, pretty) for cell in row] for row in rows]
    lines = [list(headings), *texts]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    numeric = [all(isinstance(cell, int) for cell in column) for column in zip(*rows, strict=True)]
    for line in lines:
        cells = (
            _pad(text, width, right=bool(rows) and right)
            for text, width, right in zip(
                line, widths, numeric or [False] * len(widths), strict=True
            )
        )
        yield "  ".join(cells).rstrip()


def add_bars(lines: Sequence[str], values: Sequence[int]) -> Iterator[str]:
    """Yield lines, each with a bar in proportion to the largest value; 0 has no bar.

    If the terminal is too narrow for bars, the lines are unchanged.
    """
    indent = max(map(_width, lines), default=0) + 2
    room = min(BAR_WIDTH, shutil.get_terminal_size().columns - indent)
    largest = max(values, default=0)
    for line, value in zip(lines, values, strict=True):
        drawn = bar(value, largest, room) if room >= BAR_WIDTH // 4 else ""
        yield f"{line}{' ' * (indent - _width(line))}{drawn}".rstrip()


def bar(value: int, largest: int, width: int) -> str:
    """Return a bar of at most `width` columns, in steps of an eighth; at least one step above 0."""
    if value <= 0 or largest <= 0:
        return ""
    eighths = max(1, value * width * 8 // largest)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _text(cell: Cell, pretty: bool) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, int):
        return f"{cell:,}" if pretty else str(cell)
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in cell)
    return _cut(text) if pretty else text


def _cut(text: str) -> str:
    if _width(text) <= TEXT_WIDTH:
        return text
    while _width(text) >= TEXT_WIDTH:
        text = text[:-1]
    return text + "…"


def _pad(text: str, width: int, *, right: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if right else text + blank


def _width(text: str) -> int:
    """Return how many columns `text` takes in a terminal."""
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
