"""The contract, for every vendor entry: callers get the same, whatever the vendor's format.

A new vendor adds an entry and a format, and no test here.
"""

import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import openai
import pytest
import requests
from openai import OpenAI

from tests.contract.table import KEY, OVERLAYS, PATIENT, rows, serving
from tests.support.gateway import Gateway, sse_events, text_of
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.support.vendor import CUT, Reply, SimulatedVendor
from tests.support.vendors import WIRES
from tests.support.vendors.base import Kind, Said, Wire

SAID = Said()


@dataclasses.dataclass
class Contract:
    """One vendor entry under test: the gateway, the vendor, and its format."""

    gateway: Gateway
    vendor: SimulatedVendor
    wire: Wire
    model: str

    def says(self, said: Said = SAID, *, packet: int | None = None) -> None:
        """Script the vendor's response to every request that it would accept."""

        def answer(asked: Any) -> Reply:
            reply = self.wire.check(asked) or self.wire.answer(asked, said)
            reply.packet = packet
            return reply

        self.vendor.default = answer

    def unsupported(self, kind: Kind, retry_after: str | None = None) -> None:
        """Script an error of the vendor."""
        self.vendor.default = lambda asked: self.wire.refuse(asked, kind, retry_after)

    def ask(self, **more: Any) -> dict[str, Any]:
        """Return a request for this entry's model."""
        return {"model": self.model, "prompt": "one prompt", "max_tokens": 20, **more}

    @property
    def client(self) -> OpenAI:
        """The official client."""
        return OpenAI(
            base_url=self.gateway.base_url,
            api_key=self.gateway.api_key,
            max_retries=0,
            timeout=30,
        )


HASTY = "{first_token_s = 0.4, idle_s = 0.4, total_s = 0.8}"


@pytest.fixture(scope="module")
def patient(
    tmp_path_factory: pytest.TempPathFactory, valkey: Valkey
) -> Iterator[tuple[Gateway, SimulatedVendor]]:
    """A gateway with deadlines longer than any test."""
    with serving(tmp_path_factory.mktemp("patient"), valkey.url, PATIENT, OVERLAYS) as served:
        yield served


@pytest.fixture(scope="module")
def hasty(
    tmp_path_factory: pytest.TempPathFactory, valkey: Valkey
) -> Iterator[tuple[Gateway, SimulatedVendor]]:
    """A gateway with short deadlines."""
    with serving(tmp_path_factory.mktemp("hasty"), valkey.url, HASTY, OVERLAYS) as served:
        yield served


def _contract(row: str, served: tuple[Gateway, SimulatedVendor]) -> Contract:
    gateway, vendor = served
    gateway.redis.flushall()
    wire = WIRES[row]
    vendor.asked.clear()
    vendor.hang_ups.clear()
    return Contract(gateway, vendor, wire, f"{row.partition(':')[0]}/{getattr(wire, 'model', 'm')}")


@pytest.fixture(params=sorted(WIRES))
def contract(request: pytest.FixtureRequest, patient: tuple[Gateway, SimulatedVendor]) -> Contract:
    """Each entry in turn; Redis is empty."""
    return _contract(request.param, patient)


@pytest.fixture(params=sorted(WIRES))
def impatient(request: pytest.FixtureRequest, hasty: tuple[Gateway, SimulatedVendor]) -> Contract:
    """The same, with short deadlines."""
    return _contract(request.param, hasty)


def test_every_row_has_a_wire_that_is_tested() -> None:
    tested = {name.partition(":")[0] for name in WIRES}
    assert tested == {row.name for row in rows()} - {"sandbox"}


def check_event(contract: Contract, calls: int = 1) -> None:
    """Check that the only event has the vendor's counts, summed over its calls' prompts."""
    event = contract.gateway.event()
    assert (event.status, event.source) == ("completed", "vendor")
    assert event.prompt_tokens == calls * SAID.prompt_tokens
    assert event.completion_tokens == calls * SAID.completion_tokens
    assert event.total_tokens == event.prompt_tokens + event.completion_tokens


