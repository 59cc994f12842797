"""Routing: the candidates of a request, and the endpoint and calls that each would use."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from app.admission.at_most import CostCandidate
from app.gateways.base import Gateway
from app.gateways.bridge import Bridge
from app.gateways.family import Doors, Family
from app.serving.fan_out import SubRequest, split
from app.serving.rejections import LIMIT, rejects_samples, wanted_limit
from app.vendors.model_rules import is_native, with_rename
from app.vendors.table import VendorTable
from app.vendors.vendor import Vendor
from app.vocabulary.errors import ModelNotFound, VendorRejected, WrongEndpoint
from app.vocabulary.request import Endpoint, GenerationRequest
from app.vocabulary.vendor_request import VendorRequest

#: Most models about which something is remembered; no vendor has as many.
REMEMBERED_LIMIT = 10_000

Value = TypeVar("Value")


class Candidate(NamedTuple):
    """A vendor entry that may serve a request, and its name for the model."""

    vendor: Vendor
    model_name: str

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the candidate."""
        return self.vendor.name, self.model_name


class Plan(NamedTuple):
    """How to call a candidate: its gateway, the sub-requests, and the first of them encoded.

    The others are encoded later: a prompt may have megabytes, and need 128 calls. `vendor` is the
    candidate's entry with what rejections have shown about the model. `is_bridged`: the request is
    converted, from a prompt to a message. `reports_names` is as in `Family`.
    `dropped` are the caller's parameters that are not sent to the vendor.
    """

    candidate: Candidate
    vendor: Vendor
    gateway: Gateway[Any]
    is_bridged: bool
    reports_names: bool
    sub_requests: tuple[SubRequest, ...]
    first: VendorRequest
    dropped: tuple[str, ...]

    def encoded(self, sub_request: SubRequest) -> VendorRequest:
        """Return the HTTP request for a sub-request; equal sub-requests share one."""
        first = self.sub_requests[0].request
        if sub_request.request is first or sub_request.request == first:
            return self.first
        return self.gateway.encode(self.vendor, sub_request.request)


