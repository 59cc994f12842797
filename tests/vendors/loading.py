"""Loads the vendor table with an overlay, and lists what is wrong with it."""

from collections.abc import Callable

import pytest

from app.settings import ConfigError
from app.vendors.table import VendorTable

Load = Callable[..., VendorTable]

ENV = {"OPENAI_API_KEY": "sk-ours", "VLLM_BASE_URL": "http://vllm_1:8000/v1/"}


def wrong(load: Load, overlay: str, **env: str) -> list[str]:
    """Return the problems of an overlay, line by line."""
    with pytest.raises(ConfigError) as caught:
        load(overlay, **env)
    return str(caught.value).splitlines()
