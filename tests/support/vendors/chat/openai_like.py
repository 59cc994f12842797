"""OpenAI's chat completions with tools, and the ways in which others differ, as switches.

Source: the types of OpenAI's Python SDK (3.57), and for others their own SDKs and servers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from openai.types.chat.completion_create_params import CompletionCreateParams

from tests.support.vendor import CUT, DONE, Asked, Reply, json_reply, stream_reply, usage_of
from tests.support.vendors.base import Kind
from tests.support.vendors.chat.openai_rules import problems_of_messages, problems_of_tools
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought, hung_up
from tests.support.vendors.chat.script import signature as signature_of
from tests.support.vendors.chat.typed import complaint, unnamed
from tests.support.vendors.openai_chat import ERRORS, invalid, openai_error, refused

Body = dict[str, Any]
Rule = Callable[[Body], Iterator[str]]

#: Names of finish reasons that are not OpenAI's.
FINISHES: Mapping[str, str] = {}


@dataclass(frozen=True)
class OpenAIChat:
    """A chat endpoint at `path`, and how its vendor differs from OpenAI.

    `types` are the request's, or None for a server that ignores what it does not know. Of these it
    knows no `refused` ones, and has `other` types for some; `added` are its own, in any object.
    `rules` yield what else it refuses.
    `reasons` are its fields of reasoning text; `details` has it in OpenRouter's list, too.
    `calls` says whether a call is streamed whole, `numbered` what its index is, `repeats` whether
    each delta says role, id, type and name again. `usage` says where a stream's usage is: `asked`
    in a chunk of its own if the caller asks, `trailer` in one always, `last` beside the end.
    """

    path: str = "/v1/chat/completions"
    model: str = "gpt-4o"
    headers: Mapping[str, str] = field(default_factory=lambda: {"authorization": "Bearer sk-test"})
    types: Any = CompletionCreateParams
    refused: frozenset[str] = frozenset()
    other: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset({"annotations"})  # of messages: OpenAI gives and takes it
    rules: Sequence[Rule] = ()
    errors: Mapping[Kind, tuple[int, Body]] = field(default_factory=lambda: ERRORS)
    reasons: Sequence[str] = ()
    details: bool = False
    calls: Literal["pieces", "whole"] = "pieces"
    numbered: Literal["counted", "zero", "none"] = "counted"
    repeats: bool = False
    finishes: Mapping[str, str] = field(default_factory=lambda: FINISHES)
    usage: Literal["asked", "trailer", "last"] = "asked"
    refuses_in: Literal["refusal", "filter"] = "filter"
    adds_reasoning: bool = False
    overlay: str = ""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what the vendor refuses."""
        if asked.path != self.path:
            body = openai_error("Unknown request URL.", "invalid_request_error", None, None)
            return json_reply(body, 404)
        if any(asked.headers.get(name) != value for name, value in self.headers.items()):
            return self.refuse(asked, "bad_key")
        return next((self.invalid(words) for words in self.problems(asked.body)), None)

    def invalid(self, words: str) -> Reply:
        """Return the vendor's refusal of a request."""
        return invalid(words)

    def problems(self, body: Body) -> Iterator[str]:
        """Yield everything that is wrong with a body."""
        for name in sorted(self.refused & body.keys()):
            yield f"property '{name}' is unsupported"
        typed = {name: value for name, value in unnamed(body).items() if name not in self.other}
        if self.types is not None and (wrong := complaint(typed, self.types, self.added)):
            yield f"Invalid body: {wrong}"
        if "stream_options" in body and not body.get("stream"):
            yield "stream_options: is only allowed when 'stream' is enabled"
        yield from problems_of_messages(body)
        yield from problems_of_tools(body)
        for rule in self.rules:
            yield from rule(body)

    def says(self, asked: Asked, said: Answer) -> Reply:
        """Answer as the script says, whole or streamed."""
        body = asked.body
        if body.get("stream"):
            return self.streamed(body, said)
        if said.breaks == "error":
            return self.refuse(asked, "server_error")
        answer = self.whole(body, said)
        return hung_up(answer) if said.breaks else json_reply(answer)

    def whole(self, body: Body, said: Answer) -> Body:
        """Return a whole answer."""
        choices = [
            {
                "index": index,
                "message": self.message(said, index),
                "logprobs": None,
                "finish_reason": self.finish(body, said),
            }
            for index in range(body.get("n") or 1)
        ]
        usage = self.counts(said.counts, len(choices))
        return {**self.object(""), "choices": choices, "usage": usage}

    def object(self, suffix: str) -> Body:
        """Return what is around the choices."""
        return {
            "id": "chatcmpl-vendor",
            "object": f"chat.completion{suffix}",
            "created": 1_790_000_000,
            "model": "m-2026-01-01",
        }

    def message(self, said: Answer, index: int) -> Body:
        """Return the message of a whole answer."""
        text = said.text or (None if said.calls or said.refusal else "")
        message: Body = {"role": "assistant", "content": text}
        if self.refuses_in == "refusal":
            message["refusal"] = said.refusal
        if said.thought:
            message |= dict.fromkeys(self.reasons, said.thought)
        if said.thoughts and self.details:
            message["reasoning_details"] = [
                detail(at, thought) for at, thought in enumerate(said.thoughts)
            ]
        if said.calls:
            message["tool_calls"] = [self.call(at, c, index) for at, c in enumerate(said.calls)]
        return message

    def call(self, at: int, call: Call, choice: int) -> Body:
        """Return a whole call."""
        named = {"name": call.name, "arguments": call.arguments}
        call_id = f"{call.id}_{choice}" if choice else call.id
        return {"id": call_id, "type": "function", "function": named, **self._number(at)}

    def _number(self, at: int) -> Body:
        numbers: Mapping[str, Body] = {"counted": {"index": at}, "zero": {"index": 0}, "none": {}}
        return numbers[self.numbered]

    def finish(self, _: Body, said: Answer) -> str:
        """Return the vendor's word for why it ended."""
        return self.finishes.get(said.ending, said.ending)

    def streamed(self, body: Body, said: Answer) -> Reply:
        """Return a stream."""
        indices = range(body.get("n") or 1)
        deltas = [{"role": "assistant", "content": ""}, *self.deltas(said)]
        pieces: list[tuple[int, Body, str | None]]
        pieces = [(index, delta, None) for delta in deltas for index in indices]
        if said.breaks is None:
            pieces += [(index, {}, self.finish(body, said)) for index in indices]
        chunks = [self.chunk(*piece) for piece in pieces]
        if said.breaks is None:
            return self.framed(self.counted(body, chunks, self.counts(said.counts, len(indices))))
        failed = openai_error("The server is overloaded.", "server_error", None, None)
        return stream_reply(*chunks, failed if said.breaks == "error" else CUT)

    def framed(self, chunks: list[Body]) -> Reply:
        """Return chunks as the vendor frames them."""
        return stream_reply(*chunks, DONE)

    def chunk(self, index: int, delta: Body, finish: str | None) -> Body:
        """Return a chunk."""
        again = {"role": "assistant"} if self.repeats else {}
        choice = {"index": index, "delta": {**again, **delta}, "logprobs": None}
        return {**self.object(".chunk"), "choices": [{**choice, "finish_reason": finish}]}

    def deltas(self, said: Answer) -> Iterator[Body]:
        """Yield the pieces of a message."""
        calls = thoughts = 0
        for block in said.blocks:
            if isinstance(block, Call):
                yield from self._pieces_of_call(calls, block)
                calls += 1
            elif isinstance(block, Thought):
                yield from self._pieces_of_thought(thoughts, block)
                thoughts += 1
            else:
                yield from ({"content": piece} for piece in block.pieces())
        if said.refusal and self.refuses_in == "refusal":
            yield from ({"refusal": piece} for piece in Text(said.refusal).pieces())

    def _pieces_of_call(self, at: int, call: Call) -> Iterator[Body]:
        whole = self.call(at, call, 0)
        if self.calls == "whole":
            yield {"tool_calls": [{**whole, **self._number(at)}]}
            return
        first = {**whole, **self._number(at), "function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [first]}
        for piece in call.pieces():
            again = first if self.repeats else self._number(at)
            named = {"name": call.name} if self.repeats else {}
            yield {"tool_calls": [{**again, "function": {**named, "arguments": piece}}]}

    def _pieces_of_thought(self, at: int, thought: Thought) -> Iterator[Body]:
        if not thought.redacted:
            for piece in Text(thought.text).pieces():
                told: Body = dict.fromkeys(self.reasons, piece)
                if self.details:
                    told["reasoning_details"] = [{**detail(at, thought), "text": piece}]
                    del told["reasoning_details"][0]["signature"]
                yield told
        if self.details:
            yield {"reasoning_details": [signed(at, thought)]}

    def counted(self, body: Body, chunks: list[Body], usage: Body) -> list[Body]:
        """Return the chunks with the usage where the vendor puts it."""
        if self.usage == "last":
            return [*chunks[:-1], {**chunks[-1], "usage": usage}]
        asked = (body.get("stream_options") or {}).get("include_usage")
        if self.usage == "asked" and not asked:
            return chunks
        trailer = {**self.object(".chunk"), "choices": [], "usage": usage}
        return [*({**chunk, "usage": None} for chunk in chunks), trailer]

    def counts(self, counts: Counts, n: int) -> Body:
        """Return the usage of a call with n samples."""
        reasoning = 0 if not self.adds_reasoning else counts.reasoning
        return usage_of(
            counts.prompt,
            (counts.completion - reasoning) * n,
            total_tokens=counts.prompt + counts.completion * n,
            prompt_tokens_details={"cached_tokens": counts.cached, "audio_tokens": 0},
            completion_tokens_details={"reasoning_tokens": counts.reasoning * n},
        )

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return the vendor's error of this kind."""
        return refused(self.errors, kind, retry_after)


def detail(at: int, thought: Thought) -> Body:
    """Return a thought as OpenRouter has it in `reasoning_details`."""
    form = {"format": "anthropic-claude-v1", "index": at}
    if thought.redacted:
        return {"type": "reasoning.encrypted", "data": signature_of(thought.text), **form}
    signed = {"text": thought.text, "signature": signature_of(thought.text)}
    return {"type": "reasoning.text", **signed, **form}


def signed(at: int, thought: Thought) -> Body:
    """Return the piece of a thought that has its signature, and no text."""
    whole = detail(at, thought)
    return whole if thought.redacted else {n: v for n, v in whole.items() if n != "text"}