def test_a_prompt_is_answered(contract: Contract) -> None:
    contract.says()
    response = contract.gateway.post(contract.ask())
    assert response.status_code == 200, response.text
    body = response.json()
    assert body["object"] == "text_completion"
    assert [(c["index"], c["text"], c["finish_reason"]) for c in body["choices"]] == [
        (0, SAID.text, "stop")
    ]
    assert body["usage"]["total_tokens"] == SAID.prompt_tokens + SAID.completion_tokens
    check_event(contract)


def test_a_list_of_prompts_is_answered_in_order(contract: Contract) -> None:
    contract.says()
    body = contract.gateway.post(contract.ask(prompt=["one", "two"])).json()
    assert [(c["index"], c["text"]) for c in body["choices"]] == [(0, SAID.text), (1, SAID.text)]
    check_event(contract, calls=2)


@pytest.mark.parametrize("stream", [False, True])
def test_two_samples_are_two_choices(contract: Contract, stream: bool) -> None:
    contract.says()
    response = contract.gateway.post(contract.ask(n=2, stream=stream))
    assert response.status_code == 200, response.text
    if stream:
        events = sse_events(response)
        assert [text_of(events, index) for index in range(2)] == [SAID.text] * 2
    else:
        choices = response.json()["choices"]
        assert [(c["index"], c["text"]) for c in choices] == [(0, SAID.text), (1, SAID.text)]
    event = contract.gateway.event()
    assert event.source == "vendor"
    assert event.completion_tokens == 2 * SAID.completion_tokens


@pytest.mark.parametrize("include_usage", [False, True])
@pytest.mark.parametrize("packet", [None, 1])
def test_a_stream_is_answered(contract: Contract, include_usage: bool, packet: int | None) -> None:
    contract.says(packet=packet)
    options = {"stream_options": {"include_usage": True}} if include_usage else {}
    response = contract.gateway.post(contract.ask(stream=True, **options))
    assert response.status_code == 200, response.text
    events = sse_events(response)
    assert text_of(events) == SAID.text
    assert events[-1] == ("done", "[DONE]")
    bodies = [body for name, body in events if name is None]
    finishes = [c["finish_reason"] for body in bodies for c in body["choices"]]
    assert [reason for reason in finishes if reason] == ["stop"]
    usages = [body["usage"]["total_tokens"] for body in bodies if body.get("usage")]
    total = SAID.prompt_tokens + SAID.completion_tokens
    assert usages == ([total] if include_usage else [])
    check_event(contract)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_an_answer_may_end_early(contract: Contract, stream: bool, finish: Any) -> None:
    if finish not in getattr(contract.wire, "finishes", ("length", "content_filter")):
        pytest.skip(f"this vendor has no word for {finish}")
    contract.says(dataclasses.replace(SAID, finish=finish))
    response = contract.gateway.post(contract.ask(stream=stream))
    assert response.status_code == 200, response.text
    if stream:
        bodies = [body for name, body in sse_events(response) if name is None]
        reasons = [c["finish_reason"] for body in bodies for c in body["choices"]]
        assert [reason for reason in reasons if reason] == [finish]
    else:
        assert response.json()["choices"][0]["finish_reason"] == finish
    check_event(contract)


