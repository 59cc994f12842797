"""Which entry and which of its endpoints answers, and what refusals teach."""

import json
from typing import Any

import pytest

from app.gateways.families import GATEWAYS
from app.serving import routing
from app.serving.routing import Candidate, Plan, Router
from app.vendors.table import VendorTable
from app.vendors.vendor import Vendor
from app.vocabulary.errors import (
    InvalidRequest,
    ModelNotFound,
    UnsupportedParameter,
    VendorRejected,
    WrongEndpoint,
)
from app.vocabulary.request import GenerationRequest
from tests.gateways.chat_rows import asked as chatting
from tests.serving.engine import asked, entry

URL = "http://127.0.0.1:1/v1"
CLAUDE = {"default_max_tokens": 9, "version": "1", "no_sampling": []}


def router(*entries: Vendor) -> Router:
    return Router(VendorTable(entries), GATEWAYS)


def first(**traits: Any) -> Vendor:
    return entry("first", URL, **traits)


def plan(vendor: Vendor, request: GenerationRequest, of: Router | None = None) -> Plan:
    of = of or router(vendor)
    return of.plan(of.candidates(request)[0], request)


def refused(message: str = "no", status: int = 400, param: str | None = None) -> VendorRejected:
    return VendorRejected(message, vendor_status=status, param=param)


def test_fallbacks_follow_in_their_order_with_their_own_names_of_the_model() -> None:
    found = router(
        first(fallbacks=("a", "keyless", "b/other")),
        entry("a", URL),
        entry("keyless", URL, missing="NO_KEY"),
        entry("b", URL),
    ).candidates(asked())
    assert [(it.vendor.name, it.model_name) for it in found] == [
        ("first", "m"),
        ("a", "m"),
        ("b", "other"),
    ]


def test_an_entry_that_is_not_there_or_has_no_key_is_refused_by_name() -> None:
    table = router(first(), entry("keyless", URL, missing="NO_KEY"))
    with pytest.raises(ModelNotFound, match="no vendor `other`"):
        table.candidates(asked(model="other/m"))
    with pytest.raises(ModelNotFound, match="NO_KEY"):
        table.candidates(asked(model="keyless/m"))


@pytest.mark.parametrize("name", ["*", "gpt-*", "m?"])
def test_what_stands_for_many_models_is_none(name: str) -> None:
    with pytest.raises(ModelNotFound, match="several models") as caught:
        router(first()).candidates(asked(model=f"first/{name}"))
    assert caught.value.param == "model"


@pytest.mark.parametrize("name", ["m", "echo?words=3", "a/b"])
def test_a_name_may_have_a_query(name: str) -> None:
    assert router(first()).candidates(asked(model=f"first/{name}"))[0].model_name == name


@pytest.mark.parametrize(
    ("native", "model", "is_chat"),
    [
        (("*",), "m", False),
        ((), "m", True),
        (("text-*", "davinci"), "text-1", False),
        (("text-*", "davinci"), "davinci", False),
        (("text-*", "davinci"), "Text-1", True),
    ],
)
def test_globs_say_which_models_have_the_endpoint_of_text_completions(
    native: tuple[str, ...], model: str, is_chat: bool
) -> None:
    found = plan(first(native=native), asked(model=f"first/{model}"))
    assert found.is_bridged is is_chat
    assert found.first.url.endswith("/chat/completions" if is_chat else "v1/completions")


def test_a_stand_in_is_asked_for_the_model_by_its_own_name() -> None:
    of = router(first(fallbacks=("spare/other",)), entry("spare", URL))
    request = asked()
    deployments = of.candidates(request)
    assert [of.plan(it, request).sub_requests[0].request.model for it in deployments] == [
        "first/m",
        "spare/other",
    ]
    assert of.plan(deployments[0], request).sub_requests[0].request is request


def test_parts_that_ask_for_the_same_share_one_request() -> None:
    found = plan(first(list_prompts=False), asked(prompt=("a", "a", "b")))
    same, again, other = found.sub_requests
    assert found.encoded(same) is found.encoded(again) is found.first
    assert b'"b"' in found.encoded(other).body


