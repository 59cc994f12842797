"""A target: the vendor, or a gateway in front of it, and the requests to it."""

import http.client
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

HOST = "127.0.0.1"
PROMPT = "Tell me about the quick brown fox, in one sentence that a child can read."
TIMEOUT_S = 60.0


def _settled() -> None:
    """Do nothing: a vendor has no background work."""


@dataclass(frozen=True, slots=True)
class Target:
    """One server under test."""

    name: str
    port: int
    path: str
    #: The process id of its root process.
    pid: int
    #: The prefix of a model's name.
    prefix: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Waits until its background work is done.
    settle: Callable[[], None] = _settled

    def body(self, model: str, prompt: str = PROMPT) -> str:
        """Return the request's body; a model other than `whole` is streamed."""
        content: dict[str, Any] = {"model": self.prefix + model, "prompt": prompt, "max_tokens": 64}
        if model != "whole":
            content["stream"] = True
        return json.dumps(content)

    def all_headers(self) -> dict[str, str]:
        """Return the request's headers, without host and length."""
        return {"content-type": "application/json", **self.headers}

    def request(self, model: str, prompt: str = PROMPT) -> str:
        """Return the bytes of a request."""
        body = self.body(model, prompt)
        lines = [f"POST {self.path} HTTP/1.1", f"host: {HOST}:{self.port}"]
        lines += [f"{name}: {value}" for name, value in self.all_headers().items()]
        lines += [f"content-length: {len(body)}", "", body]
        return "\r\n".join(lines)

    def ask(self, model: str) -> tuple[int, bytes]:
        """Send one request; return the status and the body.

        Raises: OSError, HTTPException.
        """
        connection = http.client.HTTPConnection(HOST, self.port, timeout=TIMEOUT_S)
        try:
            connection.request("POST", self.path, self.body(model), self.all_headers())
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()
