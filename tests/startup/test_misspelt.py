"""A misspelt setting has no effect, and is named; other variables are somebody else's."""

import re

import pytest

from app.settings import ROOT
from app.startup.misspelt import SETTINGS, SHARED, misspelt


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TOLLGATE_SPOL_DIR", "TOLLGATE_SPOOL_DIR"),
        ("TOLLGATE_PRICE", "TOLLGATE_PRICES"),
        ("TOLLGATE_GRACE", "TOLLGATE_GRACE_S"),
        ("TOLLGATE_LOGFORMAT", "TOLLGATE_LOG_FORMAT"),
        ("tollgate_prices", "TOLLGATE_PRICES"),
        ("REDIS_ULR", "REDIS_URL"),
        ("REDIS_URI", "REDIS_URL"),
        ("DATABSE_URL", "DATABASE_URL"),
        ("WEB_CONCURENCY", "WEB_CONCURRENCY"),
    ],
)
def test_a_misspelt_setting_is_a_warning(name: str, meant: str) -> None:
    others = dict.fromkeys(SHARED - {meant}, "y")
    (found,) = misspelt({name: "x", **others})
    assert (found.subject, found.state) == (name, "warning")
    assert found.message == f"is not a setting, so it has no effect: is {meant} meant?"


def test_a_name_of_another_tool_is_no_mistake_beside_the_setting() -> None:
    others = ["REDIS_URI", "DATABASE_URI", "DATABASE_URL_TEST", "REDIS_HOST", "REDIS_TLS_URL"]
    assert list(misspelt(dict.fromkeys([*others, *SHARED], "x"))) == []


def test_what_kubernetes_sets_for_services_is_not() -> None:
    names = ["TOLLGATE_PORT", "TOLLGATE_SERVICE_HOST", "TOLLGATE_PORT_8000_TCP_ADDR"]
    others = ["TOLLGATE_REDIS_PORT", "TOLLGATE_REDIS_SERVICE_HOST", "TOLL_SPOOL_DIR"]
    assert list(misspelt(dict.fromkeys([*names, *others, *SETTINGS, *SHARED], "x"))) == []


def test_the_settings_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(TOLLGATE_[A-Z_]+)`", page)) == SETTINGS
