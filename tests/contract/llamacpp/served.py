"""A llama.cpp server with a Tollgate in front of it, and requests to both."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.settings import Settings
from app.usage.messages.event import UsageEvent
from tests.support.gateway import Gateway, running, sse_events
from tests.support.services.llamacpp import MODEL, SLOT_TOKENS, LlamaCpp
from tests.support.services.sqlite import new_ledger

#: Entries for the same server beside the built-in one: through chat, and one that knows nothing
#: of its ways, as a deployment writes it that has never read about them.
TABLE = """
[vendors.llamachat]
gateway = "openai"
base_url = "${LLAMACPP_BASE_URL}"
native = []
list_prompts = false
max_n = 1
quirks = { least_logprobs = 1 }

[vendors.unknown]
gateway = "openai"
base_url = "${LLAMACPP_BASE_URL}"
"""

PROMPT = "the cat"
TOO_LONG = "a" * (SLOT_TOKENS + 1)

#: What makes the model write one text and no other: a character can be several tokens.
CHARACTERS: dict[str, Any] = {"grammar": 'root ::= "é日😀"', "max_tokens": 20}
LETTERS: dict[str, Any] = {"grammar": 'root ::= "abcdef"', "max_tokens": 20}

#: Sampled from all tokens: were the unlikely ones left out, a rounding could decide which they are.
SAMPLED: dict[str, Any] = {"seed": 7, "temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0}


@dataclasses.dataclass
class Served:
    """The server, the Tollgate in front of it, and the same request to both."""

    server: LlamaCpp
    gateway: Gateway

    def ask(self, model: str = "llamacpp", **more: Any) -> dict[str, Any]:
        """Return a request to Tollgate."""
        return {"model": f"{model}/{MODEL}", **request_of(more)}

    def answer(self, **more: Any) -> dict[str, Any]:
        """Return Tollgate's whole response."""
        response = self.gateway.post(self.ask(**more))
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body

    def events(self, **more: Any) -> list[dict[str, Any]]:
        """Return the chunks of Tollgate's stream, after checking its end."""
        response = self.gateway.post(self.ask(stream=True, **more))
        assert response.status_code == 200, response.text
        *chunks, end = sse_events(response)
        assert end == ("done", "[DONE]")
        assert {name for name, _ in chunks} == {None}
        return [chunk for _, chunk in chunks]

    def streamed(self, **more: Any) -> list[str]:
        """Return the text of each choice of Tollgate's stream."""
        texts = dict[int, str]()
        for choice in pieces_of(self.events(**more)):
            texts[choice["index"]] = texts.get(choice["index"], "") + choice["text"]
        return [texts[index] for index in range(len(texts))]

    def direct(self, **more: Any) -> dict[str, Any]:
        """Return the server's own whole response, or its error."""
        told: dict[str, Any] = json.loads(self.server.ask("/completions", request_of(more)))
        return told

    def direct_chat(self, **more: Any) -> dict[str, Any]:
        """Return the server's own chat response to the prompt as the only message."""
        asked = request_of(more)
        messages = [{"role": "user", "content": asked.pop("prompt")}]
        told: dict[str, Any] = json.loads(
            self.server.ask("/chat/completions", {**asked, "messages": messages})
        )
        return told

    def direct_events(self, **more: Any) -> list[dict[str, Any]]:
        """Return the chunks of the server's own stream."""
        raw = self.server.ask("/completions", {**request_of(more), "stream": True})
        return [chunk for chunk in events_of(raw) if chunk is not None]


def pieces_of(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the choices of all chunks, in the order of their arrival."""
    return [choice for chunk in chunks for choice in chunk["choices"]]


def events_of(stream: bytes) -> list[Any]:
    """Return the contents of the events of the server's stream."""
    *frames, end = [line.removeprefix("data: ") for line in stream.decode().split("\n") if line]
    assert end == "[DONE]"
    return [json.loads(frame) for frame in frames]


def request_of(more: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request without its model, which the server ignores."""
    return {"prompt": PROMPT, "max_tokens": 8, "temperature": 0, **more}


@contextmanager
def tollgate_before(server: LlamaCpp, root: Path, redis_url: str) -> Iterator[Served]:
    """Run a Tollgate with the built-in table; its llama.cpp entry is this server."""
    (root / "vendors.toml").write_text(TABLE)
    settings = Settings(
        journal="off",  # no worker posts: it would send again what a flush between tests removes
        redis_url=redis_url,
        database_url=new_ledger(root / "ledger.db"),
        vendors_file=root / "vendors.toml",
        spool_dir=root / "spool",
        env={"LLAMACPP_BASE_URL": server.url},
    )
    with running(settings) as gateway:
        yield Served(server, gateway)


def counts(usage: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return a usage's counts: prompt, completion, total."""
    return usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]


def check_event(event: UsageEvent, *counted: Mapping[str, Any]) -> None:
    """Check that the event is of a complete response, with the server's counts for its calls."""
    assert (event.status, event.source) == ("completed", "vendor")
    found = event.prompt_tokens, event.completion_tokens, event.total_tokens
    assert found == tuple(map(sum, zip(*map(counts, counted), strict=True)))
    assert event.cached_tokens == sum(u["prompt_tokens_details"]["cached_tokens"] for u in counted)


def check_work(server: LlamaCpp, before: tuple[int, int], events: list[UsageEvent]) -> None:
    """Check that the server's counters have grown by the events' counts."""
    read, wrote = (now - then for now, then in zip(server.worked, before, strict=True))
    assert read == sum(event.prompt_tokens for event in events)
    assert wrote == sum(event.completion_tokens for event in events)
