"""The kinds of tokens of an entry as SQL expressions, as `app.pricing.kinds` divides them."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction

from app.pricing.kinds import Kinds
from app.storage.sql.tables import entries


class least(GenericFunction[int]):
    """The smallest of some numbers."""

    type = BigInteger()
    inherit_cache = True


class greatest(GenericFunction[int]):
    """The largest of some numbers."""

    type = BigInteger()
    inherit_cache = True


@compiles(least, "sqlite")
def _least(element: least, compiler: Any, **kw: Any) -> str:
    return f"min({compiler.process(element.clauses, **kw)})"


@compiles(greatest, "sqlite")
def _greatest(element: greatest, compiler: Any, **kw: Any) -> str:
    return f"max({compiler.process(element.clauses, **kw)})"


def _entry_kinds() -> Mapping[str, ColumnElement[int]]:
    it, nothing = entries.c, literal_column("0", BigInteger)
    prompt, cached, written = it.prompt_tokens, it.cached_tokens, it.cache_write_tokens
    audio, images = it.audio_prompt_tokens, it.image_prompt_tokens
    beyond = greatest(nothing, cached + written + audio + images - prompt)
    cached_audio = least(audio, cached, beyond)
    cached_images = least(images, cached - cached_audio, beyond - cached_audio)
    new_images = images - cached_images
    written_images = least(new_images, written, beyond - cached_audio - cached_images)
    text = prompt - (cached + written + audio + images - cached_audio - cached_images)
    reasoning, spoken = it.reasoning_tokens, it.audio_completion_tokens
    drawn, hour = it.image_completion_tokens, least(it.cache_write_1h_tokens, written)
    parts = (
        greatest(nothing, text),
        cached - cached_audio - cached_images,
        written - hour,
        audio - cached_audio,
        cached_audio,
        greatest(nothing, it.completion_tokens - reasoning - spoken - drawn),
        reasoning,
        spoken,
        hour,
        new_images - written_images,
        cached_images,
        drawn,
        it.web_search_calls,
    )
    return dict(zip(Kinds._fields, parts, strict=True))


#: Kind -> what an entry has of it.
ENTRY_KINDS: Mapping[str, ColumnElement[int]] = _entry_kinds()
