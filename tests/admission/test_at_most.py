"""The most that a request may cost, at any vendor entry that may serve it."""

from pathlib import Path
from typing import Any

import pytest

from app.admission.at_most import UNBOUND_TOKENS, CostCandidate, cost_at_most
from app.api.schemas.chat.request import load_chat_request
from app.pricing.price_book import PriceBook, load_prices
from app.vocabulary.completion import CompletionRequest

#: Ten tokens by our estimate.
TEN = "x" * 40

ROWS = """
[unknown]
input = 7
output = 7
[[prices]]
model = "x/cheap"
input = 1
output = 1
[[prices]]
model = "x/dear"
input = 3
output = 5
[[prices]]
model = "x/dear"
service_tier = "priority"
input = 6
output = 6
[[prices]]
model = "x/free"
input = 0
output = 0
[[prices]]
model = "x/long"
input = [[0, 1], [100, 2]]
output = 0
"""


@pytest.fixture
def prices(tmp_path: Path) -> PriceBook:
    path = tmp_path / "own.toml"
    path.write_text(ROWS)
    return load_prices(path)


def cost(prices: PriceBook, *names: str, **changes: Any) -> int:
    """Return the cost in thousands of nano-dollars: a token at a dollar a million costs one."""
    asked: dict[str, Any] = {"model": "x/m", "prompt": TEN, "max_tokens": 10} | changes
    candidates = [CostCandidate("x", name) for name in names]
    return cost_at_most(CompletionRequest(**asked), candidates, prices) // 1000


def test_the_dearest_deployment_that_may_serve_counts(prices: PriceBook) -> None:
    assert cost(prices, "cheap") == 20
    assert cost(prices, "cheap", "dear") == cost(prices, "dear", "free") == 80
    assert cost(prices, "free") == 0


def test_an_unknown_price_counts_as_the_configured_one(prices: PriceBook) -> None:
    assert cost(prices, "alias") == cost(prices, "free", "alias") == 140
    assert cost(prices, "alias", "dear", max_tokens=0) == 70


def test_an_alias_may_be_served_by_the_dearest_model_that_its_vendor_has_a_price_for(
    tmp_path: Path,
) -> None:
    path = tmp_path / "dearer.toml"
    path.write_text(ROWS + '[[prices]]\nmodel = "x/real"\ninput = 9\noutput = 9\n')
    assert cost(load_prices(path), "alias") == 180
    assert cost(load_prices(path), "cheap") == 20
    request = CompletionRequest(model="y/m", prompt=TEN, max_tokens=10)
    assert cost_at_most(request, [CostCandidate("y", "m")], load_prices(path)) == 140_000


def test_the_shipped_prices_state_one() -> None:
    prices = load_prices()
    request = CompletionRequest(model="vllm/m", prompt=TEN, max_tokens=10)
    assert cost_at_most(request, [CostCandidate("vllm", "m")], prices) == 100_000 + 500_000


def test_a_requested_tier_may_be_more_expensive(prices: PriceBook) -> None:
    def in_tier(tier: object) -> int:
        return cost(prices, "dear", extra={"service_tier": tier})

    assert in_tier("priority") == 120
    assert in_tier("unheard of") == 140
    assert in_tier("default") == in_tier(None) == in_tier(5) == 80
    assert cost(prices, "cheap", extra={"service_tier": "flex"}) == 140  # it may be served as usual


@pytest.mark.parametrize(
    ("list_prompts", "max_n", "changes", "expected"),
    [
        (True, 128, {"prompt": [TEN, TEN], "n": 3}, 2 * 10 + 6 * 10),
        (False, 128, {"prompt": [TEN, TEN], "n": 3}, 2 * 10 + 6 * 10),
        (False, 1, {"prompt": [TEN, TEN], "n": 3}, 6 * (10 + 10)),  # each call bills its prompt
        (False, 2, {"n": 4}, 2 * (10 + 20)),
        (True, 128, {"n": 2, "best_of": 4}, 10 + 40),
        (True, 128, {"max_tokens": None}, 10 + UNBOUND_TOKENS),
        (True, 128, {"prompt": [1, 2, 3]}, 3 + 10),
    ],
)
def test_each_call_of_a_deployment_counts(
    prices: PriceBook, list_prompts: bool, max_n: int, changes: dict[str, Any], expected: int
) -> None:
    asked: dict[str, Any] = {"model": "x/m", "prompt": TEN, "max_tokens": 10} | changes
    candidate = CostCandidate("x", "cheap", list_prompts, max_n)
    assert cost_at_most(CompletionRequest(**asked), [candidate], prices) // 1000 == expected


def test_a_long_prompt_makes_its_own_call_dearer_and_no_other(prices: PriceBook) -> None:
    prompts = ["x" * 400] * 3  # each exactly at the threshold of 100 tokens
    request = CompletionRequest(model="x/m", prompt=prompts, max_tokens=1)
    apart = cost_at_most(request, [CostCandidate("x", "long", list_prompts=False)], prices)
    together = cost_at_most(request, [CostCandidate("x", "long")], prices)
    assert (apart // 1000, together // 1000) == (300, 600)


KINDS = """
[[prices]]
model = "x/draws"
input = 1
output = 2
output_image = 30
[[prices]]
model = "x/speaks"
input = 1
input_audio = 20
output = 2
output_audio = 40
[[prices]]
model = "x/sees"
input = 1
input_image = 3
output = 2
reasoning = 1
"""


@pytest.mark.parametrize(
    ("model", "text", "media"),
    [
        ("draws", 10 * 1 + 10 * 30, 1),
        ("speaks", 10 * 1 + 10 * 40, 20),
        ("sees", 10 * 1 + 10 * 2, 3),
    ],
)
def test_images_and_sounds_count_at_their_own_rates(
    tmp_path: Path, model: str, text: int, media: int
) -> None:
    """Before a call, it is unknown whether a model draws or speaks."""
    path = tmp_path / "kinds.toml"
    path.write_text(KINDS)
    prices = load_prices(path)
    assert cost(prices, model) == text
    image = {"type": "image_url", "image_url": {"url": "https://images.example/a.png"}}
    content = [{"type": "text", "text": TEN}, image]
    body = {"model": "x/m", "messages": [{"role": "user", "content": content}], "max_tokens": 10}
    request = load_chat_request(body)
    tokens = sum(it.media_tokens for it in request.inputs)
    assert tokens > 0
    found = cost_at_most(request, [CostCandidate("x", model)], prices)
    assert found // 1000 == text + tokens * media
