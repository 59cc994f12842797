"""Words, lists of words, short texts and metadata."""

from typing import Any

import pytest

from app.api.schemas.chat.fields import LaterField
from tests.api.schemas.chat.loading import load, problem

TYPE, VALUE = "invalid_type", "invalid_value"


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"verbosity": 1}, ("verbosity", TYPE)),
        ({"prompt_cache_retention": "1h"}, ("prompt_cache_retention", VALUE)),
        ({"modalities": "text"}, ("modalities", TYPE)),
        ({"modalities": ["text", "video"]}, ("modalities[1]", VALUE)),
        ({"modalities": [["text"]]}, ("modalities[0]", VALUE)),
        ({"modalities": ["text"] * 4}, ("modalities", VALUE)),
        ({"prompt_cache_key": 1}, ("prompt_cache_key", TYPE)),
        ({"service_tier": "x" * 65}, ("service_tier", VALUE)),
        ({"metadata": []}, ("metadata", TYPE)),
        ({"metadata": {"a": 1}}, ("metadata.a", TYPE)),
        ({"metadata": {"a": None}}, ("metadata.a", TYPE)),
        ({"metadata": {"a": "x" * 513}}, ("metadata.a", VALUE)),
        ({"metadata": {"k" * 65: "x"}}, ("metadata", VALUE)),
        ({"metadata": {str(at): "x" for at in range(17)}}, ("metadata", VALUE)),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], wrong: tuple[str, str]) -> None:
    assert problem(**fields) == wrong


def test_metadata_may_be_as_long_as_the_contract_says() -> None:
    pairs = {f"{at:064}": "x" * 512 for at in range(16)}
    assert load(metadata=pairs).options["metadata"] == pairs


def test_an_empty_list_of_words_is_none() -> None:
    assert "modalities" not in load(modalities=[]).options
    assert load(modalities=["image"]).options["modalities"] == ["image"]


def test_a_value_that_is_read_later_describes_itself() -> None:
    field = LaterField(lambda: {"type": "object"})
    assert field.json_schema() == {"type": "object"}
    assert field.deserialize({"a": 1}) == {"a": 1}
    assert field.deserialize(None) is None
