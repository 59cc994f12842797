"""A list of prompts of which the vendor rejects some: the charge does not depend on timing."""

import json
import threading
import time
from collections.abc import Callable

import pytest

from tests.contract.answers.asked import ask_of
from tests.contract.answers.parts import Counts, Part, Wire
from tests.contract.answers.site import BY_VENDOR, TEXT, Site, books
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Asked, Reply

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
PROMPTS = [f"prompt {number}" for number in range(6)]

#: How long the others are waited for after a refusal; and the slack of a busy machine.
WAIT_S, SLACK_S = 2.0, 3.0


def refusal(status: int = 400) -> Reply:
    """Return a rejection."""
    error = {"message": "That is too long.", "code": "too_long"}
    body = json.dumps({"error": error, "message": error["message"]}).encode()
    return Reply([body], status, {"content-type": "application/json"}, framing="close")


def answer(wire: Wire, stream: bool, counts: Counts) -> Reply:
    """Return a response with this usage."""
    usage = wire.usage(counts)
    part = Part(TEXT, wire.stop)
    if stream:
        return wire.stream(wire.opening(usage), wire.event(part, usage=usage), wire.mark)
    return wire.whole(part, usage=usage)


def number_of(asked: Asked) -> int:
    """Return the number of the prompt in a call."""
    return PROMPTS.index(ask_of(asked).prompts[0])


class Together:
    """Holds every call until all have come, then sends each the response of `reply`."""

    def __init__(self, calls: int, reply: Callable[[int], Reply]) -> None:
        self._barrier = threading.Barrier(calls)
        self._reply = reply

    def __call__(self, asked: Asked) -> Reply:
        """Respond to a call, once all have come."""
        self._barrier.wait(20)
        return self._reply(number_of(asked))


@BOTH
@pytest.mark.parametrize("name", ["chat", "anthropic", "gemini", "converse", "cohere", "llama"])
@pytest.mark.parametrize("gap_s", [0.0, 0.1])
def test_a_list_that_is_refused_whole_costs_nothing(
    site: Site, name: str, gap_s: float, stream: bool
) -> None:
    def reply(number: int) -> Reply:
        time.sleep(gap_s * number)  # the vendor's own pace: one status after the other
        return refusal()

    site.always(Together(len(PROMPTS), reply))
    told = site.ask(WIRES[name], stream=stream, prompt=PROMPTS)
    assert told.status == 400
    assert told.error is not None
    assert "That is too long." in told.error["message"]
    event = site.event()
    assert books(event) == ("failed", 0, 0, "none", "none")
    assert (event.attempts, event.http_status) == (len(PROMPTS), 400)
    assert not site.is_blamed()


@BOTH
@pytest.mark.parametrize("name", ["chat", "anthropic", "gemini", "converse", "cohere"])
@pytest.mark.parametrize("gap_s", [0.0, 0.5])
def test_what_the_others_cost_is_what_the_vendor_says(
    site: Site, name: str, gap_s: float, stream: bool
) -> None:
    wire = WIRES[name]

    def reply(number: int) -> Reply:
        if number == 3:
            return refusal()
        time.sleep(gap_s)
        return answer(wire, stream, Counts(20, 7))

    site.always(Together(len(PROMPTS), reply))
    told = site.ask(wire, stream=stream, prompt=PROMPTS)
    assert told.error is not None
    assert "That is too long." in told.error["message"]
    event = site.event()
    assert books(event)[1:] == (5 * 20, 5 * 7, *BY_VENDOR)
    assert event.attempts == len(PROMPTS)


@BOTH
def test_calls_that_stay_silent_are_estimated_and_not_waited_for_long(
    site: Site, stream: bool
) -> None:
    """Of six calls, two are rejected, three completed, and one stays silent."""
    wire, never = WIRES["chat"], threading.Event()
    refused_s: list[float] = []

    def reply(number: int) -> Reply:
        if number in (0, 1):
            refused_s.append(time.monotonic())
            return refusal()
        if number == 5:
            never.wait(30)
            return refusal()
        time.sleep(0.3)
        return answer(wire, stream, Counts(20, 7))

    site.always(Together(len(PROMPTS), reply))
    told = site.ask(wire, stream=stream, prompt=PROMPTS)
    waited_s = told.ended_s - min(refused_s)
    never.set()
    assert told.status == 400 or told.cut
    assert waited_s < WAIT_S + SLACK_S
    event = site.event()
    # "prompt 5" has three tokens by our count
    assert (event.prompt_tokens, event.completion_tokens) == (3 * 20 + 3, 3 * 7)
    assert (event.prompt_source, event.attempts) == ("estimated", len(PROMPTS))


def test_a_call_that_has_answered_in_part_is_counted_by_its_text(site: Site) -> None:
    """It is cancelled at the end of the wait, and its text is counted."""
    wire = WIRES["chat"]

    def reply(number: int) -> Reply:
        if number == 0:
            return refusal()
        return wire.stream(wire.event(Part(TEXT)), threading.Event())

    site.always(Together(2, reply))
    told = site.ask(wire, stream=True, prompt=PROMPTS[:2])
    assert told.error is not None
    event = site.event()
    assert (event.prompt_tokens, event.completion_tokens) == (3, 3)
    assert event.source == "estimated"


def test_prompts_that_were_never_sent_cost_nothing_and_are_no_attempts(site: Site) -> None:
    """Of twenty prompts, eight are in flight at a time: after a rejection, no other one is sent."""
    prompts = [*PROMPTS, *(f"more {number}" for number in range(14))]
    site.always(lambda _: refusal())
    told = site.ask(WIRES["chat"], prompt=prompts)
    assert told.status == 400
    event = site.event()  # which holds the attempts against the calls that came
    assert event.attempts < len(prompts)
    assert books(event) == ("failed", 0, 0, "none", "none")


@BOTH
@pytest.mark.parametrize("status", [400, 429, 401, 404, 413])
def test_no_kind_of_refusal_costs_anything(site: Site, status: int, stream: bool) -> None:
    site.always(Together(len(PROMPTS), lambda _: refusal(status)))
    told = site.ask(WIRES["chat"], stream=stream, prompt=PROMPTS)
    assert told.error is not None
    assert books(site.event()) == ("failed", 0, 0, "none", "none")


@BOTH
def test_samples_are_refused_as_prompts_are(site: Site, stream: bool) -> None:
    together = threading.Barrier(4)

    def reply(_: Asked) -> Reply:
        together.wait(20)
        return refusal()

    site.always(reply)
    told = site.ask("chat1/m", stream=stream, n=4)
    assert told.status == 400
    event = site.event()
    assert books(event) == ("failed", 0, 0, "none", "none")
    assert event.attempts == 4


def test_eight_runs_cost_the_same(site: Site) -> None:
    found = set()
    for run in range(8):
        site.clear()
        order = [(number + run) % len(PROMPTS) for number in range(len(PROMPTS))]

        def reply(number: int, order: list[int] = order) -> Reply:
            time.sleep(0.01 * order[number])
            return refusal()

        site.always(Together(len(PROMPTS), reply))
        site.ask(WIRES["chat"], prompt=PROMPTS)
        found.add(site.event().total_tokens)
    assert found == {0}