REFUSALS: list[tuple[Kind, type[openai.APIStatusError], int, str | None]] = [
    ("too_long", openai.BadRequestError, 400, None),
    ("bad_key", openai.InternalServerError, 502, "vendor_authentication"),
    ("rate_limited", openai.RateLimitError, 429, "vendor_rate_limited"),
    ("server_error", openai.InternalServerError, 502, "vendor_failed"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("kind", "error", "status", "code"), REFUSALS)
def test_a_refusal_has_its_meaning(
    contract: Contract,
    kind: Kind,
    error: type[openai.APIStatusError],
    status: int,
    code: str | None,
    stream: bool,
) -> None:
    contract.unsupported(kind)
    with pytest.raises(error) as caught:
        list(contract.client.completions.create(**contract.ask(stream=stream)))
    assert caught.value.status_code == status
    if code:
        assert caught.value.code == code
    assert KEY not in caught.value.response.text
    event = contract.gateway.event()
    assert (event.status, event.source, event.total_tokens) == ("failed", "none", 0)


def test_a_limit_passes_its_retry_after_on(contract: Contract) -> None:
    contract.unsupported("rate_limited", retry_after="7")
    with pytest.raises(openai.RateLimitError) as caught:
        contract.client.completions.create(**contract.ask())
    assert caught.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("stream", [False, True])
def test_a_vendor_that_hangs_meets_its_deadline(impatient: Contract, stream: bool) -> None:
    impatient.vendor.default = lambda _: Reply([threading.Event()])
    with pytest.raises(openai.InternalServerError) as caught:
        list(impatient.client.completions.create(**impatient.ask(stream=stream)))
    assert (caught.value.status_code, caught.value.code) == (504, "vendor_timeout")
    event = impatient.gateway.event()
    assert (event.status, event.source, event.completion_tokens) == ("failed", "estimated", 0)


def test_keep_alives_are_no_life(impatient: Contract) -> None:
    if not impatient.wire.keep_alive:
        pytest.skip("this wire has no keep-alives")

    def only_alive(asked: Any) -> Reply:
        reply = impatient.wire.answer(asked, SAID)
        reply.body = [impatient.wire.keep_alive, 0.05] * 100
        return reply

    impatient.vendor.default = only_alive
    with pytest.raises(openai.InternalServerError) as caught:
        list(impatient.client.completions.create(**impatient.ask(stream=True)))
    assert caught.value.code == "vendor_timeout"
    assert impatient.gateway.event().status == "failed"


def test_keep_alives_between_chunks_are_not_heard_by_the_caller(contract: Contract) -> None:
    if not contract.wire.keep_alive:
        pytest.skip("this wire has no keep-alives")

    def alive(asked: Any) -> Reply:
        reply = contract.wire.answer(asked, SAID)
        reply.body = [step for chunk in reply.body for step in (contract.wire.keep_alive, chunk)]
        return reply

    contract.vendor.default = alive
    assert text_of(sse_events(contract.gateway.post(contract.ask(stream=True)))) == SAID.text
    check_event(contract)


def test_a_stream_cut_in_a_frame_is_never_whole(contract: Contract) -> None:
    def cut(asked: Any) -> Reply:
        reply = contract.wire.answer(asked, SAID)
        whole = b"".join(step for step in reply.body if isinstance(step, bytes))
        first = next(step for step in reply.body if isinstance(step, bytes))
        reply.body = [whole[: max(len(first) + 3, len(whole) * 3 // 5)], CUT]
        return reply

    contract.vendor.default = cut
    with pytest.raises(openai.APIError):
        list(contract.client.completions.create(**contract.ask(stream=True)))
    event = contract.gateway.event()
    assert event.status in ("truncated", "failed")
    assert event.prompt_tokens > 0


def test_a_caller_that_hangs_up_ends_the_call(contract: Contract) -> None:
    def slow(asked: Any) -> Reply:
        reply = contract.wire.answer(asked, dataclasses.replace(SAID, text="word " * 400))
        reply.body = [step for chunk in reply.body for step in (chunk, 0.01)]
        return reply

    contract.vendor.default = slow
    with requests.post(
        f"{contract.gateway.base_url}/completions",
        json=contract.ask(stream=True),
        headers={"x-api-key": contract.gateway.api_key},
        stream=True,
        timeout=30,
    ) as response:
        next(response.iter_content(10))
    wait_until(lambda: contract.vendor.hang_ups)
    event = contract.gateway.event()
    assert event.status == "disconnected"
    assert event.prompt_tokens > 0
