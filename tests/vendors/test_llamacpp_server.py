"""A real llama.cpp server behind Tollgate: what it says, and what it counts, is what callers get.

Each test asks the server itself as well, and holds Tollgate's answer against the server's own.
"""

import dataclasses
import itertools
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
import requests
from openai import OpenAI
from scale_gp_beta import SGPClient

from app.settings import Settings
from app.usage.event import UsageEvent
from tests.gateway import Gateway, running, sse_events, text_of
from tests.services.llamacpp import MODEL, SLOT_TOKENS, SLOTS, LlamaCpp
from tests.services.polling import wait_until
from tests.services.sqlite import new_ledger
from tests.services.valkey import Valkey

#: Entries for the same server beside the built-in one: through chat, and one that knows nothing
#: of its ways, as a deployment writes it that has never read about them.
TABLE = """
[vendors.llamachat]
gateway = "openai"
base_url = "${LLAMACPP_BASE_URL}"
native = []
list_prompts = false
max_n = 1

[vendors.unknown]
gateway = "openai"
base_url = "${LLAMACPP_BASE_URL}"
"""

PROMPT = "the cat"
TOO_LONG = "a" * (SLOT_TOKENS + 1)

#: Ends of its own accord, after 9 tokens of 3 characters, and the one that ends it.
CHARACTERS: dict[str, Any] = {"grammar": 'root ::= "é日😀"', "max_tokens": 20}
LETTERS: dict[str, Any] = {"grammar": 'root ::= "abcdef"', "max_tokens": 20}


@dataclasses.dataclass
class Served:
    """The server, Tollgate before it, and the same request to both."""

    server: LlamaCpp
    gateway: Gateway

    def ask(self, model: str = "llamacpp", **more: Any) -> dict[str, Any]:
        """Return a request to Tollgate."""
        return {"model": f"{model}/{MODEL}", **_request(more)}

    def answer(self, **more: Any) -> dict[str, Any]:
        """Return Tollgate's whole answer."""
        response = self.gateway.post(self.ask(**more))
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body

    def events(self, **more: Any) -> list[dict[str, Any]]:
        """Return the chunks of Tollgate's stream, which ends as it should."""
        response = self.gateway.post(self.ask(stream=True, **more))
        assert response.status_code == 200, response.text
        *chunks, end = sse_events(response)
        assert end == ("done", "[DONE]")
        assert {name for name, _ in chunks} == {None}
        return [chunk for _, chunk in chunks]

    def direct(self, **more: Any) -> dict[str, Any]:
        """Return the server's own whole answer, or its error."""
        told: dict[str, Any] = json.loads(self.server.ask("/completions", _request(more)))
        return told

    def direct_chat(self, **more: Any) -> dict[str, Any]:
        """Return the server's own whole answer in chat, where the prompt is all that is said."""
        asked = _request(more)
        messages = [{"role": "user", "content": asked.pop("prompt")}]
        told: dict[str, Any] = json.loads(
            self.server.ask("/chat/completions", {**asked, "messages": messages})
        )
        return told

    def direct_events(self, **more: Any) -> list[dict[str, Any]]:
        """Return the chunks of the server's own stream."""
        told = self.server.ask("/completions", {**_request(more), "stream": True}).decode()
        *frames, end = [line.removeprefix("data: ") for line in told.splitlines() if line]
        assert end == "[DONE]"
        return [chunk for frame in frames if (chunk := json.loads(frame)) is not None]


def _request(more: Mapping[str, Any]) -> dict[str, Any]:
    return {"prompt": PROMPT, "max_tokens": 8, "temperature": 0, **more}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaCpp]:
    """One server for all tests here that leave it as it was."""
    server = LlamaCpp(tmp_path_factory.mktemp("llamacpp"))
    yield server.start()
    server.kill()


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, valkey: Valkey, server: LlamaCpp
) -> Iterator[Gateway]:
    """A Tollgate with the built-in table, whose llama.cpp is the real one."""
    root = tmp_path_factory.mktemp("gateway")
    (root / "vendors.toml").write_text(TABLE)
    settings = Settings(
        redis_url=valkey.url,
        database_url=new_ledger(root / "ledger.db"),
        vendors_file=root / "vendors.toml",
        spool_dir=root / "spool",
        env={"LLAMACPP_BASE_URL": server.url},
    )
    with running(settings) as gateway:
        yield gateway


