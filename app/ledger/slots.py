"""Slots of time in Unix seconds: rollups sum entries by 15 minutes, by hour and by day (UTC)."""

from app.storage.sql.tables import DAY_S, HOUR_S, SLOT_S

__all__ = ["DAY_S", "HOUR_S", "SLOT_S", "floor_to"]


def floor_to(time_s: int, width_s: int) -> int:
    """Return the start of the slot that contains `time_s`; slots begin at multiples of a width."""
    return time_s - time_s % width_s
