"""A client of the gateway: streamed completions of a text or a chat, the usage, the vendors."""

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import orjson
import requests

from app.formats.sse import EventParser

TIMEOUT_S = 60
#: How long a command waits for a gateway that should be on this host, in seconds.
MODELS_S = 5
DAYS = 30
_DAY_S = 86_400


class DemoFailed(Exception):
    """The gateway's response was not as expected."""


class DemoClient:
    """A client of the gateway at `base_url`, which ends in `/v5`.

    With a `user`, the requests have it, and `usage` returns only that of requests that have it.
    """

    def __init__(self, base_url: str, key: str, user: str | None = None) -> None:
        self._base_url = base_url
        self._user = user
        self._session = requests.Session()
        self._session.trust_env = False  # proxies of the environment are not for this host
        self._session.headers["x-api-key"] = key

    def stream(self, model: str, prompt: str) -> Iterator[str]:
        """Yield the text of a streamed completion as it arrives.

        Raises: DemoFailed, even in the middle of the stream.
        """
        for chunk in self._chunks("completions", {"model": model, "prompt": prompt}):
            for choice in chunk["choices"]:
                yield choice["text"]

    def chat(self, model: str, text: str) -> Iterator[str]:
        """Yield the text of a streamed chat completion as it arrives.

        Raises: DemoFailed, even in the middle of the stream.
        """
        messages = [{"role": "user", "content": text}]
        for chunk in self._chunks("chat/completions", {"model": model, "messages": messages}):
            for choice in chunk["choices"]:
                yield choice["delta"].get("content") or ""

    def _chunks(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        response = self._session.post(
            f"{self._base_url}/{path}",
            json={**body, "stream": True, **({"user": self._user} if self._user else {})},
            stream=True,
            timeout=TIMEOUT_S,
        )
        with response:
            if not response.ok:
                raise DemoFailed(f"The completion failed: {response.text}")
            parser = EventParser()
            for packet in response.iter_content(chunk_size=None):
                for event in parser.feed(packet):
                    if event.name == "done":
                        return
                    if event.name == "error":
                        raise DemoFailed(f"The stream failed: {event.data.decode()}")
                    yield orjson.loads(event.data)
        raise DemoFailed("The stream ended without `event: done`.")

    def usage(self) -> dict[str, list[int]]:
        """Return the usage of the key's account in the last DAYS days, of the user alone if set.

        Shape: model -> [requests, input tokens, output tokens].
        """
        query: dict[str, str | int] = {
            "start_time": int(time.time()) - DAYS * _DAY_S,
            "bucket_width": "1d",
            "group_by": "model",
            "limit": DAYS + 1,
            **({"user_ids": self._user} if self._user else {}),
        }
        response = self._session.get(
            f"{self._base_url}/organization/usage/completions", params=query, timeout=TIMEOUT_S
        )
        if not response.ok:
            raise DemoFailed(f"The usage query failed: {response.text}")
        used: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for bucket in response.json()["data"]:
            for result in bucket["results"]:
                counts = ("num_model_requests", "input_tokens", "output_tokens")
                used[result["model"]] = [
                    total + result[count]
                    for total, count in zip(used[result["model"]], counts, strict=True)
                ]
        return dict(used)

    def vendors(self) -> set[str]:
        """Return the names of the vendors that the gateway can call.

        Raises: DemoFailed; requests' errors.
        """
        response = self._session.get(f"{self._base_url}/models", timeout=MODELS_S)
        if not response.ok:
            raise DemoFailed(f"The list of models failed: {response.text}")
        return {model["id"].partition("/")[0] for model in response.json()["data"]}
