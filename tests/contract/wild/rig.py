"""Runs cases against a gateway, and collects the callers' responses and the recorded events."""

import json
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from app.storage.redis.keys import EVENTS
from app.usage.messages.event import UsageEvent
from tests.contract.table import OVERLAYS, serving
from tests.contract.wild.case import Case, seed_in
from tests.support.gateway import Gateway
from tests.support.vendor import Asked, Reply, SimulatedVendor

#: Deadlines that only an answer which never ends comes near.
TIMEOUTS = "{first_token_s = 8.0, idle_s = 8.0, total_s = 20.0}"


@dataclass
class Outcome:
    """A caller's response: the status, the JSON of the chunks, and its end."""

    status: int = 0
    request_id: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""
    was_cut: bool = False
    ended_s: float = 0.0

    @property
    def body(self) -> Any:
        """The JSON of a whole answer, or of an error."""
        return json.loads(self.content)

    @property
    def events(self) -> list[tuple[str | None, Any]]:
        """The events of a stream: the name, and the JSON or the text."""
        found = []
        for block in self.content.decode().split("\n\n")[:-1]:
            lines = [line for line in block.split("\n") if not line.startswith(":")]
            fields = dict(line.split(": ", 1) for line in lines)
            if fields:
                text = fields["data"]
                is_json = text != "[DONE]"
                found.append((fields.get("event"), json.loads(text) if is_json else text))
        return found


class Recorded:
    """The events on the stream, by request."""

    def __init__(self, gateway: Gateway) -> None:
        self._redis = gateway.redis
        self._last = b"0"
        self._lock = threading.Lock()
        self.by_request: defaultdict[str, list[UsageEvent]] = defaultdict(list)

    def of(self, request_id: str, deadline_s: float = 15.0) -> list[UsageEvent]:
        """Return a request's events, as soon as there is one; [] when none comes."""
        until_s = time.monotonic() + deadline_s
        while not self.by_request[request_id] and time.monotonic() < until_s:
            self.read()
            if not self.by_request[request_id]:
                time.sleep(0.005)
        return self.by_request[request_id]

    def read(self) -> None:
        """Read what has come."""
        with self._lock:
            found: Any = self._redis.xread({EVENTS: self._last})
            for _, entries in found or []:
                for entry_id, record in entries:
                    self._last = entry_id
                    event = UsageEvent.decode(record[b"event"])
                    self.by_request[event.request_id].append(event)


class Rig:
    """A gateway and the simulated vendor behind all of its entries."""

    def __init__(self, gateway: Gateway, vendor: SimulatedVendor) -> None:
        self._gateway = gateway
        self._cases: dict[int, Case] = {}
        self.recorded = Recorded(gateway)
        vendor.default = self._answer

    def _answer(self, asked: Asked) -> Reply:
        case = self._cases[seed_in(asked.raw)]
        try:
            return case.answer(asked)
        except Exception:  # noqa: BLE001 - a fault of the case, and to be seen with it
            case.refusals.append(traceback.format_exc())
            return Reply([], 500)

    def play(self, case: Case) -> Outcome:
        """Send the case's request, and read the response to its end."""
        self._cases[case.seed] = case
        outcome = Outcome()
        url, key = f"{self._gateway.base_url}/completions", self._gateway.api_key
        with requests.post(
            url, json=case.request(), headers={"x-api-key": key}, stream=True, timeout=30
        ) as response:
            outcome.status = response.status_code
            outcome.headers = {name.lower(): value for name, value in response.headers.items()}
            outcome.request_id = outcome.headers["x-request-id"]
            try:
                for packet in response.iter_content(None):
                    outcome.content += packet
                    if case.leaves:
                        break
            except requests.exceptions.RequestException:
                outcome.was_cut = True
        outcome.ended_s = time.monotonic()
        return outcome


@contextmanager
def running_rig(root: Path, redis_url: str) -> Iterator[Rig]:
    """Run a gateway with every entry of the table, in front of one simulated vendor."""
    with serving(root, redis_url, TIMEOUTS, OVERLAYS) as (gateway, vendor):
        gateway.redis.flushall()
        yield Rig(gateway, vendor)
