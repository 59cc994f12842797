"""What the two versions call differently. Both run this module."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.storage.redis.group_commit import GroupCommit
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from tests.rolling.exchange.samples import redis

#: Whether this version numbers requests.
NUMBERS = find_spec("app.usage.numbers") is not None

_recording = "app.usage.recording" if NUMBERS else "app.usage"
#: The spool of a process.
SpoolFallback: Any = import_module(f"{_recording}.fallback").SpoolFallback
Replay: Any = import_module(f"{_recording}.replay").Replay


def open_record(event_id: str, record: bytes, started_at_ms: int) -> None:
    """Write an open record."""
    records: Any = OpenRecords(redis())
    if NUMBERS:
        records.open(_opening(event_id, record))
    else:
        records.open(event_id, record, started_at_ms)


def admit(event_id: str, record: bytes, started_at_ms: int, checks: Sequence[Any]) -> bool:
    """Write an open record if its request fits in its limits."""
    reservations: Any = import_module("app.admission.reservations").Reservations(
        GroupCommit(redis())
    )
    if NUMBERS:
        return bool(reservations.admit(_opening(event_id, record), checks)[0])
    return bool(reservations.admit(event_id, record, started_at_ms, checks)[0])


def heartbeat(owner: str) -> None:
    """Say that a process is live."""
    if NUMBERS:
        processes: Any = import_module("app.usage.redis.processes").Processes(redis())
        processes.heartbeat(import_module("app.admission.numbering").Numbering(owner))
    else:
        records: Any = OpenRecords(redis())
        records.heartbeat(owner)


def adopt(directory: Path, owner: str) -> None:
    """Replay what ended processes left in a spool directory."""
    stores: Any = (EventStream(redis()), OpenRecords(redis()))
    if NUMBERS:
        stores = (import_module("app.usage.redis.stores").Stores.of(redis()),)
    Replay(*stores, owner=owner, live=(), prices=None).adopt(SpoolFallback(directory, owner))


def _opening(event_id: str, record: bytes) -> Any:
    numbering = import_module("app.admission.numbering")
    process = numbering.Numbering("host-1-web")
    return numbering.Opening(event_id, record, process, lambda _: None)