def test_what_a_vendor_does_not_get_is_named() -> None:
    lax = first(unsupported=frozenset({"suffix"}), drop_unsupported=True, native=())
    assert plan(lax, asked(suffix="x", echo=True, logprobs=2)).dropped == ("logprobs", "suffix")
    assert plan(first(), asked()).dropped == ()


def test_chat_has_no_log_probabilities_of_what_it_echoes() -> None:
    chat = first(native=())
    with pytest.raises(UnsupportedParameter) as caught:
        plan(chat, asked(echo=True, logprobs=0))
    assert caught.value.param == "logprobs"
    (part,) = plan(chat, asked(echo=True)).sub_requests
    assert part.request.echo is None  # it is put in front here
    (part,) = plan(chat, asked(logprobs=0)).sub_requests
    assert part.request.parameters()["logprobs"] == 0
    assert plan(first(), asked(echo=True, logprobs=0)).sub_requests[0].request.echo is True


@pytest.mark.parametrize("prompt", [[1, 2], [[1], [2]], ["a", [1]]])
def test_chat_takes_text_alone(prompt: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        plan(first(native=(), token_prompts=True), asked(prompt=prompt))
    assert caught.value.param == "prompt"


def test_a_budget_is_told_what_one_call_takes() -> None:
    of = router(first(max_n=4, list_prompts=False))
    (deployment,) = of.candidates(asked())
    found = of.cost_candidate(deployment, "completions")
    assert (found.vendor, found.model, found.list_prompts, found.max_n) == ("first", "m", False, 4)
    assert of.learn(of.plan(deployment, asked(n=2)), refused(param="n"))
    assert of.cost_candidate(deployment, "completions").max_n == 1


def test_a_price_is_looked_up_without_the_query_of_a_model() -> None:
    for traits, name in (({"model_queries": True}, "echo"), ({}, "echo?words=3")):
        of = router(first(**traits))
        (candidate,) = of.candidates(asked(model="first/echo?words=3"))
        assert of.cost_candidate(candidate, "completions").model == name
        assert b"echo?words=3" in of.plan(candidate, asked(model="first/echo?words=3")).first.body


def test_a_blank_prompt_is_refused_before_the_calls_for_those_that_come_first() -> None:
    vendor = entry("first", URL, gateway="anthropic", native=(), quirks=CLAUDE)
    with pytest.raises(InvalidRequest, match="blank") as caught:
        plan(vendor, asked(prompt=("a", "b", " \n")))
    assert caught.value.param == "prompt"
    assert len(plan(first(list_prompts=False), asked(prompt=("a", ""))).sub_requests) == 2


# What refusals teach.


def test_the_endpoint_that_a_refusal_names_is_remembered_for_the_model_alone() -> None:
    of, vendor = router(first()), first()
    found = plan(vendor, asked(), of)
    assert of.learn(found, WrongEndpoint("x", vendor_status=404, wants="chat"))
    assert plan(vendor, asked(), of).is_bridged
    assert not plan(vendor, asked(model="first/other"), of).is_bridged
    assert of.learn(found, WrongEndpoint("x", vendor_status=404, wants="native"))
    assert not plan(vendor, asked(), of).is_bridged


def test_an_endpoint_that_the_wire_does_not_have_is_not_learnt() -> None:
    vendor = entry("first", URL, gateway="anthropic", native=(), quirks=CLAUDE)
    of = router(vendor)
    assert not of.learn(
        plan(vendor, asked(), of), WrongEndpoint("x", vendor_status=404, wants="native")
    )


@pytest.mark.parametrize(
    ("error", "learnt"),
    [
        (refused(param="n"), True),
        (refused(param="n", status=422), True),
        (refused("`n` is not supported"), True),
        (refused("n must be 1"), True),
        (refused("Only one candidate can be generated"), True),
        (refused("candidateCount must be 1", status=422), True),
        (refused(param="n", status=404), False),
        (refused("the prompt must be shorter"), False),
        (refused(param="stop"), False),
    ],
)
def test_a_refusal_of_several_samples_is_understood(error: VendorRejected, learnt: bool) -> None:
    vendor = first()
    of = router(vendor)
    assert of.learn(plan(vendor, asked(n=3), of), error) is learnt
    assert len(plan(vendor, asked(n=3), of).sub_requests) == (3 if learnt else 1)


def test_one_sample_cannot_be_refused_for_being_several() -> None:
    vendor = first()
    of = router(vendor)
    assert not of.learn(plan(vendor, asked(), of), refused(param="n"))
    assert not of.learn(plan(vendor, asked(n=1), of), refused(param="n"))


def test_what_was_learnt_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "REMEMBERED_LIMIT", 2)
    vendor = first()
    of = router(vendor)

    def teach(model: str) -> None:
        found = of.plan(Candidate(vendor, model), asked(model=f"first/{model}"))
        assert of.learn(found, WrongEndpoint("x", vendor_status=404, wants="chat"))

    for model in "abc":
        teach(model)
    assert plan(vendor, asked(model="first/c"), of).is_bridged
    assert not plan(vendor, asked(model="first/a"), of).is_bridged  # asked for, it is learnt again


