"""What a chat completion used: one event, as of a text completion, which names its endpoint."""

from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.pricing.price_book import PriceBook, load_prices
from app.usage.messages.event import UsageEvent
from tests.support.gateway import Gateway
from tests.support.vendor import DONE, SimulatedVendor, json_reply, stream_reply, usage_of

ASKED: dict[str, Any] = {
    "model": "sim/m",
    "messages": [{"role": "user", "content": "Draw a cat."}],
}
USAGE = usage_of(
    10,
    1_320,
    prompt_tokens_details={"image_tokens": 4},
    completion_tokens_details={"image_tokens": 1_120, "reasoning_tokens": 200},
)
ROW = '[[prices]]\nmodel = "sim/m"\ninput = 2\noutput = 12\n'


def chunk(*choices: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "c", "object": "chat.completion.chunk", "choices": list(choices), **fields}


def whole() -> dict[str, Any]:
    message = {"role": "assistant", "content": "Meow"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "choices": [choice], "usage": USAGE}


def posted(engine: Engine, book: PriceBook, event: UsageEvent) -> tuple[int | None, int]:
    """Return the cost of an event in nano-dollars, and how many requests are unpriced."""
    Ledger(engine, book).post([event])
    query = UsageQuery(0, 2**40, endpoints=frozenset({"chat.completions"}))
    (row,) = UsageReader(engine).rows(query)
    return row.known_cost_nanousd, row.unpriced_requests


def test_an_image_that_a_model_draws_has_its_own_price_streamed_or_not(
    gateway: Gateway, vendor: SimulatedVendor, engine: Engine, tmp_path: Path
) -> None:
    delta = {"index": 0, "delta": {"role": "assistant", "content": "Meow"}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    vendor.reply(json_reply(whole()))
    vendor.reply(stream_reply(chunk(delta), chunk(end), chunk(usage=USAGE), DONE))
    assert gateway.chat(ASKED).status_code == 200
    assert gateway.chat({**ASKED, "stream": True}).text
    path = tmp_path / "own.toml"
    for at, event in enumerate(gateway.events(2), 1):
        assert (event.endpoint, event.source) == ("chat.completions", "vendor")
        assert (event.image_prompt_tokens, event.image_completion_tokens) == (4, 1_120)
        path.write_text(f"{ROW}output_image = 120\n")
        assert posted(engine, load_prices(path), event) == (at * 136_820_000, 0)


def test_without_a_price_of_images_the_cost_is_unknown(
    gateway: Gateway, vendor: SimulatedVendor, engine: Engine, tmp_path: Path
) -> None:
    vendor.reply(json_reply(whole()))
    gateway.chat(ASKED)
    path = tmp_path / "own.toml"
    path.write_text(ROW)
    assert posted(engine, load_prices(path), gateway.event()) == (None, 1)


def test_the_endpoint_of_an_open_request_is_known(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    """If its process crashes, its event is made of the record."""
    records: list[Any] = []

    def look(_: Any) -> Any:
        records.extend(gateway.redis.hgetall("usage:open").values())
        return json_reply(whole())

    vendor.default = look
    gateway.chat(ASKED)
    gateway.post({"model": "sim/m", "prompt": "one"})
    assert [b'"endpoint":"chat.completions"' in it for it in records] == [True, False]
