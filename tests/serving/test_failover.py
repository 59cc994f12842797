"""Failover: which deployments are called, in which order, and what a request gets of each."""

import threading
import time
from typing import Any

import pytest

from app.serving.circuit_breaker import FAILURE_THRESHOLD, UNTIL, CircuitBreaker
from app.vendors.vendor import Timeouts
from app.vocabulary.completion import Completion
from app.vocabulary.errors import (
    Cancelled,
    GatewayError,
    ShuttingDown,
    UnsupportedParameter,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRejected,
)
from tests.serving.conftest import MakeEngine
from tests.serving.engine import CONTEXT, asked, entry, in_thread
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    DONE,
    Asked,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    completed,
    json_reply,
    stream_reply,
    usage_of,
)

FAILED = json_reply({"error": {"message": "down"}}, 503)
REFUSED = json_reply({"error": {"message": "no such thing"}}, 400)

#: One more than are called side by side: the last is asked for when another has been answered.
PROMPTS = tuple("abcdefghi")


def answer_of(call: Asked) -> Reply:
    """Answer with the model's name and the prompt."""
    text = f"{call.body['model']}:{call.body['prompt']}"
    return json_reply(body_of(choice(text, "stop"), usage=usage_of(2, 3)))


def last_fails_at_first(call: Asked) -> Reply:
    """Fail the last prompt at the first deployment; answer every other call."""
    last_at_first = (call.body["model"], call.body["prompt"]) == ("m", PROMPTS[-1])
    return FAILED if last_at_first else answer_of(call)


def first_down(call: Asked) -> Reply:
    """Fail at the first deployment; answer at others."""
    return FAILED if call.body["model"] == "m" else completed(call.body)


def pair(url: str, **traits: Any) -> tuple[Any, Any]:
    """Return two entries: `first`, with these traits, and `spare`, which stands in for it."""
    first = entry("first", url, fallbacks=("spare/other",), **traits)
    return first, entry("spare", url, list_prompts=traits.get("list_prompts", True))


