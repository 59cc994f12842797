"""A stream at a steady pace through Tollgate, in a process of its own: its gaps are the measure.

Run by `Pacer`. The vendor that paces and the caller that waits are in the same process, which
does nothing else: what they see of delay is Tollgate's, or the machine's.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import requests

from tests.support.vendor import SimulatedVendor, body_of, choice, event, stream_reply

#: From one chunk to the next, in seconds.
PACE_S = 0.01


class Pacer:
    """The process, seen from the outside."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.pacer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.vendor_url = self._read()

    def __enter__(self) -> "Pacer":
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        """End the process."""
        self.stop()

    def stop(self) -> None:
        """Leave the stream, and end the process."""
        self._process.kill()
        self._process.communicate()

    def begin(self, base_url: str, api_key: str, worker_pid: int) -> None:
        """Open the stream, and wait for its first chunk."""
        told = {"base_url": base_url, "api_key": api_key, "worker_pid": worker_pid}
        self._tell(json.dumps(told))
        assert self._read() == "begun"

    def worst_gap_ms(self) -> tuple[float, float]:
        """Return the longest time without a chunk since this was last asked.

        And the most that the worker computed meanwhile: where the machine is busy with other
        things, the worker is not to blame for the rest.
        """
        self._tell("worst")
        gap, busy = self._read().split()
        return float(gap), float(busy)

    def breaks(self) -> int:
        """Return how often the stream has ended, which it never does by itself."""
        self._tell("breaks")
        return int(self._read())

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the pacer has died"
        return line.strip()


class _Watch:
    """The caller: notes when each chunk came."""

    def __init__(self, base_url: str, api_key: str, worker_pid: int) -> None:
        self._ask: dict[str, Any] = {
            "url": f"{base_url}/completions",
            "headers": {"x-api-key": api_key},
            "json": {"model": "paced/m", "prompt": "on and on", "stream": True},
            "stream": True,
        }
        self.begun = threading.Event()
        self.breaks = -1
        self._last_s = 0.0
        self._worst_s = 0.0
        self._worker = Path(f"/proc/{worker_pid}/schedstat")
        self._last_busy_s = 0.0
        self._worst_busy_s = 0.0

    def run(self) -> None:
        """Read for ever, from one stream after the other."""
        while True:
            self.breaks += 1
            try:
                for _ in self._chunks():
                    self._note()
                    self.begun.set()
            except requests.RequestException:
                time.sleep(PACE_S)  # not to ask without a pause where nobody listens

    def _chunks(self) -> Iterator[bytes]:
        with requests.post(**self._ask, timeout=120) as response:
            response.raise_for_status()
            yield from response.iter_content(None)

    def _note(self) -> None:
        now_s, busy_s = time.monotonic(), self._busy_s()
        if self.begun.is_set():
            self._worst_s = max(self._worst_s, now_s - self._last_s)
            self._worst_busy_s = max(self._worst_busy_s, busy_s - self._last_busy_s)
        self._last_s, self._last_busy_s = now_s, busy_s

    def _busy_s(self) -> float:
        """Return how long the worker has computed so far."""
        return int(self._worker.read_text().split()[0]) / 1e9

    def worst_ms(self) -> tuple[float, float]:
        """Return the longest wait since the last call; one that is not over counts.

        And the most that the worker computed in one wait.
        """
        worst_s = max(self._worst_s, time.monotonic() - self._last_s)
        busy_s = max(self._worst_busy_s, self._busy_s() - self._last_busy_s)
        self._worst_s = self._worst_busy_s = 0.0
        return worst_s * 1000, busy_s * 1000


def main() -> None:
    """Serve as the vendor, then call as asked."""
    vendor = SimulatedVendor()
    chunk = event(body_of(choice("on ")))
    vendor.default = lambda _: stream_reply(*[chunk, PACE_S] * 1_000_000)
    print(vendor.url, flush=True)
    watch = _Watch(**json.loads(sys.stdin.readline()))
    threading.Thread(target=watch.run, daemon=True).start()
    watch.begun.wait(60)
    print("begun" if watch.begun.is_set() else "never", flush=True)
    for line in sys.stdin:
        if line.strip() == "worst":
            print(*watch.worst_ms(), flush=True)
        else:
            print(watch.breaks, flush=True)


if __name__ == "__main__":
    main()
