"""The headers of a vendor that tell a client when, and whether, to retry. No I/O."""

import math
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import format_datetime, parsedate_to_datetime

from app.vocabulary.errors import SHOULD_RETRY

_NUMBER = re.compile(r"(\d{1,11})(?:\.(\d{1,9}))?", re.ASCII)


def should_retry(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the vendor's `x-should-retry`, if it is `true` or `false`."""
    value = headers.get(SHOULD_RETRY, "").strip().lower()
    return {SHOULD_RETRY: value} if value in ("true", "false") else {}


def retry_after(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that tell a client when to retry; invalid values are left out.

    `retry-after` is whole seconds or an HTTP date, and `retry-after-ms` whole milliseconds.
    Source: RFC 9110, section 10.2.3, and `retry-after-ms` and fractions as OpenAI's clients read
    them.
    """
    found = {}
    value = headers.get("retry-after", "").strip()
    seconds = _NUMBER.fullmatch(value)
    if seconds and len(seconds[1]) < 9:
        found["retry-after"] = str(_rounded_up(seconds))
        if seconds[2]:
            found["retry-after-ms"] = str(math.ceil(float(value) * 1000))
    elif not seconds and (date := _http_date(value)):
        found["retry-after"] = date
    millis = _NUMBER.fullmatch(headers.get("retry-after-ms", "").strip())
    if millis:
        whole = _rounded_up(millis)
        found["retry-after-ms"] = str(whole)
        found.setdefault("retry-after", str(-(-whole // 1000)))
    return found


def _rounded_up(number: re.Match[str]) -> int:
    return int(number[1]) + bool((number[2] or "").strip("0"))


def _http_date(value: str) -> str | None:
    """Return an HTTP date in the standard form, also if it came in another; None: invalid."""
    try:
        at = parsedate_to_datetime(value)
        return format_datetime(at.astimezone(UTC), usegmt=True) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None
