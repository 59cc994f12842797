"""A Tollgate with an entry for every format; all are at one vendor with scripted responses.

A test makes a request, and compares the caller's response with the one usage event.
"""

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from redis import Redis

from app.gateways.families import GATEWAY_SPECS
from app.settings import Settings
from app.storage.redis.keys import EVENTS, OPEN
from app.usage.messages.event import UsageEvent
from app.vendors.table import BUILT_IN, load_vendors
from tests.contract.answers.parts import Wire
from tests.support.gateway import Gateway, running
from tests.support.services.polling import wait_until
from tests.support.services.sqlite import new_ledger
from tests.support.vendor import Asked, Reply, SimulatedVendor

PROMPT = "one two three"
#: What our own tokenizer counts in PROMPT, and in TEXT.
PROMPT_TOKENS = 3
TEXT = "alpha beta gamma"
TEXT_TOKENS = 3

#: Deadlines that no answer here comes near; what ends sooner has ended by itself.
IDLE_S = 8.0
#: How soon an answer ends after its vendor's end: a second is promised, machines are shared.
SOON_S = 6.0

BUILT_IN_ENTRIES = (
    "anthropic",
    "azure",
    "bedrock",
    "cohere",
    "gemini",
    "launch",
    "llmengine",
    "llmengine_v1",
    "mistral",
    "openai",
    "vertex_ai",
)


@dataclass
class Told:
    """A caller's response. `cut` is true if the connection ended before the HTTP body did."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    chunks: list[dict[str, Any]] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    reasons: dict[int, list[str]] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    done: bool = False
    cut: bool = False
    ended_s: float = 0.0

    @property
    def choices(self) -> list[dict[str, Any]]:
        """All choices, or their deltas, in the order of their arrival."""
        return [choice for chunk in self.chunks for choice in chunk["choices"]]

    @property
    def counts(self) -> tuple[int, int]:
        """The prompt's and the completion's tokens, which add up to the total."""
        assert self.usage is not None
        found = self.usage["prompt_tokens"], self.usage["completion_tokens"]
        assert self.usage["total_tokens"] == sum(found)
        return found

    def is_whole(self) -> bool:
        """Whether the caller got a complete response."""
        return self.status == 200 and self.error is None and not self.cut


@dataclass
class Caller:
    """A caller that has sent its request, and reads at its own pace."""

    response: http.client.HTTPResponse

    def read_until(self, words: bytes) -> bytes:
        """Read until these bytes have arrived; return everything read."""
        content = b""
        while words not in content:
            piece = self.response.read1()
            assert piece, content
            content += piece
        return content


def read(response: http.client.HTTPResponse, *, stream: bool, begun: bytes = b"") -> Told:
    """Read a response to its end, or until it is aborted; `begun` was read before."""
    told = Told(response.status, {name.lower(): value for name, value in response.getheaders()})
    try:
        content = response.read()
    except http.client.IncompleteRead as exc:
        content, told.cut = exc.partial, True
    except ConnectionResetError:
        content, told.cut = b"", True
    told.ended_s = time.monotonic()
    text = (begun + content).decode()  # which fails on what is no UTF-8
    if stream and response.status == 200:
        for name, body in events_of(text):
            _take(told, name, body)
    elif not text:
        told.cut = True
    else:
        body = json.loads(text, parse_constant=_refuse)
        told.error = body.get("error")
        if told.error is None:
            _take(told, None, body)
            told.done = True
    return told


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


def events_of(text: str) -> Iterator[tuple[str | None, Any]]:
    """Yield a stream's events: (name, JSON or text)."""
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if not lines:
            continue
        fields = dict(line.split(": ", 1) for line in lines)
        if "data" not in fields:
            continue  # cut in the middle
        body = fields["data"]
        is_mark = body == "[DONE]"
        yield fields.get("event"), body if is_mark else json.loads(body, parse_constant=_refuse)


