"""The table of all gateways, and what the vendor table learns from it."""

import pytest

from app.gateways.families import GATEWAY_SPECS, GATEWAYS
from app.vocabulary.chat.parameters import ALL_PARAMETERS


@pytest.mark.parametrize("name", GATEWAYS)
def test_a_family_has_a_gateway_and_its_traits_are_valid(name: str) -> None:
    family = GATEWAYS[name]
    gateways = [gateway for gateway in (family.native, family.chat) if gateway is not None]
    assert gateways
    for gateway in gateways:
        assert gateway.unsupported <= set(ALL_PARAMETERS)
        assert gateway.max_n >= 1


@pytest.mark.parametrize("name", GATEWAYS)
def test_an_entry_may_have_the_quirks_of_either_gateway(name: str) -> None:
    family, spec = GATEWAYS[name], GATEWAY_SPECS[name]
    for gateway in (family.native, family.chat):
        assert gateway is None or gateway.quirks.keys() <= spec.quirks.keys()
    assert spec.takes_prompts == (family.native is not None)
