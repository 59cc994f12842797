"""Numbers and times as people read them on a page. Pure functions."""

from datetime import UTC, datetime

from app.vocabulary.money import NANO, show_usd, usd_of

#: Names of a thousand, a million, and so on.
_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")


def count(number: int) -> str:
    """Return a whole number with its thousands apart: `1,234,567`."""
    return f"{number:,}"


def short_count(number: int) -> str:
    """Return a whole number in at most four digits and a suffix: `1,234`, `12.3k`, `4.57M`."""
    if abs(number) < 10_000:
        return count(number)
    scaled, step = float(number), 0
    while abs(scaled) >= 999.5 and step < len(_SUFFIXES) - 1:
        scaled, step = scaled / 1000, step + 1
    return f"{scaled:.3g}{_SUFFIXES[step]}"


def usd(nanousd: int) -> str:
    """Return dollars rounded to cents, to four places below ten cents, exactly below 0.01 cents."""
    if 0 < abs(nanousd) < NANO // 10_000:
        return show_usd(nanousd)
    places = 2 if nanousd == 0 or abs(nanousd) >= NANO // 10 else 4
    return f"{'-' if nanousd < 0 else ''}${usd_of(abs(nanousd)):,.{places}f}"


def span(duration_ms: int | None) -> str:
    """Return a duration: `84 ms`, `1.24 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if duration_ms is None:
        return "\N{EN DASH}"
    if duration_ms < 1000:
        return f"{duration_ms} ms"
    if duration_ms < 60_000:
        return f"{duration_ms / 1000:.3g} s" if duration_ms < 59_950 else "1 min"
    for unit, size_ms, part, part_ms in _LONG:
        if duration_ms >= size_ms:
            rest = duration_ms % size_ms // part_ms
            return f"{duration_ms // size_ms} {unit}" + (f" {rest} {part}" if rest else "")
    raise AssertionError("a minute is the least of them")


_LONG = (
    ("d", 86_400_000, "h", 3_600_000),
    ("h", 3_600_000, "min", 60_000),
    ("min", 60_000, "s", 1000),
)


def share(part: int, whole: int) -> str:
    """Return a part in percent of the whole, no small part as 0 %: `12.3 %`, `< 0.1 %`."""
    if not part or not whole:
        return "0 %"
    percent = 100 * part / whole
    return "< 0.1 %" if percent < 0.1 else f"{percent:.3g} %"


def moment(unix_ms: int) -> str:
    """Return a time in UTC, to the second: `2026-11-29 15:04:05`."""
    return datetime.fromtimestamp(unix_ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
