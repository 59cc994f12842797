"""Routing: the candidates of a request, and the endpoint and calls that each would use."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from app.admission.at_most import CostCandidate
from app.gateways.base import Family, Gateway
from app.serving.fan_out import SubRequest, split
from app.vendors.table import VendorTable
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import ModelNotFound, UnsupportedParameter, VendorRejected, WrongEndpoint
from app.vocabulary.vendor_request import VendorRequest

#: Most models about which something is remembered; no vendor has as many.
REMEMBERED_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A vendor entry that may serve a request, and its name for the model."""

    vendor: Vendor
    model_name: str

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the candidate."""
        return self.vendor.name, self.model_name


@dataclass(frozen=True, slots=True)
class Plan:
    """How to call a candidate: its gateway, the sub-requests, and the first of them encoded.

    The others are encoded later: a prompt may have megabytes, and need 128 calls. `dropped` are
    the caller's parameters that are not sent to the vendor.
    """

    candidate: Candidate
    gateway: Gateway
    is_chat: bool
    sub_requests: tuple[SubRequest, ...]
    first: VendorRequest
    dropped: tuple[str, ...]

    @property
    def vendor(self) -> Vendor:
        """The vendor entry to call."""
        return self.candidate.vendor

    def encoded(self, sub_request: SubRequest) -> VendorRequest:
        """Return the HTTP request for a sub-request; equal sub-requests share one."""
        if sub_request.request == self.sub_requests[0].request:
            return self.first
        return self.gateway.encode(self.vendor, sub_request.request)


class Router:
    """Finds candidates and plans their calls; remembers what their rejections have shown.

    Rejections show which endpoint has a model, and which models return one sample per call.
    """

    def __init__(self, vendors: VendorTable, families: Mapping[str, Family]) -> None:
        self._vendors = vendors
        self._families = families
        self._chat_models: dict[tuple[str, str], bool] = {}
        self._single_sample: dict[tuple[str, str], bool] = {}

    def candidates(self, request: CompletionRequest) -> list[Candidate]:
        """Return the requested candidate, then its configured fallbacks.

        Raises: ModelNotFound.
        """
        vendor = self._vendors.find(request.vendor)
        if is_pattern(request.model_name):
            raise ModelNotFound(
                f"`{request.model[:64]}` matches several models; name one of them.", param="model"
            )
        found = [Candidate(vendor, request.model_name)]
        for fallback in vendor.fallbacks:
            name, _, model = fallback.partition("/")
            try:
                found.append(Candidate(self._vendors.find(name), model or request.model_name))
            except ModelNotFound:
                continue  # its API key is not set
        return found

    def plan(self, candidate: Candidate, request: CompletionRequest) -> Plan:
        """Return the plan for calling `candidate`.

        Raises: InvalidRequest if it does not support the request.
        """
        vendor = candidate.vendor
        gateway, is_chat = self._gateway(candidate)
        asked, model = request, f"{vendor.name}/{candidate.model_name}"
        dropped: tuple[str, ...] = ()
        if asked.model != model:
            asked = dataclasses.replace(asked, model=model)
        if is_chat:
            _check_text(vendor, asked)
            asked, dropped = _without_prompt_logprobs(vendor, asked)
            if asked.echo is not None:  # done by app.serving.fan_out.Echo
                asked = dataclasses.replace(asked, echo=None)
        list_prompts, max_n = self._capacity(candidate, gateway)
        sub_requests = split(asked, list_prompts=list_prompts, max_n=max_n)
        first = gateway.encode(vendor, sub_requests[0].request)
        dropped = (*dropped, *first.dropped)
        return Plan(candidate, gateway, is_chat, tuple(sub_requests), first, dropped)

    def cost_candidate(self, candidate: Candidate) -> CostCandidate:
        """Return the traits of a candidate from which the most that it can cost is computed."""
        gateway, _ = self._gateway(candidate)
        capacity = self._capacity(candidate, gateway)
        return CostCandidate(candidate.vendor.name, candidate.model_name, *capacity)

    def learn(self, plan: Plan, error: VendorRejected) -> bool:
        """Remember what a rejection shows about calling the candidate.

        Returns False if it shows nothing, or nothing that would change the plan.
        """
        if isinstance(error, WrongEndpoint):
            return self._learn_endpoint(plan.candidate, error.wants == "chat")
        asked_several = any((it.request.n or 1) > 1 for it in plan.sub_requests)
        if not asked_several or not _rejects_samples(error):
            return False
        _remember(self._single_sample, plan.candidate.key, True)
        return True

    def _learn_endpoint(self, candidate: Candidate, is_chat: bool) -> bool:
        family = self._families[candidate.vendor.gateway]
        if (family.chat if is_chat else family.native) is None:
            return False
        _remember(self._chat_models, candidate.key, is_chat)
        return True

    def _capacity(self, candidate: Candidate, gateway: Gateway) -> tuple[bool, int]:
        """Return whether a call accepts several prompts, and its maximum of samples per prompt."""
        vendor, single = candidate.vendor, candidate.key in self._single_sample
        list_prompts = vendor.list_prompts and gateway.list_prompts
        return list_prompts, 1 if single else min(vendor.max_n, gateway.max_n)

    def _gateway(self, candidate: Candidate) -> tuple[Gateway, bool]:
        family = self._families[candidate.vendor.gateway]
        is_chat = self._chat_models.get(candidate.key)
        if is_chat is None:
            native = any(fnmatchcase(candidate.model_name, g) for g in candidate.vendor.native)
            is_chat = not native
        gateway = (family.chat if is_chat else family.native) or family.native or family.chat
        if gateway is None:
            raise RuntimeError("a family without a gateway")
        return gateway, gateway is family.chat


def _remember(known: dict[tuple[str, str], bool], key: tuple[str, str], value: bool) -> None:
    if len(known) >= REMEMBERED_LIMIT:
        known.clear()
    known[key] = value


#: How vendors name `n` when they reject several samples per call: also as Google's candidates.
_SAMPLES = re.compile(
    r"candidate_?count|(?:one|single|multiple) candidates?"
    r"|[`'\"]n[`'\"]|\bn\b ?(?:must|should|>|=|is|has)",
    re.IGNORECASE,
)


def _rejects_samples(error: VendorRejected) -> bool:
    """Whether the vendor rejects several samples per call."""
    return error.vendor_status in (400, 422) and (
        error.param == "n" or _SAMPLES.search(error.message) is not None
    )


def _without_prompt_logprobs(
    vendor: Vendor, request: CompletionRequest
) -> tuple[CompletionRequest, tuple[str, ...]]:
    """Return a chat request without `logprobs` if it has an `echo`: chat has none for the prompt.

    Raises: UnsupportedParameter, unless the vendor entry sets `drop_unsupported`.
    """
    if not request.echo or request.logprobs is None:
        return request, ()
    if not vendor.drop_unsupported:
        raise UnsupportedParameter(
            f"`{vendor.name}/{request.model_name}` does not support `logprobs` with `echo`: it has "
            "none for the prompt. Leave one of them out.",
            param="logprobs",
        )
    return dataclasses.replace(request, logprobs=None), ("logprobs",)


def is_pattern(model_name: str) -> bool:
    """Whether this is a pattern for several models, as in the list of models.

    A query after a name, as in the sandbox's `echo?words=3`, is part of the name.
    """
    return _PATTERN.search(model_name) is not None


_PATTERN = re.compile(r"\*|\?(?!\w+=)")


def _check_text(vendor: Vendor, request: CompletionRequest) -> None:
    if not all(isinstance(prompt, str) for prompt in request.prompts):
        raise UnsupportedParameter(
            f"`{vendor.name}/{request.model_name}` accepts only text as `prompt`, not token ids.",
            param="prompt",
        )
