"""Samples that need several calls: each has its own seed, and a rejection is remembered."""

import itertools
import json
from typing import Any

import pytest

from tests.contract.answers.asked import PROMPT_COUNT, TEXT_COUNT, Honest, ask_of
from tests.contract.answers.parts import Counts, Part
from tests.contract.answers.site import BY_VENDOR, PROMPT, Site, books, by_index
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Asked, Reply

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def of_prompt(site: Site, prompt: str) -> list[int | None]:
    """Return the seeds of the calls for a prompt, sorted."""
    asks = [ask_of(asked) for asked in site.vendor.asked]
    return sorted((ask.seed for ask in asks if ask.prompts == [prompt]), key=lambda s: s or 0)


@BOTH
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    ("model", "name"),
    [("chat1/m", "chat"), ("text1/m", "text"), ("cohere/command-a", "cohere"), ("fim", "fim")],
)
def test_each_sample_of_a_seeded_request_has_a_seed_of_its_own(
    site: Site, model: str, name: str, n: int, stream: bool
) -> None:
    honest = Honest(name)
    site.always(honest)
    asked = honest.wire if name in ("cohere", "fim") else model
    told = site.ask(asked, stream=stream, prompt=["ant", "bee"], n=n, seed=5)
    assert told.is_whole(), told
    expected = [5 + sample for sample in range(n)]
    assert (of_prompt(site, "ant"), of_prompt(site, "bee")) == (expected, expected)


@BOTH
def test_a_call_of_several_samples_is_seeded_once_and_the_next_goes_on(
    site: Site, stream: bool
) -> None:
    site.always(Honest("chat"))
    told = site.ask("chat2/m", stream=stream, n=5, seed=40)
    assert told.is_whole(), told
    assert len(told.texts) == 5
    asks = sorted((ask.seed or 0, ask.n) for ask in map(ask_of, site.vendor.asked))
    assert asks == [(40, 2), (42, 2), (44, 1)]


def test_googles_ninth_sample_is_seeded_as_the_ninth(site: Site) -> None:
    site.always(Honest("gemini"))
    told = site.ask(WIRES["gemini"], n=10, seed=100)
    assert len(by_index(told.texts)) == 10
    assert of_prompt(site, PROMPT) == [100, 108]


@pytest.mark.parametrize("seed", [2**63 - 1, 2**31 - 1, -1, 0])
def test_a_seed_at_the_edge_stays_a_seed(site: Site, seed: int) -> None:
    site.always(Honest("chat"))
    assert site.ask("chat1/m", n=3, seed=seed).is_whole()
    seeds = of_prompt(site, PROMPT)
    assert len(set(seeds)) == 3
    assert all(s is not None and -(2**63) <= s < 2**63 for s in seeds)


def test_a_sample_that_is_asked_for_again_has_its_own_seed(site: Site) -> None:
    site.always(Honest("chat", limit=lambda call: 1 if call == 1 else 1000))
    assert site.ask("chat2/m", n=2, seed=7).is_whole()
    assert of_prompt(site, PROMPT) == [7, 8]


def test_without_a_seed_none_is_sent(site: Site) -> None:
    site.always(Honest("chat"))
    assert site.ask("chat1/m", n=3).is_whole()
    assert of_prompt(site, PROMPT) == [None] * 3


# Models of Google's that give one candidate alone.

REFUSALS = (
    "Multiple candidates is not enabled for this model",
    "Only one candidate can be specified",
    "candidateCount must be 1 for this model.",
    "Unable to submit request because candidateCount must be 1. Edit the value and try again.",
    "* GenerateContentRequest.generation_config.candidate_count: must be in the range [1, 1].\n",
)
_numbers = itertools.count()


def fresh(entry: str) -> str:
    """Return a model that no test has used before."""
    return f"{entry}/model-{next(_numbers)}"