@pytest.fixture
def served(gateway: Gateway, server: LlamaCpp) -> Served:
    """Both; nothing has been recorded yet."""
    gateway.redis.flushall()
    wait_until(lambda: not server.busy)
    return Served(server, gateway)


def counts(usage: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return a usage's counts: prompt, completion, total."""
    return usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]


def check_event(event: UsageEvent, *counted: Mapping[str, Any]) -> None:
    """The event is of a whole answer, with what the server counted for its calls."""
    assert (event.status, event.source) == ("completed", "vendor")
    found = event.prompt_tokens, event.completion_tokens, event.total_tokens
    assert found == tuple(map(sum, zip(*map(counts, counted), strict=True)))
    assert event.cached_tokens == sum(u["prompt_tokens_details"]["cached_tokens"] for u in counted)


def check_text(served: Served, **asked: Any) -> None:
    """Tollgate's whole answer is the server's own, and so is what is recorded."""
    theirs = served.direct(**asked)
    ours = served.answer(**asked)
    for name in ("text", "finish_reason", "index"):
        assert [c[name] for c in ours["choices"]] == [c[name] for c in theirs["choices"]]
    assert counts(ours["usage"]) == counts(theirs["usage"])
    assert ours["model"] == theirs["model"] == MODEL
    check_event(served.gateway.event(), theirs["usage"])


def check_stream(served: Served, **asked: Any) -> None:
    """Tollgate's stream has the server's own pieces, and so is what is recorded."""
    theirs = served.direct_events(**asked)
    ours = served.events(stream_options={"include_usage": True}, **asked)
    assert [c["text"] for chunk in ours for c in chunk["choices"]] == [
        c["text"] for chunk in theirs for c in chunk["choices"]
    ]
    reasons = [c["finish_reason"] for chunk in ours for c in chunk["choices"]]
    assert [r for r in reasons if r] == [theirs[-1]["choices"][0]["finish_reason"]]
    assert counts(ours[-1]["usage"]) == counts(theirs[-1]["usage"])
    check_event(served.gateway.event(), theirs[-1]["usage"])


CASES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "no token": {"max_tokens": 0},
    "one token": {"max_tokens": 1},
    "sampled": {"seed": 1, "temperature": 1, "top_p": 0.9},
    "penalties": {"seed": 1, "presence_penalty": 1.5, "frequency_penalty": 1},
    "a biased token": {"logit_bias": {"65": 100}},
    "an empty prompt": {"prompt": ""},
    "token ids": {"prompt": [256, 99, 100]},
    "its own end": LETTERS,
    "split characters": CHARACTERS,
    "a split character cut": {**CHARACTERS, "max_tokens": 3},
    "bytes that are no text": {"logit_bias": {"154": 100}},
    "a stop sequence": {**LETTERS, "stop": "cd"},
    "two stop sequences": {**LETTERS, "stop": ["x", "e"]},
    "a stop sequence begun": {**LETTERS, "stop": "cdx"},
    "a stop sequence at once": {**LETTERS, "stop": "a"},
    "a user": {"user": "somebody"},
    "neutral parameters": {"echo": False, "best_of": 1, "n": 1, "suffix": ""},
    "its own field": {"timings_per_token": True, "top_k": 1, "return_progress": True},
}


@pytest.mark.parametrize("asked", CASES.values(), ids=CASES)
def test_an_answer_is_the_server_s_own(served: Served, asked: dict[str, Any]) -> None:
    check_text(served, **asked)


@pytest.mark.parametrize("asked", CASES.values(), ids=CASES)
def test_a_stream_has_the_server_s_own_pieces(served: Served, asked: dict[str, Any]) -> None:
    check_stream(served, **asked)


def test_a_full_context_ends_the_answer(served: Served) -> None:
    asked: dict[str, Any] = {
        "prompt": "a" * (SLOT_TOKENS - 5),
        "max_tokens": 50,
        "ignore_eos": True,
    }
    check_text(served, **asked)
    assert served.gateway.event().total_tokens == SLOT_TOKENS


