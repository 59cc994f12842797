"""The web process with its traps: `gunicorn -c config/gunicorn.conf.py tests.chaos.web:app`."""

import os
from typing import Any

import orjson

from app import wsgi
from app.admission.limiter import Admission
from app.transport.call import VendorCall
from app.usage.disk import journal, segments
from app.usage.disk.journal import Journal
from app.usage.messages.open_record import OpenRecord
from app.usage.metering.call_meter import CallMeter
from app.usage.recording.live_request import LiveRequest
from app.usage.recording.recorder import Recorder
from app.usage.recording.replay import Replay
from app.usage.redis.stream import EventStream
from tests.chaos.haste import hasten_owners
from tests.chaos.numbers import OPENED, UNKEPT
from tests.chaos.traps import DIRECTORY, FULL_DISK, after, before, spring


class TornWrites:
    """`os` for the spool and the journal: a process may crash with half a line written.

    While the disk is full, half of what is written is not stored.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, file: int, lines: bytes) -> int:
        """Write lines in two halves, with a moment for traps between them; return the size."""
        written = 0

        def write_half() -> None:
            nonlocal written
            written = os.write(file, lines[: len(lines) // 2])

        is_journal = os.readlink(f"/proc/self/fd/{file}").endswith(journal.SUFFIX)
        if (DIRECTORY / FULL_DISK).exists():
            write_half()
            if is_journal:
                note(UNKEPT, lines)
            return written
        spring(f"in the {'journal' if is_journal else 'spool'}'s write", write_half)
        return written + os.write(file, lines[written:])


def note(name: str, lines: bytes) -> None:
    """Have the judge know something: append lines to its file of this name."""
    file = os.open(DIRECTORY.parent / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, lines)
    finally:
        os.close(file)


def note_opened() -> None:
    """Have each request noted once it is opened, before its vendor is called."""
    original = Recorder.open

    def open_and_note(recorder: Recorder, request: LiveRequest, record: OpenRecord) -> Admission:
        admission = original(recorder, request, record)
        line = {
            "process": recorder.owner,
            "number": admission.number,
            "event_id": record.event_id,
            "tag": str(record.user).partition(" ")[0],
        }
        note(OPENED, orjson.dumps(line) + b"\n")
        return admission

    setattr(Recorder, "open", open_and_note)  # noqa: B010 - mypy: a method is not a variable


app = wsgi.app

hasten_owners()
note_opened()
before(Recorder, "open", "before the open record")
before(VendorCall, "send", "before the vendor call")
after(VendorCall, "send", "after the vendor's status line")
after(CallMeter, "observe", "mid-stream")
before(Recorder, "publish", "after the last byte, before the event")
after(EventStream, "publish_encoded", "after the event")
after(Replay, "_replay_file", "between a replay and the end of its file")
before(Journal, "write", "between Redis and the journal")
setattr(segments, "os", TornWrites())  # noqa: B010 - mypy: a module is not a variable