def _take(told: Told, name: str | None, body: Any) -> None:
    if name == "done":
        told.done = True
    elif name == "error":
        told.error = body["error"]
    else:
        told.chunks.append(body)
        told.usage = body.get("usage") or told.usage
        for choice in body["choices"]:
            index = choice["index"]
            assert not told.reasons.get(index), f"more of choice {index} after its reason"
            told.texts[index] = told.texts.get(index, "") + choice["text"]
            if choice["finish_reason"] is not None:
                told.reasons.setdefault(index, []).append(choice["finish_reason"])


@dataclass
class Site:
    """The gateway, its vendor, and the time at which the vendor finished its response.

    `window`: how many bytes the system takes for a caller that does not read, about twice as many
    in truth; None leaves that to the system, which may take 32 MB.
    """

    gateway: Gateway
    vendor: SimulatedVendor
    ended_s: float = 0.0
    window: int | None = None

    def clear(self) -> None:
        """Reset requests, failures and scripts."""
        wait_until(lambda: not self.gateway.redis.hlen(OPEN), every_s=0.001)
        self.gateway.redis.flushall()
        self.vendor.asked.clear()
        self.vendor.hang_ups.clear()
        self.vendor._scripted.clear()
        self.vendor.default = _unexpected
        self.ended_s = 0.0

    def ends(self) -> None:
        """Note that the vendor has sent everything (a step of a reply)."""
        self.ended_s = time.monotonic()

    def says(self, *replies: Reply | Callable[[Asked], Reply]) -> None:
        """Script the next responses, in order."""
        waiting, lock = list(replies), threading.Lock()

        def answer(asked: Asked) -> Reply:
            with lock:
                reply = waiting.pop(0) if waiting else _unexpected
            return reply if isinstance(reply, Reply) else reply(asked)

        self.vendor.default = answer

    def always(self, answer: Callable[[Asked], Reply]) -> None:
        """Compute every further response with `answer`."""
        self.vendor.default = answer

    def body(self, wire: Wire | str, *, stream: bool = False, **fields: Any) -> dict[str, Any]:
        """Return a request's body; a stream requests its usage."""
        model = wire if isinstance(wire, str) else wire.model
        streamed = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        return {"model": model, "prompt": PROMPT, "max_tokens": 50, **streamed, **fields}

    def ask(self, wire: Wire | str, *, stream: bool = False, **fields: Any) -> Told:
        """Request a completion, and read it to the end."""
        with self.open(wire, stream=stream, **fields) as caller:
            return read(caller.response, stream=stream)

    @contextmanager
    def open(self, wire: Wire | str, *, stream: bool = False, **fields: Any) -> Iterator["Caller"]:
        """Request a completion, and read nothing; the caller disconnects with the block."""
        at = urlsplit(self.gateway.base_url)
        connection = http.client.HTTPConnection(at.netloc, timeout=60)
        if self.window is not None:
            connection.sock = _narrow_socket((at.hostname or "", at.port or 0), self.window)
        body = json.dumps(self.body(wire, stream=stream, **fields))
        headers = {"x-api-key": self.gateway.api_key}
        with closing(connection):
            connection.request("POST", "/v5/completions", body, headers)
            with closing(connection.getresponse()) as response:
                yield Caller(response)

    def event(self) -> UsageEvent:
        """Return the only event, once no record is open; each call was counted once."""
        redis = self.gateway.redis
        wait_until(lambda: redis.xlen(EVENTS) and not redis.hlen(OPEN), every_s=0.001)
        (event,) = self.gateway.events()
        assert event.attempts == len(self.vendor.asked)
        assert event.total_tokens == event.prompt_tokens + event.completion_tokens
        return event

    def is_blamed(self) -> bool:
        """Whether a failure was counted against a vendor."""
        return bool(self.gateway.redis.keys("circuit:*"))

    def metric(self, name: str, **labels: str) -> float:
        """Return a counter's value; 0 if it does not exist."""
        text = self.gateway.get("/../metrics").text
        for line in text.splitlines():
            if line.startswith(name) and all(f'{k}="{v}"' in line for k, v in labels.items()):
                return float(line.rpartition(" ")[2])
        return 0.0