def test_a_prompt_that_was_read_before_is_cached(served: Served) -> None:
    asked: dict[str, Any] = {"prompt": "word " * 60, "cache_prompt": True}
    served.direct(**asked)
    answer = served.answer(**asked)
    cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached > answer["usage"]["prompt_tokens"] / 2
    assert served.gateway.event().cached_tokens == cached


# Log probabilities.


def in_contract(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the server's log probabilities as the contract has them, without offsets."""
    return {
        "tokens": [entry["token"] for entry in entries],
        "token_logprobs": [entry["logprob"] for entry in entries],
        "top_logprobs": [
            {other["token"]: other["logprob"] for other in [entry, *entry["top_logprobs"]]}
            for entry in entries
        ],
    }


def check_logprobs(ours: Mapping[str, Any], theirs: list[dict[str, Any]], top: int) -> None:
    """Log probabilities of one choice or piece are the server's: to three digits, as it rounds."""
    expected = in_contract(theirs)
    assert ours["tokens"] == expected["tokens"]
    assert ours["token_logprobs"] == pytest.approx(expected["token_logprobs"], abs=1e-3)
    tops = ours["top_logprobs"] or [{}] * len(theirs)
    for at, token in enumerate(ours["tokens"]):
        if top:
            assert tops[at] == pytest.approx(expected["top_logprobs"][at], abs=1e-3)
        else:
            assert set(tops[at]) <= {token}


TOLD: dict[str, dict[str, Any]] = {
    "letters": LETTERS,
    "its own words": {"seed": 1, "temperature": 1, "logit_bias": {"101": 3}},
    "split characters": CHARACTERS,
    "bytes that are no text": {"logit_bias": {"154": 100}},
    "a stop sequence begun": {**LETTERS, "stop": "cdx"},
}


@pytest.mark.parametrize("top", [0, 1, 5])
@pytest.mark.parametrize("asked", TOLD.values(), ids=TOLD)
def test_log_probabilities_are_the_server_s_own(
    served: Served, asked: dict[str, Any], top: int
) -> None:
    # It takes 0 for none at all.
    (theirs,) = served.direct(**asked, logprobs=top or 1)["choices"]
    (ours,) = served.answer(**asked, logprobs=top)["choices"]
    assert ours["text"] == theirs["text"]
    check_logprobs(ours["logprobs"], theirs["logprobs"]["content"], top)
    check_offsets(ours["text"], [ours["logprobs"]])
    served.gateway.event()


@pytest.mark.parametrize("top", [0, 1, 5])
@pytest.mark.parametrize("asked", TOLD.values(), ids=TOLD)
def test_log_probabilities_come_with_the_pieces_of_a_stream(
    served: Served, asked: dict[str, Any], top: int
) -> None:
    theirs = [
        c for chunk in served.direct_events(**asked, logprobs=top or 1) for c in chunk["choices"]
    ]
    ours = [c for chunk in served.events(**asked, logprobs=top) for c in chunk["choices"]]
    assert [c["text"] for c in ours] == [c["text"] for c in theirs]
    for mine, its in zip(ours, theirs, strict=True):
        assert (mine["logprobs"] is None) == (its["logprobs"] is None)
        if its["logprobs"]:
            check_logprobs(mine["logprobs"], its["logprobs"]["content"], top)
    check_offsets("".join(c["text"] for c in ours), [c["logprobs"] for c in ours if c["logprobs"]])
    served.gateway.event()


def check_offsets(text: str, told: list[Mapping[str, Any]]) -> None:
    """The tokens are the text, each where its offset says."""
    tokens = [token for part in told for token in part["tokens"]]
    assert "".join(tokens) == text
    offsets = [offset for part in told for offset in part["text_offset"]]
    assert offsets == list(itertools.accumulate(map(len, tokens[:-1]), initial=0))


def test_unasked_there_are_no_log_probabilities(served: Served) -> None:
    assert served.answer()["choices"][0]["logprobs"] is None
    pieces = [c for chunk in served.events() for c in chunk["choices"]]
    assert {c["logprobs"] for c in pieces} == {None}


# Several prompts and samples: the server counts the first choice alone, so each is a call.

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
    events: list[tuple[str | None, Any]] = [(None, e) for e in served.events(prompt=PROMPTS)]
    assert [text_of(events, at) for at in range(len(PROMPTS))] == [c["text"] for c in theirs]
    check_event(served.gateway.event(), *usages)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("prompt", [PROMPT, [PROMPT, "a"]])
def test_samples_of_a_seed_are_those_that_the_server_gives(
    served: Served, prompt: Any, stream: bool
) -> None:
    """It gives sample k the seed + k, and so the same seed the same samples."""
    asked = {"prompt": prompt, "n": SLOTS, "seed": 7, "temperature": 1.0}
    theirs = [c["text"] for c in served.direct(**asked)["choices"]]
    assert len(set(theirs)) == len(theirs)
    if stream:
        events: list[tuple[str | None, Any]] = [(None, e) for e in served.events(**asked)]
        ours = [text_of(events, at) for at in range(len(theirs))]
    else:
        ours = [c["text"] for c in served.answer(**asked)["choices"]]
    assert ours == theirs
    prompts = [prompt] if isinstance(prompt, str) else prompt
    alone = [served.direct(**{**asked, "prompt": each, "n": 1})["usage"] for each in prompts]
    check_event(served.gateway.event(), *(usage for usage in alone for _ in range(SLOTS)))


def test_more_samples_than_slots_are_given(served: Served) -> None:
    """The server refuses them in one call."""
    assert b"between 1 <= value <= 2" in served.server.ask("/completions", _request({"n": 3}))
    before = served.server.worked
    answer = served.answer(n=3, seed=7, temperature=1.0)
    assert [c["index"] for c in answer["choices"]] == [0, 1, 2]
    event = served.gateway.event()
    assert (event.status, event.source) == ("completed", "vendor")
    check_work(served.server, before, [event])


def check_work(server: LlamaCpp, before: tuple[int, int], events: list[UsageEvent]) -> None:
    """What the server has done since is what the events say."""
    read, wrote = (now - then for now, then in zip(server.worked, before, strict=True))
    assert read == sum(event.prompt_tokens for event in events)
    assert wrote == sum(event.completion_tokens for event in events)


@pytest.mark.parametrize("stream", [False, True])
def test_requests_above_the_slots_wait_their_turn(served: Served, stream: bool) -> None:
    prompts = [f"prompt {at}" for at in range(3 * SLOTS)]
    theirs = [served.direct(prompt=prompt)["choices"][0]["text"] for prompt in prompts]
    before = served.server.worked

    def text(prompt: str) -> str:
        if not stream:
            whole: str = served.answer(prompt=prompt)["choices"][0]["text"]
            return whole
        return text_of([(None, event) for event in served.events(prompt=prompt)])

    with ThreadPoolExecutor(len(prompts)) as callers:
        assert list(callers.map(text, prompts)) == theirs
    events = served.gateway.events(len(prompts))
    assert [event.source for event in events] == ["vendor"] * len(prompts)
    check_work(served.server, before, events)


# Refusals.

REFUSED: dict[str, dict[str, Any]] = {
    "a prompt that is too long": {"prompt": TOO_LONG},
    "a token that there is not": {"prompt": [10**6]},
    "a field of its own that is wrong": {"grammar": "root ::= ("},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("asked", REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_the_server_s_own_and_costs_nothing(
    served: Served, asked: dict[str, Any], stream: bool
) -> None:
    theirs = served.direct(**asked)["error"]
    response = served.gateway.post(served.ask(stream=stream, **asked))
    assert response.status_code == theirs["code"] == 400
    assert response.json()["error"]["message"] == theirs["message"]
    event = served.gateway.event()
    assert (event.status, event.source, event.total_tokens) == ("failed", "none", 0)


@pytest.mark.parametrize(("name", "value"), [("echo", True), ("suffix", "the end"), ("best_of", 2)])
def test_what_the_server_would_ignore_is_refused_by_name(
    served: Served, name: str, value: Any
) -> None:
    """It answers as if it had not been asked."""
    before = served.server.worked
    response = served.gateway.post(served.ask(**{name: value}))
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["param"], error["code"]) == (name, "unsupported_parameter")
    assert served.server.worked == before
    assert (
        served.direct(**{name: value})["choices"][0]["text"]
        == served.direct()["choices"][0]["text"]
    )


def test_a_refused_prompt_of_a_list_is_not_charged_and_its_siblings_are(served: Served) -> None:
    before = served.server.worked
    response = served.gateway.post(served.ask(prompt=["a", TOO_LONG, "the cat", "b"]))
    assert response.status_code == 400
    assert "exceeds the available context size" in response.json()["error"]["message"]
    event = served.gateway.event()
    assert (event.status, event.source) == ("failed", "vendor")
    check_work(served.server, before, [event])


def test_a_list_that_is_refused_as_a_whole_costs_nothing(served: Served) -> None:
    response = served.gateway.post(served.ask(prompt=[TOO_LONG] * 5))
    assert response.status_code == 400
    event = served.gateway.event()
    assert (event.status, event.total_tokens) == ("failed", 0)


# Callers that leave, and a server that does.

ENDLESS: dict[str, Any] = {"max_tokens": SLOT_TOKENS - 100, "ignore_eos": True}


@pytest.mark.parametrize("prompt", [PROMPT, [PROMPT, "a", "b"]])
def test_a_caller_that_hangs_up_frees_the_server(served: Served, prompt: Any) -> None:
    before = served.server.worked
    with requests.post(
        f"{served.gateway.base_url}/completions",
        json=served.ask(prompt=prompt, stream=True, **ENDLESS),
        headers={"x-api-key": served.gateway.api_key},
        stream=True,
        timeout=30,
    ) as response:
        next(response.iter_content(10))
    wait_until(lambda: not served.server.busy)
    event = served.gateway.event()
    assert event.status == "disconnected"
    assert event.completion_tokens > 0
    _, wrote = (now - then for now, then in zip(served.server.worked, before, strict=True))
    assert 0 < wrote < ENDLESS["max_tokens"]


@pytest.fixture
def mortal(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[Served]:
    """A server that a test may kill, and a Tollgate before it."""
    root = tmp_path_factory.mktemp("mortal")
    server = LlamaCpp(root).start()
    settings = Settings(
        redis_url=redis_url,
        database_url=new_ledger(root / "ledger.db"),
        spool_dir=root / "spool",
        env={"LLAMACPP_BASE_URL": server.url},
    )
    with running(settings) as gateway:
        yield Served(server, gateway)
    server.kill()


def test_an_answer_that_is_cut_is_not_whole_and_what_came_is_recorded(mortal: Served) -> None:
    stream = _openai(mortal).completions.create(
        **mortal.ask(stream=True, max_tokens=ENDLESS["max_tokens"]),
        extra_body={"ignore_eos": True},
    )
    first = next(stream)
    mortal.server.kill()
    with pytest.raises(openai.APIError):
        list(stream)
    assert first.choices[0].text
    event = mortal.gateway.event()
    assert (event.status, event.source) == ("truncated", "estimated")
    assert min(event.prompt_tokens, event.completion_tokens) > 0


def test_a_server_that_was_restarted_is_reached_again(mortal: Served) -> None:
    """What is left of its old connections is no failure of the next request's."""
    with ThreadPoolExecutor(4) as callers:
        list(callers.map(lambda _: mortal.answer(), range(4)))
    mortal.server.kill()
    mortal.server.start()
    with ThreadPoolExecutor(4) as callers:
        list(callers.map(lambda _: mortal.answer(), range(4)))
    events = mortal.gateway.events(8)
    assert {(event.status, event.source) for event in events} == {("completed", "vendor")}


# Both official clients.


def _openai(served: Served) -> OpenAI:
    gateway = served.gateway
    return OpenAI(base_url=gateway.base_url, api_key=gateway.api_key, max_retries=0, timeout=30)


def _scale(served: Served) -> SGPClient:
    gateway = served.gateway
    return SGPClient(
        base_url=gateway.base_url.removesuffix("/v5"),
        api_key=gateway.api_key,
        account_id="acme",
        max_retries=0,
        timeout=30,
    )


@pytest.fixture(params=[_openai, _scale], ids=["openai", "scale"])
def client(request: pytest.FixtureRequest, served: Served) -> Any:
    """Each official client in turn."""
    return request.param(served)


def test_a_client_gets_the_server_s_answer(served: Served, client: Any) -> None:
    theirs = served.direct(**CHARACTERS, logprobs=2)
    answer = client.completions.create(
        **served.ask(max_tokens=CHARACTERS["max_tokens"], logprobs=2),
        extra_body={"grammar": CHARACTERS["grammar"]},
    )
    (choice,) = answer.choices
    assert (choice.text, choice.finish_reason) == (theirs["choices"][0]["text"], "stop")
    entries = theirs["choices"][0]["logprobs"]["content"]
    check_logprobs(choice.logprobs.model_dump(), entries, 2)
    assert counts(answer.usage.model_dump()) == counts(theirs["usage"])
    check_event(served.gateway.event(), theirs["usage"])


def test_a_client_gets_the_server_s_stream(served: Served, client: Any) -> None:
    theirs = served.direct_events(prompt=PROMPT)
    asked = served.ask(stream=True, stream_options={"include_usage": True})
    chunks = list(client.completions.create(**asked))
    text = "".join(choice.text for chunk in chunks for choice in chunk.choices)
    assert text == "".join(c["text"] for chunk in theirs for c in chunk["choices"])
    assert counts(chunks[-1].usage.model_dump()) == counts(theirs[-1]["usage"])
    check_event(served.gateway.event(), theirs[-1]["usage"])


# Its chat endpoint, as models are served that want their template.


@pytest.mark.parametrize("asked", [{}, {"echo": True}, CHARACTERS, {**LETTERS, "stop": "cd"}])
def test_chat_is_the_server_s_own(served: Served, asked: dict[str, Any]) -> None:
    theirs = served.direct_chat(**asked)
    ours = served.answer(model="llamachat", **asked)
    (choice,) = ours["choices"]
    before = PROMPT if asked.get("echo") else ""
    assert choice["text"] == before + theirs["choices"][0]["message"]["content"]
    assert choice["finish_reason"] == theirs["choices"][0]["finish_reason"]
    events: list[tuple[str | None, Any]] = [
        (None, event) for event in served.events(model="llamachat", **asked)
    ]
    assert text_of(events) == choice["text"]
    for event in served.gateway.events(2):
        check_event(event, theirs["usage"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("top", [0, 1, 5])
def test_chat_tells_its_log_probabilities(served: Served, top: int, stream: bool) -> None:
    """Asked for none of the others, the server tells nothing; asked for no number, twenty."""
    (theirs,) = served.direct_chat(logprobs=True, top_logprobs=top or 1)["choices"]
    if stream:
        chunks = served.events(model="llamachat", logprobs=top)
        told = [c["logprobs"] for chunk in chunks for c in chunk["choices"] if c["logprobs"]]
        ours = {name: [x for part in told for x in part[name] or []] for name in told[0]}
    else:
        ours = served.answer(model="llamachat", logprobs=top)["choices"][0]["logprobs"]
    check_logprobs(ours, theirs["logprobs"]["content"], top)
    served.gateway.event()


# An entry that knows nothing of the server: what it streams is whole all the same.


def test_events_that_say_nothing_are_passed_over(served: Served) -> None:
    """The server begins each further prompt of a list with an event `null`."""
    asked: dict[str, Any] = {"prompt": ["the cat", "a", "b"]}
    raw = served.server.ask("/completions", {**_request(asked), "stream": True})
    assert b"data: null" in raw
    theirs = served.direct(**asked)["choices"]
    events: list[tuple[str | None, Any]] = [
        (None, event) for event in served.events(model="unknown", **asked)
    ]
    assert [text_of(events, at) for at in range(3)] == [c["text"] for c in theirs]
    assert served.gateway.event().status == "completed"


@pytest.mark.parametrize("asked", [{"n": SLOTS}, {"prompt": ["the cat", "a", "b"]}])
def test_the_counts_of_choices_are_summed(served: Served, asked: dict[str, Any]) -> None:
    """In a stream each choice has its own, and only the last of them would be recorded."""
    wrote = sum(
        c["usage"]["completion_tokens"] for c in served.direct_events(**asked) if "usage" in c
    )
    prompts = asked.get("prompt", [PROMPT])
    read = sum(served.direct(prompt=prompt)["usage"]["prompt_tokens"] for prompt in prompts)
    served.events(model="unknown", **asked)
    event = served.gateway.event()
    assert (event.status, event.source) == ("completed", "vendor")
    assert (event.prompt_tokens, event.completion_tokens) == (read, wrote)
