"""CallMeter: what a vendor call used, and who counted each side."""

import pytest

from app.usage.metering.call_meter import CallMeter, least_certain
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Completion, CompletionRequest, HalfUsage, Usage
from app.vocabulary.errors import (
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorRejected,
    VendorTimeout,
    VendorUnreachable,
)
from tests.usage.calls import ASKED, COUNT, chunk, metered


def test_the_vendors_count_takes_precedence_over_an_estimate() -> None:
    call = metered(chunk("one two three four"), chunk("five", usage=COUNT))
    assert call.final == (COUNT, "vendor", "vendor")


def test_the_last_count_that_is_not_zero_is_the_vendors() -> None:
    early = Usage(prompt_tokens=5, completion_tokens=1, total_tokens=6)
    for chunks in (
        [chunk("a", usage=early), chunk("b", usage=COUNT)],
        [chunk("a", usage=Usage()), chunk("b", usage=COUNT), chunk(usage=Usage())],
        [chunk("a", usage=COUNT), chunk("b"), chunk()],
    ):
        assert metered(*chunks).final == (COUNT, "vendor", "vendor")


def test_without_a_count_the_text_is_counted_and_marked() -> None:
    for nothing in (None, Usage()):
        call = metered(chunk("hello", usage=nothing), chunk(" world", usage=nothing))
        assert call.final == (
            Usage(prompt_tokens=2, completion_tokens=2, total_tokens=4),
            "estimated",
            "estimated",
        )


HALVES: dict[str, tuple[Usage | None, int, int, str, str]] = {
    # a report, then the tokens and the sources of each side, of an answer of two tokens
    "a prompt alone": (
        HalfUsage(prompt_tokens=9, total_tokens=9, lacks="completion"), 9, 2, "vendor", "estimated",
    ),
    "a completion alone": (
        HalfUsage(completion_tokens=9, total_tokens=9, lacks="prompt"), 2, 9, "estimated", "vendor",
    ),
    "a total alone": (HalfUsage(total_tokens=9, lacks="both"), 2, 7, "estimated", "estimated"),
    "a total that is too small": (
        HalfUsage(total_tokens=1, lacks="both"), 1, 0, "estimated", "estimated",
    ),
    "a completion of nothing": (
        Usage(prompt_tokens=9, total_tokens=9), 9, 2, "vendor", "estimated",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("report", "prompt", "completion", "prompt_source", "completion_source"),
    HALVES.values(),
    ids=HALVES,
)
def test_half_a_count_is_a_fact_and_the_other_half_an_estimate(
    report: Usage, prompt: int, completion: int, prompt_source: str, completion_source: str
) -> None:
    usage = Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
    )
    for chunks in (
        [chunk("hello world", usage=report)],
        [chunk("hello world"), chunk(usage=report)],
    ):
        assert metered(*chunks).final == (usage, prompt_source, completion_source)


def test_a_running_count_and_the_text_after_it_make_the_count_of_a_cut_stream() -> None:
    running = Usage(prompt_tokens=9, completion_tokens=5, total_tokens=14, cached_tokens=4)
    call = CallMeter("sim", ASKED)
    for one in (chunk("a b c d e", usage=running), chunk("hello world")):
        call.observe(one)
    call.failed(VendorFailed("broke off", billable=True))
    usage = Usage(prompt_tokens=9, completion_tokens=7, total_tokens=16, cached_tokens=4)
    assert call.final == (usage, "vendor", "estimated")


def test_a_placeholder_count_does_not_cover_the_text_after_it() -> None:
    begun = Usage(prompt_tokens=9, completion_tokens=1, total_tokens=10)
    call = CallMeter("sim", ASKED)
    for one in (chunk(usage=begun), chunk("hello world")):
        call.observe(one)
    assert call.final.usage.completion_tokens == 2


def test_an_echo_is_not_part_of_an_estimate() -> None:
    request = CompletionRequest(model="sim/m", prompt="hello world", echo=True, n=2)
    call = metered(chunk("hello ", "hello world"), chunk("world", " again"), request=request)
    assert call.final[0].completion_tokens == 1


