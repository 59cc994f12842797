"""One case from a seed: the request, the vendor entry, and the vendor's response to each call."""

import re
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from tests.contract.wild.deviations import Deviation
from tests.contract.wild.draft import KEEP, Draft
from tests.contract.wild.truth import Sample, Told, Truth
from tests.contract.wild.wires import Speaker
from tests.contract.wild.wires.rows import SPEAKERS
from tests.support.vendor import Asked, Reply, Step
from tests.support.vendors import WIRES
from tests.support.vendors.base import Wire

MARK = re.compile(r"case (\d+) prompt ([A-Z])")
WORDS = ("naïve", "日本語", "🙂", "two\nlines", '"quoted"', "para\u2028graph", "plain", "é", "x")
#: Rows whose usage has no word for cached tokens.
UNCACHED = ("sglang", "tgi", "ollama", "llmengine_v1", "bedrock:")


@dataclass
class Case:
    """A request and its vendor calls.

    leaves     its caller hangs up after a chunk
    fails_at   of several calls, the only one that meets what breaks an answer
    """

    seed: int
    row: str
    stream: bool
    n: int
    prompts: list[str]
    include_usage: bool
    logprobs: bool = False
    leaves: bool = False
    fails_at: int | None = None
    deviations: tuple[Deviation, ...] = ()
    parts: int = 1
    calls: list[Truth] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    ended_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def wire(self) -> Wire:
        """The simulated vendor of the row."""
        return WIRES[self.row]

    @property
    def speaker(self) -> Speaker:
        """Who speaks for it."""
        return SPEAKERS[self.row]

    def request(self) -> dict[str, Any]:
        """Return the body of the caller's request."""
        texts = [f"case {self.seed} prompt {letter}: go on" for letter in self.prompts]
        model = f"{self.row.partition(':')[0]}/{getattr(self.wire, 'model', 'm')}"
        body: dict[str, Any] = {"model": model, "max_tokens": 64, "stream": self.stream}
        body["prompt"] = texts if len(texts) > 1 or self.seed % 3 == 0 else texts[0]
        if self.n > 1:
            body["n"] = self.n
        if self.logprobs:
            body["logprobs"] = 2
        if self.include_usage:
            body["stream_options"] = {"include_usage": True}
        return body

    def answer(self, asked: Asked) -> Reply:
        """Respond to one call, unless the real vendor would reject it."""
        if refused := self.wire.check(asked):
            self.refusals.append(str(refused.body))
            return refused
        return self.say(asked)

    def say(self, asked: Asked) -> Reply:
        """Respond to one call; further calls get responses without deviations."""
        with self._lock:
            number = len(self.calls)
            draft = self._draft(asked, number)
            self.calls.append(draft.truth)
        for stage in ("said", "spoken", "sent"):
            for deviation in self.deviations:
                if deviation.stage == stage and self._meets(deviation, number):
                    deviation.apply(draft)
            if stage == "said":
                self.speaker.render(draft)
            if stage == "spoken":
                self._dump(draft)
        return self._reply(draft)

    def _meets(self, deviation: Deviation, number: int) -> bool:
        if deviation.breaks and self.fails_at is not None:
            return number == self.fails_at
        return deviation.everywhere or number < self.parts

    def _draft(self, asked: Asked, number: int) -> Draft:
        rng = Random(f"{self.seed}/{number}")  # noqa: S311 - a dealer has no secrets
        body = asked.body.get("args", asked.body)
        n = body.get("n") or body.get("generationConfig", {}).get("candidateCount") or 1
        length = rng.randint(2, 5)
        letters = [letter for _, letter in MARK.findall(asked.raw.decode())]
        samples = [
            _sample(rng, letter, f"{letter}{number}.{at}", length)
            for letter in letters
            for at in range(n)
        ]
        if not self.row.startswith(("llmengine_v1",)):
            for sample in samples:
                sample.finish = rng.choice(("stop", "stop", "length"))
        prompt = rng.randint(9, 400)
        cached = 0 if self.row.startswith(UNCACHED) else rng.choice((0, rng.randint(1, prompt)))
        truth = Truth(samples, Told(prompt, rng.randint(2, 40), cached))
        draft = Draft(rng, asked, self.wire, truth, self.stream, number == 0)
        draft.words = [KEEP] * len(samples)
        draft.indices = [KEEP] * len(samples)
        draft.order = list(draft.positions)
        return draft

    def _dump(self, draft: Draft) -> None:
        if draft.streams:
            draft.pieces = [self.speaker.frame(draft, event) for event in draft.events]
            draft.headers.setdefault("content-type", "text/event-stream")
        else:
            draft.pieces = [self.speaker.dump(draft)]
            draft.framing = "length"
        if draft.style.lead:
            draft.pieces.insert(0, draft.style.lead)

    def _reply(self, draft: Draft) -> Reply:
        if draft.tail and draft.framing == "length":  # what follows is to be within the body
            size = sum(map(len, draft.pieces)) + 99
            draft.headers = {**draft.headers, "content-length": str(size)}
            draft.framing = "close"
        steps: list[Step] = [partial(self._ended), *draft.tail]
        for at, piece in reversed(list(enumerate(draft.pieces))):
            steps[:0] = [draft.pauses[at], piece] if at in draft.pauses else [piece]
        return Reply(
            steps,
            draft.status,
            draft.headers,
            framing=draft.framing,  # type: ignore[arg-type]
            packet=draft.packet,
        )

    def _ended(self) -> None:
        self.ended_s = time.monotonic()

    def __str__(self) -> str:
        """The case in one line."""
        names = ", ".join(deviation.name for deviation in self.deviations) or "nothing"
        kind = "stream" if self.stream else "whole"
        kind += ", its caller leaves" if self.leaves else ""
        return (
            f"seed {self.seed}: {self.row}, {kind}, n={self.n}, prompts={len(self.prompts)}, "
            f"usage={self.include_usage}{', logprobs' if self.logprobs else ''}: {names}"
        )


def seed_in(raw: bytes) -> int:
    """Return the case's seed in a vendor's request."""
    found = MARK.search(raw.decode())
    if found is None:
        raise AssertionError("a call that belongs to no case")
    return int(found[1])


def _sample(rng: Random, letter: str, name: str, length: int) -> Sample:
    words = [f"{name}:", *(rng.choice(WORDS) for _ in range(length))]
    return Sample(letter, [words[0], *(f" {word}" for word in words[1:])])
