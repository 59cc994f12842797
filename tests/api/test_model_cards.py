"""What a model takes and costs, in the lists and by its id."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.api.model_cards import per_unit, pricing
from app.pricing.price import Price, complete_rates
from app.pricing.price_file import PriceFile
from app.settings import Settings
from tests.support.gateway import Gateway, running

MILLION = 10**9
ROWS = '[providers]\nspare = "openai"\n[[prices]]\nmodel = "sim/m"\ninput = 0.15\noutput = 0.6\n'


@pytest.fixture
def gateway(settings: Settings, tmp_path: Path) -> Iterator[Gateway]:
    """One whose vendor `spare` charges OpenAI's prices."""
    path = tmp_path / "own.toml"
    path.write_text(ROWS)
    assert PriceFile.read(path).rows
    with running(dataclasses.replace(settings, prices_file=path)) as gateway:
        yield gateway


def test_a_model_says_where_it_is_called_what_it_takes_and_what_it_costs(
    gateway: Gateway,
) -> None:
    body = gateway.get("/models/sim/m").json()
    assert set(body["endpoints"]) == {"/v5/completions", "/v5/chat/completions"}
    assert "suffix" in body["endpoints"]["/v5/completions"]
    assert "tools" in body["endpoints"]["/v5/chat/completions"]
    assert {"suffix", "tools"} <= set(body["supported_parameters"])
    assert body["pricing"]["prompt"] == "0.00000015"
    assert body["pricing"]["completion"] == "0.0000006"
    assert body["context_length"] is None


def test_context_and_price_are_known_of_a_known_vendors_model(gateway: Gateway) -> None:
    body = gateway.get("/models/spare/gpt-4o-mini-2024-07-18").json()
    assert body["context_length"] == 128_000
    assert body["pricing"]["prompt"] == "0.00000015"


def test_a_pattern_has_neither_and_still_says_what_it_takes(gateway: Gateway) -> None:
    listed = {it["id"]: it for it in gateway.get("/models").json()["data"]}
    for name in ("sim/*", "spare/*"):
        assert listed[name]["pricing"] is None
        assert listed[name]["context_length"] is None
        assert f"send `{name}` with its name" in listed[name]["description"]
        assert "tools" in listed[name]["supported_parameters"]
    assert "suffix" not in listed["picky/*"]["supported_parameters"]


def test_rates_are_dollars_a_token_and_those_of_long_prompts_follow() -> None:
    cheap = complete_rates({"input": 2 * MILLION, "output": 8 * MILLION})
    dear = complete_rates({"input": 4 * MILLION, "output": 8 * MILLION})
    shown = pricing(Price("m", ((-1, cheap), (200_000, dear))))
    assert shown is not None
    assert (shown["prompt"], shown["completion"]) == ("0.000002", "0.000008")
    assert "image_output" not in shown  # unknown
    (tier,) = shown["tiers"]
    assert (tier["above_prompt_tokens"], tier["prompt"]) == (200_000, "0.000004")
    assert pricing(None) is None


@pytest.mark.parametrize(
    ("nanousd", "text"),
    [(0, "0"), (150_000_000, "0.00000015"), (10_000 * MILLION, "0.01"), (1, "0.000000000000001")],
)
def test_a_rate_has_all_its_digits(nanousd: int, text: str) -> None:
    assert per_unit(nanousd) == text