def test_what_came_before_a_failure_is_forgotten_once_before_the_next_deployment_answers(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(*pair(vendor.url, list_prompts=False))
    vendor.default = last_fails_at_first
    request = asked(prompt=PROMPTS)
    chunks: list[Completion] = []
    forgotten: list[int] = []

    def start_over() -> None:
        forgotten.append(len(chunks))
        chunks.clear()

    engine.calls(request).run(engine.meter(request), chunks.append, start_over=start_over)
    assert len(forgotten) == 1
    assert forgotten[0] >= 1
    texts = {c.index: c.text for chunk in chunks for c in chunk.choices}
    assert sum(len(chunk.choices) for chunk in chunks) == len(PROMPTS)
    assert [texts[at] for at in range(len(PROMPTS))] == [f"other:{it}" for it in PROMPTS]


def test_a_whole_answer_that_fails_over_in_the_middle_holds_each_choice_once(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    completions = make_engine(*pair(vendor.url, list_prompts=False)).service()
    vendor.default = last_fails_at_first
    answer = completions.complete(asked(prompt=PROMPTS), CONTEXT)
    told = [(c.index, c.text) for c in answer.completion.choices]
    assert told == [(at, f"other:{prompt}") for at, prompt in enumerate(PROMPTS)]
    # What the first deployment answered was paid for, too.
    usage = answer.completion.usage
    assert usage is not None
    assert usage.total_tokens == 5 * (len(vendor.asked) - 1)


def test_a_stream_is_not_begun_again_elsewhere_once_a_part_of_it_has_come(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(*pair(vendor.url, list_prompts=False))
    vendor.default = last_fails_at_first
    chunks, _, error = engine.run(asked(prompt=PROMPTS))
    assert isinstance(error, VendorOverloaded)
    assert chunks
    assert set(engine.models) == {"m"}


def test_a_success_ends_a_row_of_failures(make_engine: MakeEngine, vendor: SimulatedVendor) -> None:
    engine = make_engine(*pair(vendor.url))
    for _ in range(2):
        vendor.default = first_down
        for _ in range(FAILURE_THRESHOLD - 1):
            assert engine.run(asked())[2] is None
        vendor.default = lambda call: completed(call.body)
        assert engine.run(asked())[2] is None
    assert engine.models.count("m") == 2 * FAILURE_THRESHOLD
    assert CircuitBreaker(engine.redis).open_circuits() == frozenset()


def test_where_every_deployment_rests_they_are_called_all_the_same(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(*pair(vendor.url))
    until_s = time.time() + 60
    engine.redis.zadd(UNTIL, {"first": until_s, "spare": until_s})
    assert engine.run(asked())[2] is None
    assert engine.models == ["m"]


def test_a_deployment_that_rests_is_passed_over(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(*pair(vendor.url))
    engine.redis.zadd(UNTIL, {"first": time.time() + 60})
    calls = engine.calls(asked())
    calls.run(engine.meter(asked()), lambda _: None)
    assert engine.models == ["other"]
    assert calls.plan.vendor.name == "spare"


def test_a_deployment_alone_is_called_though_it_rests(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    engine.redis.zadd(UNTIL, {"first": time.time() + 60})
    assert engine.run(asked())[2] is None


def test_a_stand_in_that_cannot_honour_the_request_is_passed_over(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(
        entry("first", vendor.url, fallbacks=("picky/other", "spare/third")),
        entry("picky", vendor.url, unsupported=frozenset({"suffix"})),
        entry("spare", vendor.url),
    )
    vendor.default = first_down
    assert engine.run(asked(suffix="end"))[2] is None
    assert engine.models == ["m", "third"]


def test_a_stand_in_that_cannot_honour_the_request_does_not_hide_the_failure(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(
        entry("first", vendor.url, fallbacks=("picky/other",)),
        entry("picky", vendor.url, unsupported=frozenset({"suffix"})),
    )
    vendor.default = first_down
    _, _, error = engine.run(asked(suffix="end"))
    assert isinstance(error, VendorOverloaded)
    assert "down" in error.message
    assert engine.models == ["m"]


@pytest.mark.parametrize(
    ("status", "kind"), [(400, VendorRejected), (401, VendorAuthentication), (403, GatewayError)]
)
def test_a_vendor_that_refuses_requests_does_not_rest_for_it(
    make_engine: MakeEngine, vendor: SimulatedVendor, status: int, kind: type[GatewayError]
) -> None:
    engine = make_engine(*pair(vendor.url))
    vendor.default = lambda _: json_reply({"error": {"message": "no"}}, status)
    for _ in range(FAILURE_THRESHOLD + 1):
        assert isinstance(engine.run(asked())[2], kind)
    assert engine.models == ["m"] * (FAILURE_THRESHOLD + 1)
    assert CircuitBreaker(engine.redis).open_circuits() == frozenset()


def test_what_a_rejection_shows_that_a_substitute_does_not_support_is_not_the_callers_mistake(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    """Through chat, to which the rejection leads, there is no `suffix`."""
    engine = make_engine(*pair(vendor.url))
    chat_only = json_reply({"error": {"message": "This is a chat model."}}, 404)
    vendor.default = lambda call: FAILED if call.body["model"] == "m" else chat_only
    assert isinstance(engine.run(asked(suffix="end"))[2], VendorOverloaded)
    assert engine.models == ["m", "other"]
    (_, spare) = pair(vendor.url)
    alone = make_engine(spare)
    error = alone.run(asked(model="spare/x", suffix="end"))[2]
    assert isinstance(error, UnsupportedParameter)
    assert error.param == "suffix"


def test_a_process_that_leaves_sends_nobody_to_rest(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(*pair(vendor.url))
    for _ in range(FAILURE_THRESHOLD + 1):
        calls = engine.calls(asked())
        calls.cancel("shutdown")
        with pytest.raises(ShuttingDown):
            calls.run(engine.meter(asked()), lambda _: None)
    assert vendor.asked == []
    assert CircuitBreaker(engine.redis).open_circuits() == frozenset()


def test_failures_that_may_have_been_billed_rest_a_deployment_too(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(*pair(vendor.url))
    vendor.default = lambda _: json_reply({"choices": "none"})
    for _ in range(FAILURE_THRESHOLD):
        assert isinstance(engine.run(asked())[2], VendorFailed)
    assert CircuitBreaker(engine.redis).open_circuits() == {"first"}


def test_nothing_is_tried_elsewhere_after_the_deadline_of_all_attempts(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(*pair(vendor.url, timeouts=Timeouts(total_s=0.2)))
    calls, planned_s = engine.calls(asked()), time.monotonic()
    vendor.default = first_down
    wait_until(lambda: time.monotonic() > planned_s + 0.2)  # as in a queue before its admission
    with pytest.raises(VendorOverloaded):
        calls.run(engine.meter(asked()), lambda _: None)
    assert engine.models == ["m"]


@pytest.mark.parametrize("reason", ["cancelled", "shutdown"])
def test_ended_calls_are_cut_and_none_begins(
    make_engine: MakeEngine, vendor: SimulatedVendor, reason: Any
) -> None:
    engine = make_engine(*pair(vendor.url, list_prompts=False))
    vendor.default = lambda _: Reply([threading.Event()])  # silent for ever
    request, raised = asked(prompt=PROMPTS), list[BaseException]()
    calls = engine.calls(request)

    def run() -> None:
        try:
            calls.run(engine.meter(request), lambda _: None)
        except BaseException as exc:  # noqa: BLE001 - looked at below
            raised.append(exc)

    thread = in_thread(run)
    wait_until(lambda: raised or len(vendor.asked) >= 8)
    assert not raised
    calls.cancel(reason)
    thread.join(60)
    wait_until(lambda: len(vendor.hang_ups) >= 8)
    assert isinstance(raised[0], ShuttingDown if reason == "shutdown" else Cancelled)
    assert len(vendor.asked) == 8
    assert set(engine.models) == {"m"}


@pytest.mark.parametrize("ended", ["a", "ab"])
def test_choices_have_ended_when_the_vendors_have_said_so_of_each(
    make_engine: MakeEngine, vendor: SimulatedVendor, ended: str
) -> None:
    engine = make_engine(entry("first", vendor.url, list_prompts=False))
    go_on = threading.Event()

    def answered(call: Asked) -> Reply:
        begun = body_of(choice("x", "stop" if call.body["prompt"] in ended else None))
        return stream_reply(begun, go_on, body_of(choice("", "stop")), DONE)

    vendor.default = answered
    request, chunks = asked(prompt=("a", "b"), stream=True), list[Completion]()
    calls, meter = engine.calls(request), engine.meter(request)
    thread = in_thread(lambda: calls.run(meter, chunks.append))
    wait_until(lambda: len(chunks) >= 2)
    if ended == "ab":
        wait_until(lambda: calls.has_generated)
    else:
        assert not calls.has_generated
    go_on.set()
    thread.join(60)
    assert calls.has_generated


def test_a_refusal_that_teaches_something_is_asked_again_at_most_twice(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, max_n=4))
    refused = json_reply({"error": {"message": "`n` must be 1", "param": "n"}}, 400)
    vendor.default = lambda call: refused if "n" in call.body else completed(call.body)
    chunks, meter, error = engine.run(asked(n=2))
    assert error is None
    assert [call.body.get("n") for call in vendor.asked] == [2, None, None]
    assert sorted(c.index for chunk in chunks for c in chunk.choices) == [0, 1]
    assert meter.attempts == 3
    engine.run(asked(n=2))  # it is remembered
    assert [call.body.get("n") for call in vendor.asked] == [2, None, None, None, None]


def test_a_stand_in_may_teach_how_it_is_asked_after_another_began_to_answer(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(*pair(vendor.url, list_prompts=False))
    refused = json_reply({"error": {"message": "`n` must be 1", "param": "n"}}, 400)

    def answered(call: Asked) -> Reply:
        if call.body["model"] == "m":
            return FAILED if call.body["prompt"] == PROMPTS[-1] else completed(call.body)
        return refused if "n" in call.body else completed(call.body)

    vendor.default = answered
    chunks: list[Completion] = []
    request = asked(prompt=PROMPTS, n=2)
    engine.calls(request).run(engine.meter(request), chunks.append, start_over=chunks.clear)
    indices = [c.index for chunk in chunks for c in chunk.choices]
    assert sorted(indices) == list(range(2 * len(PROMPTS)))
