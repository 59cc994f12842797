"""Several prompts and samples: the server counts only the first, so each is a separate call."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.contract.llamacpp.served import (
    PROMPT,
    SAMPLED,
    Served,
    check_event,
    check_work,
    request_of,
)
from tests.support.services.llamacpp import SLOTS

PROMPTS = [PROMPT, "a", "", "the end of it"]


@pytest.mark.parametrize("prompts", [PROMPTS, [[256, 99], [100], [101, 102, 103]]])
def test_a_list_of_prompts_has_the_server_s_own_answers(served: Served, prompts: Any) -> None:
    theirs = served.direct(prompt=prompts)["choices"]
    usages = [served.direct(prompt=prompt)["usage"] for prompt in prompts]
    ours = served.answer(prompt=prompts)["choices"]
    assert [(c["index"], c["text"]) for c in ours] == [(c["index"], c["text"]) for c in theirs]
    check_event(served.gateway.event(), *usages)


def test_a_list_of_prompts_is_streamed(served: Served) -> None:
    theirs = served.direct(prompt=PROMPTS)["choices"]
    usages = [served.direct(prompt=prompt)["usage"] for prompt in PROMPTS]
    assert served.streamed(prompt=PROMPTS) == [c["text"] for c in theirs]
    check_event(served.gateway.event(), *usages)


def texts(served: Served, stream: bool, **asked: Any) -> list[str]:
    """Return the text of each of Tollgate's choices."""
    if stream:
        return served.streamed(**asked)
    return [choice["text"] for choice in served.answer(**asked)["choices"]]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("prompt", [PROMPT, [PROMPT, "a"]])
def test_samples_of_a_seed_are_those_that_the_server_gives(
    served: Served, prompt: Any, stream: bool
) -> None:
    """It gives sample k the seed + k, so the same seed gives the same samples."""
    asked = {"prompt": prompt, "n": SLOTS, **SAMPLED}
    theirs = [c["text"] for c in served.direct(**asked)["choices"]]
    assert len(set(theirs)) == len(theirs)
    assert texts(served, stream, **asked) == theirs
    prompts = [prompt] if isinstance(prompt, str) else prompt
    alone = [served.direct(**{**asked, "prompt": each, "n": 1})["usage"] for each in prompts]
    check_event(served.gateway.event(), *(usage for usage in alone for _ in range(SLOTS)))


def test_more_samples_than_slots_are_given(served: Served) -> None:
    """The server rejects them in one call."""
    assert b"between 1 <= value <= 2" in served.server.ask("/completions", request_of({"n": 3}))
    before = served.server.worked
    answer = served.answer(n=3, **SAMPLED)
    assert [c["index"] for c in answer["choices"]] == [0, 1, 2]
    event = served.gateway.event()
    assert (event.status, event.source) == ("completed", "vendor")
    check_work(served.server, before, [event])


@pytest.mark.parametrize("stream", [False, True])
def test_requests_above_the_slots_wait_their_turn(served: Served, stream: bool) -> None:
    prompts = [f"prompt {at}" for at in range(3 * SLOTS)]
    theirs = [[served.direct(prompt=prompt)["choices"][0]["text"]] for prompt in prompts]
    before = served.server.worked
    with ThreadPoolExecutor(len(prompts)) as callers:
        ours = callers.map(lambda prompt: texts(served, stream, prompt=prompt), prompts)
        assert list(ours) == theirs
    events = served.gateway.events(len(prompts))
    assert [event.source for event in events] == ["vendor"] * len(prompts)
    check_work(served.server, before, events)


def test_no_request_is_lost_between_many_streams(served: Served) -> None:
    """A request sent on a stream's connection after its end would be lost."""
    before = served.server.worked
    with ThreadPoolExecutor(8) as callers:
        pieces = callers.map(lambda _: served.streamed(max_tokens=1), range(200))
        assert len(set(map(tuple, pieces))) == 1
    check_work(served.server, before, served.gateway.events(200))


# An entry that knows nothing of the server: what it streams is whole all the same.


def test_events_that_say_nothing_are_passed_over(served: Served) -> None:
    """The server begins each further prompt of a list with an event `null`."""
    asked: dict[str, Any] = {"prompt": ["the cat", "a", "b"]}
    raw = served.server.ask("/completions", {**request_of(asked), "stream": True})
    assert b"data: null" in raw
    theirs = served.direct(**asked)["choices"]
    assert served.streamed(model="unknown", **asked) == [c["text"] for c in theirs]
    assert served.gateway.event().status == "completed"


@pytest.mark.parametrize("asked", [{"n": SLOTS}, {"prompt": ["the cat", "a", "b"]}])
def test_the_counts_of_choices_are_summed(served: Served, asked: dict[str, Any]) -> None:
    """In a stream, each choice has its own; only the last one would be recorded otherwise."""
    wrote = sum(
        c["usage"]["completion_tokens"] for c in served.direct_events(**asked) if "usage" in c
    )
    prompts = asked.get("prompt", [PROMPT])
    read = sum(served.direct(prompt=prompt)["usage"]["prompt_tokens"] for prompt in prompts)
    served.events(model="unknown", **asked)
    event = served.gateway.event()
    assert (event.status, event.source) == ("completed", "vendor")
    assert (event.prompt_tokens, event.completion_tokens) == (read, wrote)