class One:
    """A model that rejects requests for more than one candidate."""

    def __init__(self, message: str) -> None:
        self.honest = Honest("gemini")
        self.refused = 0
        self._message = message

    def __call__(self, asked: Asked) -> Reply:
        """Respond to a call."""
        if ask_of(asked).n == 1:
            return self.honest(asked)
        self.refused += 1
        error = {"code": 400, "message": self._message, "status": "INVALID_ARGUMENT"}
        return Reply([json.dumps({"error": error}).encode()], 400, framing="length")


@BOTH
@pytest.mark.parametrize("message", REFUSALS)
@pytest.mark.parametrize("entry", ["gemini", "vertex_ai"])
def test_a_model_that_gives_one_candidate_is_called_for_each_and_this_is_learned(
    site: Site, entry: str, message: str, stream: bool
) -> None:
    model, one = fresh(entry), One(message)
    site.always(one)
    told = site.ask(model, stream=stream, prompt="ant", n=3)
    assert told.is_whole(), told
    assert len(set(by_index(told.texts))) == 3
    assert one.refused == 1
    counts = (3 * PROMPT_COUNT, 3 * TEXT_COUNT)
    assert told.counts == counts
    assert books(site.event()) == ("completed", *counts, *BY_VENDOR)
    assert not site.is_blamed()

    site.clear()
    site.always(one)
    told = site.ask(model, stream=not stream, prompt="ant", n=2)
    assert len(by_index(told.texts)) == 2
    assert one.refused == 1  # and no call was wasted
    assert site.event().attempts == 2


@BOTH
def test_a_list_of_prompts_for_such_a_model_is_answered(site: Site, stream: bool) -> None:
    model, one = fresh("gemini"), One(REFUSALS[0])
    site.always(one)
    told = site.ask(model, stream=stream, prompt=["ant", "bee"], n=2)
    assert told.is_whole(), told
    heads = [text.partition("~")[0] for text in by_index(told.texts)]
    assert heads == ["ant", "ant", "bee", "bee"]
    counts = (4 * PROMPT_COUNT, 4 * TEXT_COUNT)
    assert books(site.event()) == ("completed", *counts, *BY_VENDOR)


def test_what_one_model_refuses_says_nothing_of_another(site: Site) -> None:
    site.always(One(REFUSALS[0]))
    assert site.ask(fresh("gemini"), n=2).is_whole()
    site.clear()
    site.always(Honest("gemini"))
    assert site.ask(fresh("gemini"), n=2).is_whole()
    assert [ask_of(asked).n for asked in site.vendor.asked] == [2]


@BOTH
def test_another_refusal_is_the_callers(site: Site, stream: bool) -> None:
    site.always(One("The input token count exceeds the maximum."))
    told = site.ask(fresh("gemini"), stream=stream, n=3)
    assert told.status == 400
    assert len(site.vendor.asked) == 1
    assert books(site.event()) == ("failed", 0, 0, "none", "none")


def test_a_seed_is_each_samples_own_after_such_a_refusal_too(site: Site) -> None:
    site.always(One(REFUSALS[0]))
    assert site.ask(fresh("gemini"), prompt="ant", n=3, seed=5).is_whole()
    assert of_prompt(site, "ant") == [5, 5, 6, 7]  # of which the first was refused


def test_a_choice_beside_others_calls_keeps_its_place(site: Site) -> None:
    """In whatever order calls end, texts are under their own samples."""
    wire = WIRES["chat"]

    def reply(asked: Asked) -> Reply:
        seed: Any = asked.body["seed"]
        whole = wire.whole(Part(f"seed {seed}", "stop"), usage=wire.usage(Counts(1, 1)))
        return Reply([0.3 - 0.1 * (seed - 5), *whole.body], 200, whole.headers, framing="close")

    site.always(reply)
    told = site.ask("chat1/m", n=3, seed=5)
    assert by_index(told.texts) == ["seed 5", "seed 6", "seed 7"]
