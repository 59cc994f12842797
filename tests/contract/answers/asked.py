"""Reads a vendor call of any format: its prompts, samples and seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.contract.answers.parts import ABSENT, Counts, Part, Wire
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Asked, Reply

#: Tokens that `Honest` counts: of each prompt, and of each text.
PROMPT_COUNT, TEXT_COUNT = 10, 2


@dataclass(frozen=True)
class Ask:
    """The contents of one call, in the contract's terms."""

    prompts: list[str]
    n: int
    seed: int | None
    stream: bool
    body: Any


def ask_of(asked: Asked) -> Ask:
    """Return the contents of a call."""
    body = asked.body.get("args", asked.body)
    config = body.get("generationConfig", {})
    seeds = [found[name] for found in (body, config) for name in SEEDS if name in found]
    return Ask(
        _prompts(body),
        body.get("n") or config.get("candidateCount") or 1,
        seeds[0] if seeds else None,
        bool(body.get("stream")) or "stream" in asked.path,
        body,
    )


SEEDS = ("seed", "random_seed")


def _prompts(body: Any) -> list[str]:
    if "contents" in body:
        return [body["contents"][0]["parts"][0]["text"]]
    if "messages" in body:
        content = body["messages"][0]["content"]
        return [content if isinstance(content, str) else content[0]["text"]]
    prompt = body.get("prompt", body.get("inputText"))
    return list(prompt) if isinstance(prompt, list) else [prompt]


@dataclass
class Honest:
    """A vendor whose texts begin with their prompts; no two are equal.

    `limit` is the most choices that it gives in one call, as (number of the call) -> choices.
    `number` says which indices the choices of its first answer have, as (their right indices) ->
    indices. `together`: streamed choices come in one event, else each in two of its own.
    """

    name: str
    limit: Callable[[int], int] = lambda _: 1000
    number: Callable[[list[int]], Sequence[Any]] = list
    together: bool = False
    asks: list[Ask] = field(default_factory=list)
    texts: int = 0

    @property
    def wire(self) -> Wire:
        """The vendor's API format."""
        return WIRES[self.name]

    def __call__(self, asked: Asked) -> Reply:
        """Respond to a call."""
        ask = ask_of(asked)
        self.asks.append(ask)
        right = list(range(len(ask.prompts) * ask.n))[: self.limit(len(self.asks))]
        wrong = self.number(right) if len(self.asks) == 1 else right
        texts = [self._text(ask.prompts[index // ask.n]) for index in right]
        parts = [
            Part(text, self.wire.stop, index) for text, index in zip(texts, wrong, strict=True)
        ]
        return self.reply(ask, parts)

    def reply(self, ask: Ask, parts: list[Part]) -> Reply:
        """Return these choices, and their usage."""
        wire = self.wire
        counts = Counts(PROMPT_COUNT * len(ask.prompts), TEXT_COUNT * len(parts))
        usage = wire.usage(counts)
        if not ask.stream:
            return wire.whole(*parts, usage=usage)
        if self.together:
            events = [wire.event(*parts)]
        else:
            events = [wire.event(one) for part in parts for one in _said(part)]
        return wire.stream(*events, wire.event(usage=usage), wire.mark)

    def _text(self, prompt: str) -> str:
        self.texts += 1
        return f"{prompt}~{self.texts}"


def _said(part: Part) -> tuple[Part, Part]:
    """Return a choice as it is streamed: its text, then its end."""
    return replace(part, reason=ABSENT), replace(part, text="")
