"""Tollgate's waiting times, all divided by one number, so that a short run covers them."""

import os

from app.usage.recording import live_requests, recorder
from app.usage.redis import processes

#: By how much waiting times are divided; 1 leaves them as they are.
HASTE = float(os.environ.get("CHAOS_HASTE", "1"))


def hasten_owners() -> None:
    """Shorten the time until a crashed process counts as crashed."""
    processes.OWNER_TTL_S = max(1, int(processes.OWNER_TTL_S / HASTE))
    recorder.OWNER_RENEWAL_S = processes.OWNER_RENEWAL_S / HASTE  # type: ignore[attr-defined,assignment]
    live_requests.CHECKPOINT_AFTER_S /= HASTE
