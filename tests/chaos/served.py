"""The simulated vendor's call log: each request, and how much of the response it sent."""

import random
import threading
from collections import defaultdict
from dataclasses import dataclass, field

from app.usage.metering.estimate import count_tokens
from tests.support.vendor import (
    CUT,
    DONE,
    Asked,
    Reply,
    Step,
    body_of,
    choice,
    json_reply,
    usage_of,
)
from tests.support.vendor import event as sse_event

WORDS = ("the", "of", "and", "to", "in", "is", "that", "it", "was", "for", "on", "are", "with")

#: Shares of calls that the vendor rejects for a moment, and that it ends early.
OVERLOADED, BROKEN_OFF = 0.05, 0.03


@dataclass
class Call:
    """One call that reached the vendor. `sent` counts the words of the response that were sent."""

    tag: str
    prompt: str
    words: list[str]
    refused: bool = False
    sent: int = 0
    sent_usage: bool = False

    @property
    def prompt_tokens(self) -> int:
        """The tokens of the prompt."""
        return count_tokens(self.prompt)

    @property
    def text(self) -> str:
        """The complete response."""
        return "".join(self.words)

    @property
    def completion_tokens(self) -> int:
        """The tokens of the complete response."""
        return count_tokens(self.text)

    @property
    def sent_tokens(self) -> int:
        """The tokens that were sent."""
        return count_tokens("".join(self.words[: self.sent]))


@dataclass
class ServedCalls:
    """The vendor's responses, and its log of them by the tag that each prompt starts with."""

    seed: int
    by_tag: defaultdict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> Reply:
        """Respond as OpenAI would, most of the time."""
        body = asked.body
        tag = body["prompt"].partition(" ")[0]
        with self._lock:
            calls = self.by_tag[tag]
            dice = random.Random(f"{self.seed} {tag} {len(calls)}")  # noqa: S311 - repeatable
            words = [f" {dice.choice(WORDS)}" for _ in range(body["max_tokens"])]
            call = Call(tag, body["prompt"], words)
            calls.append(call)
        if dice.random() < OVERLOADED:
            call.refused = True
            return json_reply({"error": {"message": "Overloaded.", "type": "overloaded"}}, 503)
        pause_s = float(body["top_p"]) * 0.1  # the caller sets the delay with it
        return _stream(call, dice, pause_s) if body.get("stream") else _whole(call, pause_s)


def _whole(call: Call, pause_s: float) -> Reply:
    usage = usage_of(call.prompt_tokens, call.completion_tokens)
    reply = json_reply(body_of(choice(call.text, "length"), usage=usage))

    def sent() -> None:
        call.sent, call.sent_usage = len(call.words), True

    # Before the last byte, so that the log is complete once the response has been read.
    reply.body = [min(2.0, pause_s * len(call.words)), sent, *reply.body]
    return Reply(reply.body, reply.status, reply.headers, framing="length")


def _stream(call: Call, dice: random.Random, pause_s: float) -> Reply:
    breaks_at = dice.randrange(len(call.words)) if dice.random() < BROKEN_OFF else None
    steps: list[Step] = []

    def one_more() -> None:
        call.sent += 1

    def usage_too() -> None:
        call.sent_usage = True

    for at, word in enumerate(call.words):
        if at == breaks_at:
            return Reply([*steps, CUT], 200, {"content-type": "text/event-stream"})
        steps += [sse_event(body_of(choice(word))), one_more, pause_s]
    usage = usage_of(call.prompt_tokens, call.completion_tokens)
    steps += [sse_event(body_of(choice("", "length"))), sse_event(body_of(usage=usage))]
    return Reply([*steps, usage_too, DONE], 200, {"content-type": "text/event-stream"})
