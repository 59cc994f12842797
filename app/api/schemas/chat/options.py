"""Checks of the options that are objects: sound, predictions, web search, moderation, caches."""

from collections.abc import Callable, Mapping
from typing import Any

from app.api.schemas.chat.checks import (
    ELEMENTS_LIMIT,
    Json,
    mapping,
    missing,
    objects,
    optional_text,
    text,
    word,
    wrong_type,
    wrong_value,
)

SOUNDS = ("wav", "aac", "mp3", "flac", "opus", "pcm16")
SIZES = ("low", "medium", "high")
PLACE = ("city", "country", "region", "timezone")


def _audio(audio: Json, path: str) -> None:
    word(audio, "format", path, SOUNDS)
    voice = audio.get("voice")
    if type(voice) is dict:
        text(voice, "id", f"{path}.voice")
    elif not isinstance(voice, str):
        at = f"{path}.voice"
        raise missing(at) if voice is None else wrong_type(at, "a string or an object")


def _prediction(prediction: Json, path: str) -> None:
    word(prediction, "type", path, ("content",))
    content, at = prediction.get("content"), f"{path}.content"
    if content is None:
        raise missing(at)
    if isinstance(content, str):
        return
    if content == []:
        raise wrong_value(at, "must not be an empty array")
    objects(content, at, ELEMENTS_LIMIT, _text_part)


def _text_part(part: Json, path: str) -> None:
    word(part, "type", path, ("text",))
    text(part, "text", path)


def _web_search(options: Json, path: str) -> None:
    if options.get("search_context_size") is not None:
        word(options, "search_context_size", path, SIZES)
    if options.get("user_location") is not None:
        place, at = mapping(options, "user_location", path), f"{path}.user_location"
        word(place, "type", at, ("approximate",))
        approximate = mapping(place, "approximate", at)
        for name in PLACE:
            optional_text(approximate, name, f"{at}.approximate")


def _moderation(moderation: Json, path: str) -> None:
    text(moderation, "model", path)
    if moderation.get("policy") is None:
        return
    policy, at = mapping(moderation, "policy", path), f"{path}.policy"
    for side in ("input", "output"):
        if policy.get(side) is not None:
            word(mapping(policy, side, at), "mode", f"{at}.{side}", ("score", "block"))


def _cache(cache: Json, path: str) -> None:
    if cache.get("mode") is not None:
        word(cache, "mode", path, ("implicit", "explicit"))
    optional_text(cache, "ttl", path)


_CHECKS: Mapping[str, Callable[[Json, str], None]] = {
    "audio": _audio,
    "moderation": _moderation,
    "prediction": _prediction,
    "prompt_cache_options": _cache,
    "web_search_options": _web_search,
}


def check_options(values: Mapping[str, Any]) -> None:
    """Check those of a request's fields that are such objects.

    Raises: InvalidRequest, with the path of the value.
    """
    for name in sorted(_CHECKS.keys() & values.keys()):
        if type(values[name]) is not dict:
            raise wrong_type(name, "an object")
        _CHECKS[name](values[name], name)
