"""Mistral's fill-in-the-middle wire: a prompt and what follows it, answered as chat is.

Source: Mistral's FIMCompletionRequest; docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.gateways.base import single_prompt
from app.gateways.openai.chat import OpenAIChatGateway
from app.gateways.openai.completions import posted
from app.gateways.parameters import check_prompt, supported
from app.vendors.model_rules import MODELS, rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.vendor_request import VendorRequest


class FIMGateway(OpenAIChatGateway):
    """A prompt as it is, with or without a suffix; without one the model goes on from it."""

    unsupported: ClassVar[frozenset[str]] = frozenset(
        {
            "best_of",
            "echo",
            "frequency_penalty",
            "logit_bias",
            "logprobs",
            "presence_penalty",
            "user",
        }
    )
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, Field[Any]]] = {"models": MODELS}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, by the vendor's names."""
        check_prompt(vendor, request)
        rules = rules_of(vendor, request.model_name)
        parameters, dropped = supported(vendor, request, self.unsupported | rules.unsupported)
        body = {
            "model": request.model_name,
            "prompt": single_prompt(request),
            **rules.body(parameters),
            **request.extra,
        }
        return posted(vendor, request, "/fim/completions", body, dropped)
