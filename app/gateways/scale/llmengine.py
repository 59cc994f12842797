"""LLM Engine's first completions API, for every framework; its second one is OpenAI's.

Source: scaleapi/llm-engine, common/dtos/llms/completion.py and api/llms_v1.py; docs/vendors.md.
"""

import time
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from marshmallow.fields import Field

from app.formats import strict_json
from app.gateways.base import single_prompt
from app.gateways.decoding import failures
from app.gateways.decoding.counts import put_together
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.error_bodies import error_in
from app.gateways.decoding.logprobs import LogprobsReader, TokenLogprob
from app.gateways.decoding.parsing import failed, number, plain_mapping, whole
from app.gateways.decoding.reader import ResponseReader
from app.gateways.openai.completions import OpenAIGateway, is_streamed, json_headers
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.gateways.stops import as_list
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, FinishReason, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.request import GenerationRequest
from app.vocabulary.vendor_request import VendorRequest

#: Required fields, with the defaults of the public contract.
REQUIRED: Mapping[str, Any] = {"max_new_tokens": 16, "temperature": 1.0}

#: The caller's parameter -> the vendor's name for it.
NAMES: Mapping[str, str] = {
    "frequency_penalty": "frequency_penalty",
    "max_tokens": "max_new_tokens",
    "presence_penalty": "presence_penalty",
    "temperature": "temperature",
    "top_p": "top_p",
}


class LLMEngineV1Gateway:
    """One prompt and one sample per call; the model's name is an endpoint's name.

    `logprobs` covers only the sampled tokens, so it must request no alternatives.
    """

    unsupported: ClassVar[frozenset[str]] = frozenset(
        {"best_of", "echo", "logit_bias", "seed", "suffix", "user"}
    )
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, Field[Any]]] = {"streams": OpenAIGateway.quirks["streams"]}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        check_prompt(vendor, request)
        check_extra(vendor, request)
        alternatives = {"logprobs"} if request.logprobs else set()
        parameters, dropped = supported(vendor, request, self.unsupported | alternatives)
        _check_ranges(vendor, request)
        body: dict[str, Any] = {"prompt": single_prompt(request), **REQUIRED}
        body |= {theirs: parameters[name] for name, theirs in NAMES.items() if name in parameters}
        if stops := as_list(parameters.get("stop")):
            body["stop_sequences"] = stops
        if "logprobs" in parameters:
            body["return_token_log_probs"] = True
        kind = "stream" if is_streamed(vendor, request) else "sync"
        query = urlencode({"model_endpoint_name": request.model_name})
        url = f"{vendor.base_url}/llm/completions-{kind}?{query}"
        return VendorRequest(url, json_headers(vendor, request), strict_json.dump(body), dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(LLMEngineV1Decoder(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        return failures.from_response(vendor, status, headers, body)


class LLMEngineV1Decoder(Decoder):
    """Decodes responses and events of the first API."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._created = int(time.time())
        self._logprobs = LogprobsReader()

    def read(self, payload: Any) -> Completion | None:
        """Decode an event; one without output is a sign of life."""
        answer = self._answer(payload)
        output = answer.get("output")
        if not isinstance(output, dict):
            return self._completion(answer)
        finish = _finish(self.request, output) if output.get("finished") is True else None
        return self._completion(answer, self._choice(output, finish, [output.get("token")]))

    def read_whole(self, payload: Any) -> Completion:
        """Decode a whole response; its finish reason follows from its length."""
        answer = self._answer(payload)
        output = answer.get("output")
        if not isinstance(output, dict):
            raise failed(self.vendor, "sent a response without output")
        choice = self._choice(output, _finish(self.request, output), output.get("tokens"))
        return self._completion(answer, choice)

    def usage(self, payload: Any) -> Usage | None:
        output = plain_mapping(plain_mapping(payload).get("output"))
        prompt, generated = (whole(output.get(f"num_{n}_tokens")) for n in ("prompt", "completion"))
        return put_together(self.vendor.name, prompt, generated, None)

    def _answer(self, payload: Any) -> Mapping[str, Any]:
        error = error_in(payload)
        if error is not None:
            raise self.failure(failures.detail_of(error))
        if not isinstance(payload, dict):
            raise failed(self.vendor, "sent a malformed response")
        return payload

    def _choice(
        self, output: Mapping[str, Any], finish: FinishReason | None, tokens: Any
    ) -> Choice:
        found = _tokens(tokens)
        logprobs = self._logprobs.read(0, found) if found else None
        return Choice(0, _text(self.vendor, output), finish, logprobs)

    def _completion(self, answer: Mapping[str, Any], *choices: Choice) -> Completion:
        request_id = answer.get("request_id")
        return Completion(
            id=request_id if isinstance(request_id, str) else "",
            created=self._created,
            model=self.request.model_name,
            choices=choices,
            usage=self.usage(answer),
        )


def _finish(request: GenerationRequest, output: Mapping[str, Any]) -> FinishReason:
    """Return the finish reason, which the vendor does not send: "length" at the limit."""
    limit = REQUIRED["max_new_tokens"] if request.max_tokens is None else request.max_tokens
    return "length" if (whole(output.get("num_completion_tokens")) or 0) >= limit else "stop"


def _text(vendor: Vendor, output: Mapping[str, Any]) -> str:
    text = output.get("text")
    if not isinstance(text, str):
        raise failed(vendor, "sent output without text")
    return text


def _tokens(value: Any) -> list[TokenLogprob]:
    """Return the tokens with log probabilities; [] if the vendor sent none."""
    found = [t for t in value if isinstance(t, dict)] if isinstance(value, list) else []
    return [
        TokenLogprob(token["token"], number(token.get("log_prob")))
        for token in found
        if isinstance(token.get("token"), str)
    ]


def _check_ranges(vendor: Vendor, request: CompletionRequest) -> None:
    check_range(vendor, request, "temperature", 0, 1)
    for name in ("frequency_penalty", "presence_penalty"):
        check_range(vendor, request, name, 0, 2)
