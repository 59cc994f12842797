"""Vendors' names of service tiers."""

import pytest

from app.pricing.service_tier import tier_of


@pytest.mark.parametrize(
    "name",
    [None, "", " ", "auto", "default", "standard", "standard_only", "on_demand", "ON_DEMAND"],
)
def test_a_standard_service_has_no_tier(name: str | None) -> None:
    assert tier_of(name) is None


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("flex", "flex"),
        (" Flex ", "flex"),
        ("on_demand_flex", "flex"),
        ("ON_DEMAND_PRIORITY", "priority"),
        ("batch", "batch"),
    ],
)
def test_names_of_the_same_tier_are_one(name: str, tier: str) -> None:
    assert tier_of(name) == tier


def test_an_unknown_name_is_a_tier_of_its_own() -> None:
    assert tier_of("Warp 9") == "warp 9"
