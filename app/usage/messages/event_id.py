"""Identities that sort by time. No I/O beyond the clock and the kernel's random numbers."""

import os
import time

#: The version's variant and two random bits, by a random digit.
_VARIANTS = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


def new_event_id(now_ms: int | None = None) -> str:
    """Return a UUIDv7 (RFC 9562, section 5.7): sorts by time, in milliseconds."""
    stamp = f"{(time.time_ns() // 1_000_000 if now_ms is None else now_ms) & 0xFFFF_FFFF_FFFF:012x}"
    noise = os.urandom(10).hex()
    variant = _VARIANTS[noise[3]]
    return f"{stamp[:8]}-{stamp[8:]}-7{noise[:3]}-{variant}{noise[4:7]}-{noise[7:19]}"