# Chat.


def test_a_chat_goes_to_chat_whatever_the_model_completes_texts_with() -> None:
    vendor = first(native=("*",))
    found = plan(vendor, chatting("first/m", "hi"))
    assert found.first.url.endswith("/v1/chat/completions")
    assert not found.is_bridged
    assert json.loads(found.first.body)["messages"] == [{"role": "user", "content": "hi"}]


def test_a_vendor_without_chat_is_named() -> None:
    vendor = entry("first", URL, gateway="llmengine_v1")
    with pytest.raises(ModelNotFound, match=r"`first` has no chat\.completions endpoint"):
        plan(vendor, chatting("first/m", "hi"))


def test_several_samples_of_a_chat_are_calls_of_their_own_where_a_vendor_has_one() -> None:
    parts = plan(first(max_n=1), chatting("first/m", "hi", n=3, seed=7)).sub_requests
    assert [(part.offset, part.request.seed, part.request.n) for part in parts] == [
        (0, 7, None),
        (1, 8, None),
        (2, 9, None),
    ]
    assert [part.request.parameters() for part in parts] == [{"seed": 7}, {"seed": 8}, {"seed": 9}]


MINE = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."


@pytest.mark.parametrize(
    ("renames", "message", "param", "learnt"),
    [
        ({}, MINE, "max_tokens", "max_completion_tokens"),
        (
            {"max_tokens": "max_completion_tokens"},
            "Unrecognized request argument supplied: max_completion_tokens",
            None,
            "max_tokens",
        ),
        ({}, "max_tokens is too large: 9000", "max_tokens", None),
        ({}, "no", None, None),
    ],
)
def test_the_name_of_the_limit_is_learnt_once_from_a_refusal(
    renames: dict[str, str], message: str, param: str | None, learnt: str | None
) -> None:
    vendor = first(native=(), quirks={"models": {"*": {"renames": renames}}})
    for request in (
        chatting("first/m[1]", "hi", max_tokens=9),
        asked(model="first/m[1]", max_tokens=9),
    ):
        of = router(vendor)
        found = plan(vendor, request, of)
        assert of.learn(found, refused(message, param=param)) is (learnt is not None)
        sent = json.loads(plan(vendor, request, of).first.body)
        assert sent.get(learnt or renames.get("max_tokens", "max_tokens")) == 9
        other = json.loads(plan(vendor, chatting("first/o", "hi", max_tokens=9), of).first.body)
        assert other.get(renames.get("max_tokens", "max_tokens")) == 9  # of this model alone


def test_a_limit_that_nobody_set_is_not_to_blame() -> None:
    vendor = first(native=())
    of = router(vendor)
    assert not of.learn(plan(vendor, chatting("first/m", "hi"), of), refused(MINE))


def test_an_api_format_serves_the_endpoints_that_it_has_or_that_the_bridge_makes() -> None:
    prompts_alone = {name: family for name, family in GATEWAYS.items() if family.chat is None}
    for gateway in GATEWAYS:
        vendor = entry("first", URL, gateway=gateway)
        of = router(vendor)
        assert of.serves(vendor, "completions")
        assert of.serves(vendor, "chat.completions") == (gateway not in prompts_alone)
