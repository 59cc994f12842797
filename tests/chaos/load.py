"""Load: callers with real clients that send requests all the time and record their responses."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import httpx
import openai
import requests
import scale_gp_beta

from tests.chaos.system import ACCOUNTS, System
from tests.support.gateway import sse_events, text_of
from tests.support.processes import join

CALLERS = 24

#: Silence after which a caller gives up, in seconds: some processes are paused for longer.
PATIENCE_S = 8.0

#: How a request ended for its caller. `refused`: no part of a response came.
Ending = Literal["whole", "cut", "refused", "left"]

FAILURES = (
    openai.OpenAIError,
    scale_gp_beta.SGPClientError,
    httpx.HTTPError,
    requests.RequestException,
)


@dataclass(frozen=True)
class Asked:
    """One request and its response: `text` is the part that arrived."""

    tag: str
    account_id: str
    ending: Ending
    text: str


class Load:
    """Callers, one thread each, from `start` to `stop`."""

    def __init__(self, system: System, seed: int) -> None:
        self._system = system
        self._seed = seed
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._call, args=(number,)) for number in range(CALLERS)
        ]
        self.asked: list[Asked] = []
        self.broken: list[BaseException] = []

    def start(self) -> None:
        """Start the callers."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let each caller get its last response.

        Raises: whatever a caller did not expect.
        """
        self._over.set()
        join(*self._threads)
        if self.broken:
            raise self.broken[0]

    @property
    def endings(self) -> Counter[str]:
        """The number of requests by how they ended."""
        return Counter(asked.ending for asked in self.asked)

    def _call(self, number: int) -> None:
        dice = random.Random(f"{self._seed} caller {number}")  # noqa: S311 - repeatable
        callers = [
            Caller(port, self._system.api_key, kind)
            for port in self._system.webs
            for kind in ("openai", "scale", "raw")
        ]
        count = 0
        try:
            while not self._over.is_set():
                count += 1
                asked = dice.choice(callers).ask(f"t{number}-{count}", dice)
                self.asked.append(asked)
                if asked.ending == "refused":  # perhaps no process listens there at the moment
                    self._over.wait(0.1)
        except BaseException as exc:  # noqa: BLE001 - `stop` raises it
            self.broken.append(exc)
        finally:
            for caller in callers:
                caller.close()


class Caller:
    """One client of one web process."""

    def __init__(self, port: int, api_key: str, kind: str) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._headers = {"x-api-key": api_key}
        more: dict[str, Any] = {"api_key": api_key, "max_retries": 0, "timeout": PATIENCE_S}
        self._client: Any = None
        self._session = requests.Session()
        if kind == "openai":
            self._client = openai.OpenAI(base_url=f"{self._url}/v5", **more)
        elif kind == "scale":
            self._client = scale_gp_beta.SGPClient(base_url=self._url, account_id="-", **more)

    def close(self) -> None:
        """Close its connections."""
        self._session.close()
        if self._client is not None:
            self._client.close()

    def ask(self, tag: str, dice: random.Random) -> Asked:
        """Request one completion and read the response, or disconnect in the middle."""
        account_id = dice.choice(ACCOUNTS)
        headers = {"x-selected-account-id": account_id}
        body = self._body(tag, dice)
        leaves_after = dice.randrange(5) if body.get("stream") and dice.random() < 0.1 else None
        pieces: list[str] = []
        ending: Ending = "whole"
        try:
            for piece in self._answer(body, headers):
                if len(pieces) == leaves_after:
                    ending = "left"
                    break
                pieces.append(piece)
        except FAILURES:
            ending = "cut" if pieces else "refused"
        return Asked(tag, account_id, ending, "".join(pieces))

    @staticmethod
    def _body(tag: str, dice: random.Random) -> dict[str, Any]:
        padding = 100_000 if dice.random() < 0.01 else 0
        body: dict[str, Any] = {
            "model": dice.choice(("sim/m", "sim/m", "again/m", "drain/m")),
            "prompt": f"{tag} {'and so on ' * dice.randrange(20)}",
            "user": f"{tag} {'u' * padding}",
            "max_tokens": dice.randrange(1, 60),
            # The vendor takes this as its delay: mostly short.
            "top_p": round(dice.random() ** 3, 3),
        }
        if dice.random() < 0.6:
            body["stream"] = True
            if dice.random() < 0.5:
                body["stream_options"] = {"include_usage": True}
        return body

    def _answer(self, body: dict[str, Any], headers: dict[str, str]) -> Iterator[str]:
        """Yield the deltas of the response's text.

        Raises: one of FAILURES.
        """
        if self._client is None:
            return self._raw(body, headers)
        return self._official(body, headers)

    def _official(self, body: dict[str, Any], headers: dict[str, str]) -> Iterator[str]:
        answer = self._client.completions.create(**body, extra_headers=headers)
        if not body.get("stream"):
            yield answer.choices[0].text
            return
        with answer:
            for chunk in answer:
                for choice in chunk.choices:
                    yield choice.text

    def _raw(self, body: dict[str, Any], headers: dict[str, str]) -> Iterator[str]:
        with self._session.post(
            f"{self._url}/v5/completions",
            json=body,
            headers={**self._headers, **headers},
            timeout=PATIENCE_S,
        ) as response:
            response.raise_for_status()
            if body.get("stream"):
                yield text_of(sse_events(response))
            else:
                yield response.json()["choices"][0]["text"]
