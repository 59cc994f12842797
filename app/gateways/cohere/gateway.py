"""Chat with Command through Cohere's v2 chat: one sample per call.

Source: docs.cohere.com (chat, reasoning, errors), and the types of its Python client.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.formats import strict_json
from app.gateways.base import ChatGateway
from app.gateways.cohere.errors import failure
from app.gateways.cohere.messages import encode_messages
from app.gateways.cohere.response import CohereDecoder
from app.gateways.cohere.tools import response_format, tool_fields
from app.gateways.conversation.efforts import effort_of, fitting_budget
from app.gateways.conversation.marks import leave_out_marks
from app.gateways.conversation.omissions import (
    CACHE_HINTS,
    Omissions,
    check_old_functions,
    narrowed,
)
from app.gateways.conversation.origins import issuer_of, own_signatures
from app.gateways.decoding import failures
from app.gateways.parameters import check_extra, check_range, supported
from app.gateways.stops import as_list
from app.vendors.model_rules import MODELS, rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

#: The caller's parameter -> the vendor's name for it.
NAMES: Mapping[str, str] = {
    "frequency_penalty": "frequency_penalty",
    "max_tokens": "max_tokens",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
    "temperature": "temperature",
    "top_p": "p",
}

#: The least budget of reasoning that makes sense, in tokens: Cohere takes any above 0.
LEAST_BUDGET = 1

#: The vendor's largest `p`, which is sent for a `top_p` of 1.
MOST_P = 0.99

PENALTIES = ("frequency_penalty", "presence_penalty")

#: Parameters that are encoded in another way, or refused with more to say than their name.
OTHERS = CACHE_HINTS | {
    "function_call",
    "functions",
    "n",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "stop",
    "stream",
    "stream_options",
    "tool_choice",
    "tools",
}


class CohereGateway(ChatGateway):
    """Converts chat requests and responses.

    `logprobs` are unsupported: the format has token ids for them, instead of each token's text, and
    no alternatives. `user` has no equivalent. `efforts` of the entry's models are `enabled`,
    `disabled`, or a budget in tokens.
    """

    unsupported: ClassVar[frozenset[str]] = frozenset(
        {"logit_bias", "logprobs", "top_logprobs", "user"}
    )
    quirks: ClassVar[Mapping[str, Field[Any]]] = {"models": MODELS}

    def encode(self, vendor: Vendor, request: ChatRequest) -> VendorRequest:
        check_extra(vendor, request)
        unknown = request.options.keys() - NAMES.keys() - OTHERS
        rules = rules_of(vendor, request.model_name)
        names = self.unsupported.union(unknown, rules.unsupported)
        parameters, dropped = supported(vendor, request, names)
        omissions = Omissions(vendor)
        request, foreign = own_signatures(issuer_of(vendor), request)
        body = _body(vendor, narrowed(request, parameters), omissions)
        headers = {"content-type": "application/json", **vendor.headers}
        url = f"{vendor.base_url}/chat"
        return VendorRequest(
            url, headers, strict_json.dump(body), (*dropped, *foreign, *omissions.names)
        )

    def decoder(self, vendor: Vendor, request: ChatRequest) -> CohereDecoder:
        return CohereDecoder(vendor, request)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        return failure(vendor, status, failures.detail_in(body), headers)


def _body(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the body; what stays from turn to turn stands before the messages.

    Raises: InvalidRequest, mostly UnsupportedParameter, with the path of the field.
    """
    check_old_functions(vendor, request)
    _check_ranges(vendor, request)
    leave_out_marks(request, omissions)
    efforts = rules_of(vendor, request.model_name).efforts
    effort = effort_of(vendor, request, efforts, omissions)
    body: dict[str, Any] = {
        "model": request.model_name,
        **tool_fields(vendor, request, omissions),
        **_sampling(request),
        **_thinking(effort, request.max_tokens),
        **response_format(vendor, request, omissions),
    }
    if request.stream:
        body["stream"] = True
    body["messages"] = encode_messages(vendor, request, omissions, reasons=bool(efforts))
    return body


def _sampling(request: ChatRequest) -> dict[str, Any]:
    options = dict(request.options)
    for name in PENALTIES:  # 0 is the vendor's default, and some models reject both together
        if not options.get(name):
            options.pop(name, None)
    if options.get("top_p") == 1:  # all tokens: the vendor's default is fewer
        options["top_p"] = MOST_P
    fields = {theirs: options[name] for name, theirs in NAMES.items() if name in options}
    if stops := as_list(request.stop):
        fields["stop_sequences"] = stops
    return fields


def _thinking(effort: str | int | None, limit: int | None) -> dict[str, Any]:
    """Return the field for an effort; a budget leaves room for the answer in the limit."""
    if effort is None:
        return {}
    if isinstance(effort, int):
        effort = effort if limit is None else fitting_budget(effort, limit, LEAST_BUDGET)
        return {"thinking": {"type": "enabled", "token_budget": effort}}
    return {"thinking": {"type": effort}}


def _check_ranges(vendor: Vendor, request: ChatRequest) -> None:
    for name in PENALTIES:
        check_range(vendor, request, name, 0, 1)
    if request.options.get("top_p") != 1:
        check_range(vendor, request, "top_p", 0.01, MOST_P)
    check_range(vendor, request, "seed", 0)
