"""The simulated vendor: a real HTTP server that answers byte for byte as a test says.

It keeps what it was asked and what it served, so that a ledger can be held against it.
"""

import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: In a reply's body: break the connection here, without ceremony.
CUT = object()
#: In a reply's body: close the connection here, in order, whatever was promised.
FIN = object()

Step = bytes | float | threading.Event | Callable[[], None] | object


@dataclass
class Reply:
    """One response. `body` is bytes to send, seconds or an event to wait for, functions, CUT, FIN.

    `packet` splits the bytes into writes of that many bytes, each sent by itself. With the framing
    "raw", `headers` and `body` are all that is sent: lengths that are not true are theirs to tell.
    """

    body: list[Step]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    framing: Literal["length", "chunked", "close", "raw"] = "chunked"
    packet: int | None = None


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Any
    connection: int
    raw: bytes = b""


class SimulatedVendor:
    """Serves scripted replies in order, then whatever `default` makes of a request."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.hang_ups: list[float] = []
        self.connections = 0
        self.open_connections: set[socket.socket] = set()
        self.default: Callable[[Asked], Reply] = lambda asked: completed(asked.body)
        self._scripted: deque[Reply] = deque()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def reply(self, *replies: Reply) -> None:
        """Answer the next requests with these."""
        self._scripted.extend(replies)

    def stop(self) -> None:
        """Refuse further connections and break those there are."""
        # shutdown wakes the thread in accept; close alone would leave the port open in it
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()

    def hang_up(self) -> None:
        """Break the connections there are."""
        with self._lock:
            connections = list(self.open_connections)
        for connection in connections:
            _break(connection)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self.connections += 1
                number = self.connections
                self.open_connections.add(connection)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            with connection, connection.makefile("rb") as reader:
                while asked := _read_request(reader, number):
                    with self._lock:
                        self.asked.append(asked)
                        reply = self._scripted.popleft() if self._scripted else None
                    if not self._send(connection, reply or self.default(asked)):
                        return
        except OSError:
            self.hang_ups.append(time.monotonic())
        finally:
            with self._lock:
                self.open_connections.discard(connection)

    def _send(self, connection: socket.socket, reply: Reply) -> bool:
        """Send a reply; return whether the connection can serve another request."""
        headers = {"content-type": "application/json", **reply.headers}
        if reply.framing == "chunked":
            headers["transfer-encoding"] = "chunked"
        elif reply.framing == "length":
            size = sum(len(step) for step in reply.body if isinstance(step, bytes))
            headers["content-length"] = str(size)
        elif reply.framing == "close":
            headers["connection"] = "close"
        head = f"HTTP/1.1 {reply.status} Whatever\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection.sendall(head.encode() + b"\r\n")
        for step in reply.body:
            if step is CUT:
                _break(connection)
                return False
            if step is FIN:
                return False
            if isinstance(step, bytes):
                for piece in _pieces(step, reply.packet):
                    chunk = b"%x\r\n%s\r\n" % (len(piece), piece)
                    connection.sendall(chunk if reply.framing == "chunked" else piece)
            elif callable(step):
                step()
            elif not self._wait(connection, step):
                return False
        if reply.framing == "chunked":
            connection.sendall(b"0\r\n\r\n")
        return reply.framing in ("chunked", "length")

    def _wait(self, connection: socket.socket, step: Step) -> bool:
        """Wait as told, noticing a caller that hangs up meanwhile; return False for one."""
        until = time.monotonic() + step if isinstance(step, float | int) else None
        event = step if isinstance(step, threading.Event) else threading.Event()
        while not event.is_set() and (until is None or time.monotonic() < until):
            readable, _, _ = select.select([connection], [], [], 0)
            if readable and connection.recv(1, socket.MSG_PEEK) == b"":
                self.hang_ups.append(time.monotonic())
                return False
            left = 0.02 if until is None else min(0.02, max(0.0, until - time.monotonic()))
            event.wait(left)
        return True


def _break(connection: socket.socket) -> None:
    """Close with a reset, as a killed process' kernel does."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _read_request(reader: Any, number: int) -> Asked | None:
    line = reader.readline()
    if not line.strip():
        return None
    headers = {}
    while (header := reader.readline().strip()) != b"":
        name, _, value = header.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", 0)))
    parsed = json.loads(body) if body else None
    return Asked(line.split()[1].decode(), headers, parsed, number, body)


def _pieces(content: bytes, size: int | None) -> Iterable[bytes]:
    step = size or max(1, len(content))
    return (content[at : at + step] for at in range(0, len(content), step))


# What an OpenAI-like vendor says.


def usage_of(prompt: int, completion: int, **details: Any) -> dict[str, Any]:
    """Return a usage object."""
    total = prompt + completion
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return {**counts, **details}


def choice(text: str, finish: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    """Return a choice, whole or a piece."""
    return {"index": index, "text": text, "logprobs": None, "finish_reason": finish, **more}


def body_of(*choices: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a text_completion object with these choices."""
    return {
        "id": "cmpl-vendor",
        "object": "text_completion",
        "created": 1_790_000_000,
        "model": "m-2026-01-01",
        "choices": list(choices),
        **more,
    }


def json_reply(body: Any, status: int = 200, **headers: str) -> Reply:
    """Return a reply with a JSON body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply([json.dumps(body).encode()], status, named, framing="length")


def event(body: Any) -> bytes:
    """Return one unnamed server-sent event; text goes in as it is, other things as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return f"data: {text}\n\n".encode()


def stream_reply(*steps: Any, packet: int | None = None, **kwargs: Any) -> Reply:
    """Return a streamed reply: dicts become events, and the rest stays as it is."""
    body = [event(step) if isinstance(step, dict) else step for step in steps]
    return Reply(body, 200, {"content-type": "text/event-stream"}, packet=packet, **kwargs)


DONE = b"data: [DONE]\n\n"


def completed(request: Mapping[str, Any]) -> Reply:
    """Answer as OpenAI would, with a text and counts that follow from the request.

    The text of each choice is `max_tokens` words (3 by default), one token each; a prompt has as
    many tokens as words.
    """
    prompts = request["prompt"] if isinstance(request["prompt"], list) else [request["prompt"]]
    n, words = request.get("n") or 1, request.get("max_tokens", 3)
    indices = range(len(prompts) * n)
    prompt_tokens = sum(len(prompt.split()) for prompt in prompts)
    usage = usage_of(prompt_tokens, words * len(indices))
    text = [f"word{at} " for at in range(words)]
    if not request.get("stream"):
        choices = [choice("".join(text), "length", index) for index in indices]
        return json_reply(body_of(*choices, usage=usage))
    pieces = [body_of(choice(piece, None, index)) for piece in text for index in indices]
    ends = [body_of(choice("", "length", index)) for index in indices]
    asked = (request.get("stream_options") or {}).get("include_usage")
    trailer = [body_of(usage=usage)] if asked else []
    return stream_reply(*pieces, *ends, *trailer, DONE)