def test_a_prompt_that_may_have_been_billed_is_estimated_and_else_there_is_nothing() -> None:
    call = CallMeter("sim", ASKED)
    assert call.final == (Usage(), "none", "none")
    call = CallMeter("sim", ASKED)
    call.billable = True
    assert call.final == (Usage(prompt_tokens=2, total_tokens=2), "estimated", "estimated")


FAILURES: list[tuple[GatewayError, bool]] = [
    # the failure, and whether the call is billed
    (VendorUnreachable("x"), False),
    (VendorFailed("x"), False),
    (VendorFailed("x", billable=True), True),
    (VendorTimeout("x"), False),
    (VendorTimeout("x", billable=True), True),
    (VendorRejected("x", vendor_status=400), False),
    (VendorAuthentication("x", vendor_status=401), False),
    (VendorRateLimited("x"), False),
    (VendorOverloaded("x"), False),
]


@pytest.mark.parametrize(("error", "billed"), FAILURES, ids=lambda v: type(v).__name__)
def test_a_failure_is_billed_as_far_as_work_may_have_been_done(
    error: GatewayError, billed: bool
) -> None:
    for begun in (False, True):
        call = CallMeter("sim", ASKED)
        call.billable = begun
        call.failed(error)
        assert call.final[1] == ("estimated" if billed else "none")
        # the text was generated, whatever came after it
        call = metered(chunk("hello world"))
        call.failed(error)
        assert call.final[0].completion_tokens == 2


def test_the_message_of_an_error_is_never_counted() -> None:
    call = metered()
    call.failed(VendorFailed("a very long story of what went wrong", billable=True))
    assert call.final[0].completion_tokens == 0


def test_a_failure_with_a_status_replaces_the_status_and_others_do_not() -> None:
    call = metered()
    call.http_status = 200
    call.failed(VendorFailed("broke off", billable=True))
    assert call.http_status == 200
    call.failed(VendorFailed("x", vendor_status=503))
    assert call.http_status == 503


@pytest.mark.parametrize(
    ("models", "served"),
    [
        (["m-2026", "m-2026"], "m-2026"),
        # a chunk that names no model has the requested name
        (["m", "m-2026", "m"], "m-2026"),
        (["m-2026", "m"], "m-2026"),
        (["m", "m"], "m"),
        ([], None),
    ],
)
def test_the_model_served_is_the_vendors_name_of_it(models: list[str], served: str | None) -> None:
    assert metered(*(chunk("a", model=model) for model in models)).model_served == served


def test_the_least_certain_source_of_several_is_reported() -> None:
    assert least_certain(["vendor", "estimated", "none"]) == "estimated"
    assert least_certain(["none", "vendor"]) == "vendor"
    assert least_certain([]) == "none"


def test_what_a_call_has_used_so_far_is_counted_as_it_comes() -> None:
    call = CallMeter("sim", ASKED)
    assert call.so_far().usage == Usage(prompt_tokens=2, total_tokens=2)
    call.observe(chunk("one two"))
    assert call.so_far().usage.completion_tokens == 2
    call.observe(chunk(" three"))
    assert call.so_far().usage.completion_tokens == 3
    assert call.so_far().source == "estimated"
    call.observe(chunk(usage=COUNT))
    assert call.so_far() == (COUNT, "vendor", "vendor")


def test_only_the_first_count_of_a_vendor_is_announced() -> None:
    announced: list[int] = []
    call = CallMeter("sim", ASKED, lambda: announced.append(1))
    call.observe(chunk("one"))
    assert announced == []
    call.observe(chunk(usage=COUNT))
    call.observe(chunk(usage=COUNT))
    assert announced == [1]


def test_reasoning_and_the_calls_of_tools_are_generated_too() -> None:
    reply = Reply(reasoning="hello", tool_calls=(ToolCall(0, "c", "hello", " world"),))
    delta = Completion("", 0, "m", (Choice(0, "", reply=reply),))
    call = metered(delta, chunk(" world"))
    assert call.final.usage.completion_tokens == 4
    assert call.first_token_at_s is not None