class Router:
    """Finds candidates and plans their calls; remembers what their rejections have shown.

    Rejections show which endpoint has a model, which models return one sample per call, and which
    name of the limit a model takes. `context` is that of the price book.
    """

    def __init__(
        self,
        vendors: VendorTable,
        families: Mapping[str, Family],
        context: Callable[[str, str], int | None] = lambda _vendor, _model: None,
    ) -> None:
        self._context = context
        self._vendors = vendors
        self._families = families
        self._chat_models: dict[tuple[str, str], bool] = {}
        self._single_sample: dict[tuple[str, str], bool] = {}
        self._entries: dict[tuple[str, str], Vendor] = {}

    def candidates(self, request: GenerationRequest) -> list[Candidate]:
        """Return the requested candidate, then its configured fallbacks.

        Raises: ModelNotFound.
        """
        vendor = self._vendors.find(request.vendor)
        if is_pattern(request.model_name):
            words = f"`{request.model[:64]}` matches several models; name one of them."
            if "*" in request.model_name:
                words += f" Put a name that `{vendor.name}` has for a model in the place of `*`."
            else:
                words += " What follows a `?` must be `name=value`, as in `sandbox/echo?words=50`."
            raise ModelNotFound(words, param="model")
        found = [Candidate(vendor, request.model_name)]
        for fallback in vendor.fallbacks:
            name, _, model = fallback.partition("/")
            try:
                found.append(Candidate(self._vendors.find(name), model or request.model_name))
            except ModelNotFound:
                continue  # its API key is not set
        return found

    def serves(self, vendor: Vendor, endpoint: Endpoint) -> bool:
        """Whether a vendor's API format has the endpoint, directly or through the bridge."""
        return any(self._families[vendor.gateway].doors(endpoint))

    def plan(self, candidate: Candidate, request: GenerationRequest) -> Plan:
        """Return the plan for calling `candidate`.

        Raises: InvalidRequest if it does not support the request.
        """
        vendor = self._entries.get(candidate.key, candidate.vendor)
        gateway, bridge = self._gateway(candidate, request.endpoint)
        asked: Any = request
        model = f"{vendor.name}/{candidate.model_name}"
        dropped: tuple[str, ...] = ()
        if asked.model != model:
            asked = dataclasses.replace(asked, model=model)
        if bridge is not None:
            asked, dropped = bridge.prepared(vendor, asked)
        list_prompts, max_n = self._capacity(candidate, gateway)
        sub_requests = split(asked, list_prompts=list_prompts, max_n=max_n)
        first = gateway.encode(vendor, sub_requests[0].request)
        for it in sub_requests[1:]:
            if it.request.is_blank:  # what else a vendor refuses, the first prompt has shown
                gateway.encode(vendor, it.request)
        dropped = (*dropped, *first.dropped)
        parts, is_bridged = tuple(sub_requests), bridge is not None
        reports = self._families[vendor.gateway].reports_names
        return Plan(candidate, vendor, gateway, is_bridged, reports, parts, first, dropped)

    def cost_candidate(self, candidate: Candidate, endpoint: Endpoint) -> CostCandidate:
        """Return the traits of a candidate from which the most that it can cost is computed."""
        gateway, _ = self._gateway(candidate, endpoint)
        vendor, capacity = candidate.vendor, self._capacity(candidate, gateway)
        return CostCandidate(vendor.name, vendor.booked_name(candidate.model_name), *capacity)

    def context(self, candidate: Candidate) -> int:
        """Return the most tokens of a candidate's prompt and completion; 0 if it is unknown."""
        vendor = candidate.vendor
        return self._context(vendor.name, vendor.booked_name(candidate.model_name)) or 0

    def learn(self, plan: Plan, error: VendorRejected) -> bool:
        """Remember what a rejection shows about calling the candidate.

        Returns False if it shows nothing, or nothing that would change the plan.
        """
        if isinstance(error, WrongEndpoint):
            return self._learn_endpoint(plan, is_chat=error.wants == "chat")
        asked = plan.sub_requests[0].request
        if (name := wanted_limit(plan.vendor, asked, error)) is not None:
            entry = with_rename(plan.vendor, plan.candidate.model_name, LIMIT, name)
            _remember(self._entries, plan.candidate.key, entry)
            return True
        asked_several = any((it.request.n or 1) > 1 for it in plan.sub_requests)
        if not asked_several or not rejects_samples(error):
            return False
        _remember(self._single_sample, plan.candidate.key, True)
        return True

    def _learn_endpoint(self, plan: Plan, *, is_chat: bool) -> bool:
        direct, bridge = self._doors(plan.candidate, plan.sub_requests[0].request.endpoint)
        if direct is None or bridge is None:
            return False
        _remember(self._chat_models, plan.candidate.key, is_chat)
        return True

    def _doors(self, candidate: Candidate, endpoint: Endpoint) -> Doors:
        return self._families[candidate.vendor.gateway].doors(endpoint)

    def _capacity(self, candidate: Candidate, gateway: Gateway[Any]) -> tuple[bool, int]:
        """Return whether a call accepts several prompts, and its maximum of samples per prompt."""
        vendor, single = candidate.vendor, candidate.key in self._single_sample
        list_prompts = vendor.list_prompts and gateway.list_prompts
        return list_prompts, 1 if single else min(vendor.max_n, gateway.max_n)

    def _gateway(
        self, candidate: Candidate, endpoint: Endpoint
    ) -> tuple[Gateway[Any], Bridge | None]:
        """Return the gateway to a candidate's endpoint, and the same if it is the bridge.

        Raises: ModelNotFound if its API format has no such endpoint.
        """
        direct, bridge = self._doors(candidate, endpoint)
        if direct is not None and bridge is not None:
            is_chat = self._chat_models.get(candidate.key)
            if is_chat is None:
                is_chat = not is_native(candidate.vendor, candidate.model_name)
            return (bridge, bridge) if is_chat else (direct, None)
        if bridge is not None:
            return bridge, bridge
        if direct is None:
            raise ModelNotFound(
                f"The vendor `{candidate.vendor.name}` has no {endpoint} endpoint.", param="model"
            )
        return direct, None


def _remember(known: dict[tuple[str, str], Value], key: tuple[str, str], value: Value) -> None:
    if len(known) >= REMEMBERED_LIMIT:
        known.clear()
    known[key] = value


def is_pattern(model_name: str) -> bool:
    """Whether this is a pattern for several models, as in the list of models.

    A query after a name, as in the sandbox's `echo?words=3`, is part of the name.
    """
    return _PATTERN.search(model_name) is not None


_PATTERN = re.compile(r"\*|\?(?!\w+=)")
