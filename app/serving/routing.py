"""Which vendor entry, and which of its two endpoints, answers a request."""

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

#: Models whose endpoint was learnt; more than any vendor has.
LEARNT_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """One vendor entry, and what it calls the model."""

    vendor: Vendor
    model_name: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from every other one."""
        return self.vendor.name, self.model_name


@dataclass(frozen=True, slots=True)
class Plan:
    """How a deployment would answer a request: its gateway, the calls, and the first one encoded.

    The others are encoded when their turn comes: a prompt may have megabytes, and 128 samples.
    `dropped` are the parameters that the vendor does not get, though the caller set them.
    """

    deployment: Candidate
    gateway: Gateway
    is_chat: bool
    parts: tuple[SubRequest, ...]
    first: VendorRequest
    dropped: tuple[str, ...]

    @property
    def vendor(self) -> Vendor:
        """The vendor entry to call."""
        return self.deployment.vendor

    def encoded(self, part: SubRequest) -> VendorRequest:
        """Return the vendor's request for a part; parts that ask for the same share one."""
        if part.request == self.parts[0].request:
            return self.first
        return self.gateway.encode(self.vendor, part.request)


class Router:
    """Finds deployments, and remembers what their refusals have taught.

    That is which endpoint a model turned out to be on, and that it gives one sample at a time.
    """

    def __init__(self, vendors: VendorTable, families: Mapping[str, Family]) -> None:
        self._vendors = vendors
        self._families = families
        self._learnt: dict[tuple[str, str], bool] = {}
        self._single: dict[tuple[str, str], bool] = {}

    def deployments(self, request: CompletionRequest) -> list[Candidate]:
        """Return the deployment asked for, then its fallbacks that are configured.

        Raises: ModelNotFound.
        """
        vendor = self._vendors.find(request.vendor)
        if is_pattern(request.model_name):
            raise ModelNotFound(
                f"`{request.model[:64]}` stands for many models; name one of them.", param="model"
            )
        found = [Candidate(vendor, request.model_name)]
        for fallback in vendor.fallbacks:
            name, _, model = fallback.partition("/")
            try:
                found.append(Candidate(self._vendors.find(name), model or request.model_name))
            except ModelNotFound:
                continue  # in the table, but without its key here
        return found

    def plan(self, deployment: Candidate, request: CompletionRequest) -> Plan:
        """Return how `deployment` would answer.

        Raises: InvalidRequest for what it cannot honour.
        """
        vendor = deployment.vendor
        gateway, is_chat = self._gateway(deployment)
        asked, model = request, f"{vendor.name}/{deployment.model_name}"
        dropped: tuple[str, ...] = ()
        if asked.model != model:
            asked = dataclasses.replace(asked, model=model)
        if is_chat:
            _check_text(vendor, asked)
            asked, dropped = _without_scores(vendor, asked)
            if asked.echo is not None:  # ours to do: see app.serving.fan_out.Echo
                asked = dataclasses.replace(asked, echo=None)
        list_prompts, max_n = self._takes(deployment, gateway)
        parts = split(asked, list_prompts=list_prompts, max_n=max_n)
        first = gateway.encode(vendor, parts[0].request)
        dropped = (*dropped, *first.dropped)
        return Plan(deployment, gateway, is_chat, tuple(parts), first, dropped)

    def candidate(self, deployment: Candidate) -> CostCandidate:
        """Return what a budget must know of a deployment that may answer."""
        gateway, _ = self._gateway(deployment)
        name = deployment.vendor.name
        return CostCandidate(name, deployment.model_name, *self._takes(deployment, gateway))

    def learn(self, plan: Plan, error: VendorRejected) -> bool:
        """Remember what a refusal says of how a deployment is to be asked.

        False where it says nothing, or nothing that we could do.
        """
        if isinstance(error, WrongEndpoint):
            return self._learn_endpoint(plan.deployment, error.wants == "chat")
        asked_several = any((part.request.n or 1) > 1 for part in plan.parts)
        if not asked_several or not _refuses_samples(error):
            return False
        _remember(self._single, plan.deployment.key, True)
        return True

    def _learn_endpoint(self, deployment: Candidate, is_chat: bool) -> bool:
        family = self._families[deployment.vendor.gateway]
        if (family.chat if is_chat else family.native) is None:
            return False
        _remember(self._learnt, deployment.key, is_chat)
        return True

    def _takes(self, deployment: Candidate, gateway: Gateway) -> tuple[bool, int]:
        """Return whether one call takes several prompts, and how many samples it gives of each."""
        vendor, single = deployment.vendor, deployment.key in self._single
        list_prompts = vendor.list_prompts and gateway.list_prompts
        return list_prompts, 1 if single else min(vendor.max_n, gateway.max_n)

    def _gateway(self, deployment: Candidate) -> tuple[Gateway, bool]:
        family = self._families[deployment.vendor.gateway]
        is_chat = self._learnt.get(deployment.key)
        if is_chat is None:
            native = any(fnmatchcase(deployment.model_name, g) for g in deployment.vendor.native)
            is_chat = not native
        gateway = (family.chat if is_chat else family.native) or family.native or family.chat
        if gateway is None:
            raise RuntimeError("a family without a gateway")
        return gateway, gateway is family.chat


def _remember(known: dict[tuple[str, str], bool], key: tuple[str, str], value: bool) -> None:
    if len(known) >= LEARNT_LIMIT:
        known.clear()
    known[key] = value


#: How vendors refuse several samples at once: Google's candidates, and `n` by its name.
_SAMPLES = re.compile(
    r"candidate_?count|(?:one|single|multiple) candidates?"
    r"|[`'\"]n[`'\"]|\bn\b ?(?:must|should|>|=|is|has)",
    re.IGNORECASE,
)


def _refuses_samples(error: VendorRejected) -> bool:
    """Whether a refusal is of several samples in one call."""
    return error.vendor_status in (400, 422) and (
        error.param == "n" or _SAMPLES.search(error.message) is not None
    )


def _without_scores(
    vendor: Vendor, request: CompletionRequest
) -> tuple[CompletionRequest, tuple[str, ...]]:
    """Return a chat request without log probabilities of an echo, which chat cannot give.

    Raises: UnsupportedParameter, unless the vendor's entry drops what it cannot honour.
    """
    if not request.echo or request.logprobs is None:
        return request, ()
    if not vendor.drop_unsupported:
        raise UnsupportedParameter(
            f"`{vendor.name}/{request.model_name}` has no `logprobs` for the prompt that `echo` "
            "puts before its answer.",
            param="logprobs",
        )
    return dataclasses.replace(request, logprobs=None), ("logprobs",)


def is_pattern(model_name: str) -> bool:
    """Whether this is no model's name but what stands for several, as in the list of models.

    A query after a name, as the sandbox takes one (`echo?words=3`), is part of it.
    """
    return _PATTERN.search(model_name) is not None


_PATTERN = re.compile(r"\*|\?(?!\w+=)")


def _check_text(vendor: Vendor, request: CompletionRequest) -> None:
    if not all(isinstance(prompt, str) for prompt in request.prompts):
        raise UnsupportedParameter(
            f"`{vendor.name}/{request.model_name}` takes text as `prompt`, no token ids.",
            param="prompt",
        )
