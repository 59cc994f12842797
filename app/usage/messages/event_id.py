"""Identities that sort by time. No I/O beyond the clock and the kernel's random numbers."""

import os
import time


def new_event_id(now_ms: int | None = None) -> str:
    """Return a UUIDv7 (RFC 9562, section 5.7): sorts by time, in milliseconds."""
    stamp = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    value = (stamp & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
