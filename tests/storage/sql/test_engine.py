"""Engines by URL."""

import sys

import pytest

from app.settings import ConfigError
from app.storage.sql.engine import create_engine


@pytest.mark.parametrize(
    "url",
    ["", "nonsense", "mysql://u:s3cret@h/d", "sqlite://", "sqlite:///:memory:", "postgres://h"],
)
def test_an_invalid_url_is_rejected_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        create_engine(url)
    assert "s3cret" not in str(raised.value)


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match="psycopg"):
        create_engine("postgresql+psycopg://u:s3cret@h/d")