def _narrow_socket(address: tuple[str, int], window: int) -> socket.socket:
    sock = socket.socket()
    sock.settimeout(60)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)  # before it connects
    sock.connect(address)
    return sock


def _unexpected(_: Asked) -> Reply:
    """Reject an unexpected call, so that the test fails."""
    return Reply([b'{"error":{"message":"unexpected call"}}'], 400, framing="length")


def books(event: UsageEvent) -> tuple[Any, ...]:
    """Return an event's status, its tokens, and the source of each side."""
    sides = tuple(
        getattr(event, f"{side}_source", event.source) for side in ("prompt", "completion")
    )
    return (event.status, event.prompt_tokens, event.completion_tokens, *sides)


BY_VENDOR = ("vendor", "vendor")


def _variables() -> dict[str, str]:
    names = set(re.findall(r"\$\{(\w+)", BUILT_IN.read_text()))
    return {n: "http://some.invalid/v1" if "URL" in n or "ENDPOINT" in n else "x" for n in names}


#: Entries of our own, beside the built-in ones: name -> its keys.
OWN = {
    "text": 'gateway = "openai"\nauth = "bearer"\ntoken_prompts = true',
    "chat1": 'gateway = "openai"\nnative = []\nmax_n = 1',
    "chat2": 'gateway = "openai"\nnative = []\nmax_n = 2',
    "text1": 'gateway = "openai"\nlist_prompts = false\nmax_n = 1',
    "shy": 'gateway = "openai"\nquirks = {least_logprobs = 1}',
    "lax": 'gateway = "openai"\nnative = []\ndrop_unsupported = true',
}


def table(vendor_url: str, extra: str = "", idle_s: float = IDLE_S) -> str:
    """Return the overlay that points every entry to the vendor."""
    host = vendor_url.removesuffix("/v1")
    common = (
        f"retries = 0\ntimeouts = {{first_token_s = {idle_s}, idle_s = {idle_s}, total_s = 40.0}}\n"
    )
    rows = ""
    for row in load_vendors(None, _variables(), GATEWAY_SPECS):
        if row.name in BUILT_IN_ENTRIES:
            path = urlsplit(row.base_url).path
            rows += f'[vendors.{row.name}]\nbase_url = "{host}{path}"\n{common}'
            rows += 'auth = "bearer"\napi_key_env = "ANSWERS_KEY"\n'
            rows += "headers = {}\n" if not row.name.startswith("llmengine") else ""
    for name, keys in OWN.items():
        rows += f'[vendors.{name}]\nbase_url = "{vendor_url}"\n{common}{keys}\n'
    return rows + extra.replace("URL", vendor_url)


@contextmanager
def serving(root: Path, redis_url: str, extra: str = "", idle_s: float = IDLE_S) -> Iterator[Site]:
    """Run a gateway in threads of this process; `extra` is more of the vendor table."""
    with Redis.from_url(redis_url) as redis:
        redis.flushall()  # other modules' requests may have been left open there
    vendor = SimulatedVendor()
    path = root / "vendors.toml"
    path.write_text(table(vendor.url, extra, idle_s))
    settings = Settings(
        journal="off",  # no worker posts: it would send again what a flush between tests removes
        redis_url=redis_url,
        database_url=new_ledger(root / "ledger.db"),
        vendors_file=path,
        spool_dir=root / "spool",
        keep_alive_s=0.2,  # in a silence, what shows that a caller has left
        env={**_variables(), "ANSWERS_KEY": "sk-test-key"},
    )
    try:
        with running(settings) as gateway:
            yield Site(gateway, vendor)
    finally:
        vendor.stop()


def by_index(values: dict[int, Any]) -> list[Any]:
    """Return the values of a dict in the order of its keys, which must be 0, 1, 2, …"""
    assert sorted(values) == list(range(len(values))), values
    return [values[index] for index in sorted(values)]
