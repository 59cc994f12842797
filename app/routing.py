"""Which vendor entry, and which of its two endpoints, answers a request."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from app.completion import CompletionRequest
from app.errors import ModelNotFound, UnsupportedParameter, WrongEndpoint
from app.gateways.base import Family, Gateway, Vendor, VendorRequest
from app.gateways.vendors import VendorTable
from app.parts import Part, split

#: Models whose endpoint was learnt; more than any vendor has.
LEARNT_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Deployment:
    """One vendor entry, and what it calls the model."""

    vendor: Vendor
    model_name: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from every other one."""
        return self.vendor.name, self.model_name


@dataclass(frozen=True, slots=True)
class Plan:
    """How a deployment would answer a request: its gateway, and each call with its encoding."""

    deployment: Deployment
    gateway: Gateway
    is_chat: bool
    parts: tuple[tuple[Part, VendorRequest], ...]

    @property
    def vendor(self) -> Vendor:
        """The vendor entry to call."""
        return self.deployment.vendor

    @property
    def dropped(self) -> tuple[str, ...]:
        """Parameters that the vendor does not get, though the caller set them."""
        return self.parts[0][1].dropped


class Router:
    """Finds deployments, and remembers which endpoint a model turned out to be on."""

    def __init__(self, vendors: VendorTable, families: Mapping[str, Family]) -> None:
        self._vendors = vendors
        self._families = families
        self._learnt: dict[tuple[str, str], bool] = {}

    def deployments(self, request: CompletionRequest) -> list[Deployment]:
        """Return the deployment asked for, then its fallbacks that are configured.

        Raises: ModelNotFound.
        """
        vendor = self._vendors.find(request.vendor)
        if is_pattern(request.model_name):
            raise ModelNotFound(
                f"`{request.model[:64]}` stands for many models; name one of them.", param="model"
            )
        found = [Deployment(vendor, request.model_name)]
        for fallback in vendor.fallbacks:
            name, _, model = fallback.partition("/")
            try:
                found.append(Deployment(self._vendors.find(name), model or request.model_name))
            except ModelNotFound:
                continue  # in the table, but without its key here
        return found

    def plan(self, deployment: Deployment, request: CompletionRequest) -> Plan:
        """Return how `deployment` would answer.

        Raises: InvalidRequest for what it cannot honour.
        """
        vendor = deployment.vendor
        gateway, is_chat = self._gateway(deployment)
        asked, model = request, f"{vendor.name}/{deployment.model_name}"
        if asked.model != model:
            asked = dataclasses.replace(asked, model=model)
        if is_chat:
            _check_text(vendor, asked)
            if asked.echo is not None:  # ours to do: see app.parts.Echo
                asked = dataclasses.replace(asked, echo=None)
        parts = split(
            asked,
            list_prompts=vendor.list_prompts and gateway.list_prompts,
            max_n=min(vendor.max_n, gateway.max_n),
        )
        return Plan(deployment, gateway, is_chat, _encoded(gateway, vendor, parts))

    def learn(self, deployment: Deployment, error: WrongEndpoint) -> bool:
        """Remember the endpoint that a vendor named; False where it has no such other one."""
        family, wants_chat = self._families[deployment.vendor.gateway], error.wants == "chat"
        if (family.chat if wants_chat else family.native) is None:
            return False
        if len(self._learnt) >= LEARNT_LIMIT:
            self._learnt.clear()
        self._learnt[deployment.key] = wants_chat
        return True

    def _gateway(self, deployment: Deployment) -> tuple[Gateway, bool]:
        family = self._families[deployment.vendor.gateway]
        is_chat = self._learnt.get(deployment.key)
        if is_chat is None:
            native = any(fnmatchcase(deployment.model_name, g) for g in deployment.vendor.native)
            is_chat = not native
        gateway = (family.chat if is_chat else family.native) or family.native or family.chat
        if gateway is None:
            raise RuntimeError("a family without a gateway")
        return gateway, gateway is family.chat


def _encoded(
    gateway: Gateway, vendor: Vendor, parts: Iterable[Part]
) -> tuple[tuple[Part, VendorRequest], ...]:
    """Return each part with its encoding; parts that ask for the same share one.

    128 samples of one prompt are 128 calls of some vendors, and a prompt may have megabytes.
    """
    encoded: list[tuple[Part, VendorRequest]] = []
    for part in parts:
        if encoded and encoded[-1][0].request == part.request:
            encoded.append((part, encoded[-1][1]))
        else:
            encoded.append((part, gateway.encode(vendor, part.request)))
    return tuple(encoded)


def is_pattern(model_name: str) -> bool:
    """Whether this is no model's name but what stands for several, as in the list of models."""
    return any(mark in model_name for mark in "*?[")


def _check_text(vendor: Vendor, request: CompletionRequest) -> None:
    if not all(isinstance(prompt, str) for prompt in request.prompts):
        raise UnsupportedParameter(
            f"`{vendor.name}/{request.model_name}` takes text as `prompt`, no token ids.",
            param="prompt",
        )
