"""A target: the vendor, or a gateway in front of it, and the requests to it."""

import http.client
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

HOST = "127.0.0.1"
PROMPT = "Tell me about the quick brown fox, in one sentence that a child can read."
TIMEOUT_S = 60.0
#: Asks for chunks of a chat without OpenAI's padding.
PLAIN = {"stream_options": {"include_obfuscation": False}}


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
    #: The prefix of a model's name in chat, where another one is needed.
    chat_prefix: str | None = None
    #: Whether it gets the prompt as a message.
    is_chat: bool = False
    #: Waits until its background work is done.
    settle: Callable[[], None] = _settled

    @property
    def chat(self) -> "Target":
        """The same server, asked for chat completions."""
        path = self.path.replace("/completions", "/chat/completions")
        prefix = self.prefix if self.chat_prefix is None else self.chat_prefix
        return replace(self, path=path, prefix=prefix, is_chat=True)

    def body(self, model: str, prompt: str = PROMPT) -> str:
        """Return the request's body; a model other than `whole` is streamed."""
        content: dict[str, Any] = {"model": self.prefix + model, "max_tokens": 64}
        if self.is_chat:
            content["messages"] = [{"role": "user", "content": prompt}]
        else:
            content["prompt"] = prompt
        if model != "whole":
            content["stream"] = True
            content |= PLAIN if self.is_chat else {}
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
