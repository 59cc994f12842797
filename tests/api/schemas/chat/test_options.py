"""Options that are objects: every member with a meaning is checked."""

from typing import Any

import pytest

from tests.api.schemas.chat.loading import load, problem

MISSING, TYPE, VALUE = "missing_required_parameter", "invalid_type", "invalid_value"
PLACE = {"city": "Rome", "country": "IT", "region": None}


@pytest.mark.parametrize(
    "fields",
    [
        {"audio": {"format": "aac", "voice": {"id": "voice_1"}}},
        {"prediction": {"type": "content", "content": [{"type": "text", "text": "x"}]}},
        {"moderation": {"model": "m", "policy": {"input": {"mode": "block"}, "output": None}}},
        {"prompt_cache_options": {}},
        {
            "web_search_options": {
                "search_context_size": "low",
                "user_location": {"type": "approximate", "approximate": PLACE},
            }
        },
    ],
)
def test_a_good_one_is_kept_as_it_is(fields: dict[str, Any]) -> None:
    assert dict(load(**fields).options) == fields


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"audio": "mp3"}, ("audio", TYPE)),
        ({"audio": {"voice": "alloy"}}, ("audio.format", MISSING)),
        ({"audio": {"format": "ogg", "voice": "alloy"}}, ("audio.format", VALUE)),
        ({"audio": {"format": "mp3"}}, ("audio.voice", MISSING)),
        ({"audio": {"format": "mp3", "voice": 1}}, ("audio.voice", TYPE)),
        ({"audio": {"format": "mp3", "voice": {}}}, ("audio.voice.id", MISSING)),
        ({"prediction": {"type": "text", "content": "x"}}, ("prediction.type", VALUE)),
        ({"prediction": {"type": "content"}}, ("prediction.content", MISSING)),
        ({"prediction": {"type": "content", "content": []}}, ("prediction.content", VALUE)),
        ({"prediction": {"type": "content", "content": 1}}, ("prediction.content", TYPE)),
        (
            {"prediction": {"type": "content", "content": [{"type": "text"}]}},
            ("prediction.content[0].text", MISSING),
        ),
        ({"moderation": {}}, ("moderation.model", MISSING)),
        (
            {"moderation": {"model": "m", "policy": {"input": {"mode": "x"}}}},
            ("moderation.policy.input.mode", VALUE),
        ),
        ({"prompt_cache_options": {"mode": "x"}}, ("prompt_cache_options.mode", VALUE)),
        ({"prompt_cache_options": {"ttl": 1}}, ("prompt_cache_options.ttl", TYPE)),
        ({"web_search_options": []}, ("web_search_options", TYPE)),
        (
            {"web_search_options": {"search_context_size": "huge"}},
            ("web_search_options.search_context_size", VALUE),
        ),
        (
            {"web_search_options": {"user_location": {"type": "approximate"}}},
            ("web_search_options.user_location.approximate", MISSING),
        ),
        (
            {
                "web_search_options": {
                    "user_location": {"type": "approximate", "approximate": {"city": 1}}
                }
            },
            ("web_search_options.user_location.approximate.city", TYPE),
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_path(
    fields: dict[str, Any], wrong: tuple[str, str]
) -> None:
    assert problem(**fields) == wrong
