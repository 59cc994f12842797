"""Load on the web processes that are in service, and streams that stay open until they are cut."""

import functools
import random
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field

import requests

from tests.chaos.load import Asked, Caller
from tests.chaos.served import Call, ServedCalls
from tests.chaos.system import ACCOUNTS
from tests.support.processes import join
from tests.support.services.polling import wait_until
from tests.support.vendor import Asked as AskedVendor
from tests.support.vendor import Reply, Step, body_of, choice, event

CALLERS = 8

#: Words that a held stream sends before it stands still: each is a token.
HELD_WORDS = 7

#: What the prompts of held streams begin with.
HELD = "held"


class HoldingVendor:
    """The vendor of `ServedCalls`, which also holds streams open until their connection is cut."""

    def __init__(self, seed: int) -> None:
        self.served = ServedCalls(seed)
        self._never = threading.Event()

    def answer(self, asked: AskedVendor) -> Reply:
        """Respond to a call."""
        tag = asked.body["prompt"].partition(" ")[0]
        if not tag.startswith(HELD):
            return self.served.answer(asked)
        call = Call(tag, asked.body["prompt"], [" the"] * HELD_WORDS)
        self.served.by_tag[tag].append(call)

        def one_more() -> None:
            call.sent += 1

        steps: list[Step] = []
        for word in call.words:
            steps += [event(body_of(choice(word))), one_more]
        return Reply([*steps, self._never], 200, {"content-type": "text/event-stream"})


@dataclass
class Load:
    """Callers, one thread each. `ports` are the web processes in service; it may change."""

    api_key: str
    seed: int
    ports: list[int] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    #: Port -> requests that a web process on it has answered completely.
    whole: Counter[int] = field(default_factory=Counter)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _broken: list[BaseException] = field(default_factory=list)
    _held: int = 0

    def start(self) -> None:
        """Start the callers."""
        for number in range(CALLERS):
            self._run(self._call, number)

    def stop(self) -> None:
        """Let each caller get its last response.

        Raises: whatever a caller did not expect.
        """
        self._over.set()
        join(*self._threads)
        if self._broken:
            raise self._broken[0]

    def go_on(self, count: int) -> None:
        """Wait until each web process in service has answered `count` more requests."""
        enough = {port: self.whole[port] + count for port in self.ports}
        wait_until(
            lambda: all(self.whole[port] >= it for port, it in enough.items()) or self._broken
        )

    def hold(self, port: int, count: int = 3) -> list[str]:
        """Open streams that stand still after some words; return their tags."""
        tags = [f"{HELD}-{number}" for number in range(self._held, self._held + count)]
        self._held += count
        for tag in tags:
            self._run(self._read_held, port, tag)
        return tags

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=self._guarded, args=(work, *arguments), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _guarded(self, work: Callable[..., None], *arguments: object) -> None:
        try:
            work(*arguments)
        except BaseException as exc:  # noqa: BLE001 - `stop` raises it
            self._broken.append(exc)

    def _call(self, number: int) -> None:
        dice = random.Random(f"{self.seed} caller {number}")  # noqa: S311 - repeatable
        count = 0
        with ExitStack() as stack:

            @functools.cache
            def caller_of(port: int, kind: str) -> Caller:
                return stack.enter_context(closing(Caller(port, self.api_key, kind)))

            while not self._over.is_set():
                count += 1
                port, kind = dice.choice(self.ports), dice.choice(("openai", "scale", "raw"))
                asked = caller_of(port, kind).ask(f"t{number}-{count}", dice)
                self.asked.append(asked)
                if asked.ending == "whole":
                    self.whole[port] += 1
                elif asked.ending == "refused":  # perhaps its web process is being replaced
                    self._over.wait(0.05)

    def _read_held(self, port: int, tag: str) -> None:
        body = {"model": "sim/m", "prompt": f"{tag} and so on", "user": tag, "stream": True}
        account_id = ACCOUNTS[0]
        headers = {"x-api-key": self.api_key, "x-selected-account-id": account_id}
        url = f"http://127.0.0.1:{port}/v5/completions"
        with (
            suppress(requests.RequestException),
            requests.post(url, json=body, headers=headers, stream=True, timeout=120) as response,
        ):
            response.raise_for_status()
            for _ in response.iter_content(None):
                pass
        self.asked.append(Asked(tag, account_id, "cut", ""))
