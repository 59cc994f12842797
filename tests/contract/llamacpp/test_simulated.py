"""The simulated llama.cpp of other tests responds in the format of the real one."""

import json
from typing import Any

import pytest

from tests.contract.llamacpp.served import PROMPT, TOO_LONG, events_of, request_of
from tests.support.services.llamacpp import SLOTS, LlamaCpp
from tests.support.vendor import Asked
from tests.support.vendors.base import Said
from tests.support.vendors.self_hosted import LLAMACPP


def form(value: Any) -> Any:
    """Return the types of values at each path."""
    if isinstance(value, dict):
        return {name: form(inner) for name, inner in sorted(value.items())}
    if isinstance(value, list):
        return [form(value[0])] if value else []
    return "a number" if isinstance(value, int | float) else type(value).__name__


def forms(chunks: list[Any]) -> set[str]:
    """Return the forms of chunks, as far as Tollgate reads them."""
    read = [chunk and {n: chunk[n] for n in ("choices", "usage") if n in chunk} for chunk in chunks]
    return {json.dumps(form(chunk)) for chunk in read}


def simulated(path: str, asked: dict[str, Any]) -> bytes:
    """Return the simulated server's response."""
    reply = LLAMACPP.answer(Asked(path, {}, asked, 0), Said())
    return b"".join(step for step in reply.body if isinstance(step, bytes))


@pytest.mark.parametrize("prompt", [PROMPT, [PROMPT, "a"]])
@pytest.mark.parametrize("logprobs", [None, 0, 1, 5])
def test_the_simulated_server_has_its_form(server: LlamaCpp, logprobs: int, prompt: Any) -> None:
    asked = request_of({"prompt": prompt, "logprobs": logprobs})
    answers = [server.ask("/completions", asked), simulated("/v1/completions", asked)]
    theirs, ours = [forms([json.loads(answer)]) for answer in answers]
    assert ours == theirs
    asked["stream"] = True
    streams = [server.ask("/completions", asked), simulated("/v1/completions", asked)]
    theirs, ours = [forms(events_of(stream)) for stream in streams]
    assert ours == theirs


def test_the_simulated_server_refuses_as_it_does(server: LlamaCpp) -> None:
    asked = request_of({"n": 9})
    theirs = json.loads(server.ask("/completions", asked))["error"]
    (refusal,) = LLAMACPP.problems(asked)
    ours = json.loads(b"".join(step for step in refusal.body if isinstance(step, bytes)))["error"]
    assert theirs == {**ours, "message": theirs["message"]}
    assert theirs["message"] == ours["message"].replace("<= 1", f"<= {SLOTS}")
    too_long = json.loads(server.ask("/completions", request_of({"prompt": TOO_LONG})))["error"]
    assert too_long["type"] == LLAMACPP.errors["too_long"][1]["error"]["type"]
