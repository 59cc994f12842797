"""Formats numbers, durations and times for pages. No I/O."""

from datetime import UTC, datetime, tzinfo

from app.vocabulary.money import NANO, show_usd, usd_of

#: Suffixes for a thousand, a million, and so on.
_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")


def count(number: int) -> str:
    """Return a whole number with thousands separators: `1,234,567`."""
    return f"{number:,}"


def short_count(number: int) -> str:
    """Return a whole number with at most four digits and a suffix: `1,234`, `12.3k`, `4.57M`."""
    if abs(number) < 10_000:
        return count(number)
    scaled, step = float(number), 0
    while abs(scaled) >= 999.5 and step < len(_SUFFIXES) - 1:
        scaled, step = scaled / 1000, step + 1
    return f"{scaled:.3g}{_SUFFIXES[step]}"


def usd(nanousd: int) -> str:
    """Return dollars, rounded to cents; to four places below $0.10; exact below $0.0001."""
    if 0 < abs(nanousd) < NANO // 10_000:
        return show_usd(nanousd)
    places = 2 if nanousd == 0 or abs(nanousd) >= NANO // 10 else 4
    return f"{'-' if nanousd < 0 else ''}${usd_of(abs(nanousd)):,.{places}f}"


def short_usd(nanousd: int) -> str:
    """Return dollars for an axis, without needless zeros: `$0.05`, `$200`, `$12.3k`."""
    if abs(nanousd) >= 10_000 * NANO:
        return f"{'-' if nanousd < 0 else ''}${short_count(round(usd_of(abs(nanousd))))}"
    whole, dot, digits = usd(nanousd).partition(".")
    significant = digits.rstrip("0")
    return f"{whole}{dot}{significant:0<2}" if significant else whole


def amount(number: int, unit: str) -> str:
    """Return a value of a chart; `unit` is that of the chart."""
    return usd(number) if unit == "usd" else count(number)


def short_amount(number: int, unit: str) -> str:
    """Return a value for a chart's axis and legend."""
    return short_usd(number) if unit == "usd" else short_count(number)


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
    raise AssertionError("_LONG starts at one minute")


_LONG = (
    ("d", 86_400_000, "h", 3_600_000),
    ("h", 3_600_000, "min", 60_000),
    ("min", 60_000, "s", 1000),
)


def share(part: int, whole: int) -> str:
    """Return a part as a percentage of the whole: `12.3 %`, `3,120 %`, or `< 0.1 %`."""
    if not part or not whole:
        return "0 %"
    percent = 100 * part / whole
    if percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.3g} %" if percent < 999.5 else f"{percent:,.0f} %"


def moment(unix_ms: int, zone: tzinfo = UTC) -> str:
    """Return a time by the clocks of a zone, to the second: `2026-11-29 15:04:05`."""
    return datetime.fromtimestamp(unix_ms // 1000, zone).strftime("%Y-%m-%d %H:%M:%S")


def iso_moment(unix_ms: int, zone: tzinfo = UTC) -> str:
    """Return a time with its offset from UTC: `2026-11-29T15:04:05+01:00`."""
    return datetime.fromtimestamp(unix_ms // 1000, zone).isoformat()


def short_moment(time_s: int, width_s: int, zone: tzinfo = UTC) -> str:
    """Return a time below bars that are `width_s` wide: `29 Nov`, or `15:04` below a day."""
    moment = datetime.fromtimestamp(time_s, zone)
    return f"{moment.day} {moment:%b}" if width_s >= 86_400 else f"{moment:%H:%M}"


def offset(unix_ms: int, zone: tzinfo) -> str:
    """Return a zone's offset from UTC at a time: `UTC+01:00`; empty for UTC itself."""
    text = f"{datetime.fromtimestamp(unix_ms // 1000, zone):%z}"
    return "" if zone is UTC else f"UTC{text[:3]}:{text[3:5]}"


def plural(number: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 request`, `1,204 requests`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"
