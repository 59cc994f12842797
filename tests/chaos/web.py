"""The web process with its traps: `gunicorn -c config/gunicorn.conf.py tests.chaos.web:app`."""

import os
from typing import Any

from app import wsgi
from app.transport.call import VendorCall
from app.usage.disk import spool
from app.usage.metering.call_meter import CallMeter
from app.usage.recording.recorder import Recorder
from app.usage.recording.replay import Replay
from app.usage.redis.stream import EventStream
from tests.chaos.haste import hasten_owners
from tests.chaos.traps import after, before, spring


class TornWrites:
    """`os` for the spool: a process may crash with half a line written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, file: int, line: bytes) -> int:
        """Write a line in two halves, with a moment for traps between them."""
        written = 0

        def write_half() -> None:
            nonlocal written
            written = os.write(file, line[: len(line) // 2])

        spring("in the spool's write", write_half)
        return written + os.write(file, line[written:])


app = wsgi.app

hasten_owners()
before(Recorder, "open", "before the open record")
before(VendorCall, "send", "before the vendor call")
after(VendorCall, "send", "after the vendor's status line")
after(CallMeter, "observe", "mid-stream")
before(Recorder, "publish", "after the last byte, before the event")
after(EventStream, "publish_encoded", "after the event")
after(Replay, "_replay_file", "between a replay and the end of its file")
setattr(spool, "os", TornWrites())  # noqa: B010 - mypy: a module is not a variable
