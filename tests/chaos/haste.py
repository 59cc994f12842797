"""The product's waiting times, shortened alike, so that a short run sees what a long one would."""

import os

from app.usage import recorder
from app.usage.redis import open_records

#: By how much waiting times are divided; 1 leaves them as they are.
HASTE = float(os.environ.get("CHAOS_HASTE", "1"))


def hasten_owners() -> None:
    """Shorten what it takes a dead process to count as dead."""
    open_records.OWNER_TTL_S = max(1, int(open_records.OWNER_TTL_S / HASTE))
    recorder.OWNER_RENEWAL_S = open_records.OWNER_RENEWAL_S / HASTE  # type: ignore[attr-defined,assignment]
    recorder.CHECKPOINT_AFTER_S /= HASTE
