"""Divides what a call used into kinds that are priced apart. No I/O.

No token has two kinds, so that each is charged once.
"""

from typing import NamedTuple, Protocol


class Tokens(Protocol):
    """The counts of a usage or an event: whole numbers >= 0."""

    @property
    def prompt_tokens(self) -> int: ...
    @property
    def completion_tokens(self) -> int: ...
    @property
    def cached_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...
    @property
    def cache_write_1h_tokens(self) -> int: ...
    @property
    def audio_prompt_tokens(self) -> int: ...
    @property
    def audio_completion_tokens(self) -> int: ...
    @property
    def image_prompt_tokens(self) -> int: ...
    @property
    def image_completion_tokens(self) -> int: ...
    @property
    def reasoning_tokens(self) -> int: ...
    @property
    def web_search_calls(self) -> int: ...


class Kinds(NamedTuple):
    """The tokens of each kind; `web_search` is the number of searches.

    `cache_write_1h` are those that the vendor keeps for an hour, `cache_write` all other writes.
    """

    input: int
    cached: int
    cache_write: int
    input_audio: int
    cached_audio: int
    output: int
    reasoning: int
    output_audio: int
    cache_write_1h: int
    input_image: int
    cached_image: int
    output_image: int
    web_search: int


def kinds_of(usage: Tokens) -> Kinds:
    """Divide counts, of which some are included in others, into kinds.

    A vendor does not say which cached tokens are audio or images: the overlap is the smallest that
    the counts imply, of audio first. Images that must have been written to the cache count as
    written. If the parts exceed the total, only the parts are left.
    """
    return Kinds(*divided(usage))


def divided(usage: Tokens) -> tuple[int, ...]:
    """Return `kinds_of(usage)` as a plain tuple, which takes half the time."""
    cached, written = usage.cached_tokens, usage.cache_write_tokens
    audio, images = usage.audio_prompt_tokens, usage.image_prompt_tokens
    hour = min(usage.cache_write_1h_tokens, written) if written else 0
    cached_audio, cached_images, new_images = 0, 0, images
    text = usage.prompt_tokens - cached - written - audio - images
    if text < 0:  # some tokens are in two parts
        cached_audio, cached_images, new_images = _overlaps(usage, -text)
        text = max(0, text + cached_audio + cached_images)
    reasoning, spoken = usage.reasoning_tokens, usage.audio_completion_tokens
    drawn = usage.image_completion_tokens
    output = usage.completion_tokens - reasoning - spoken - drawn
    return (
        text,
        cached - cached_audio - cached_images,
        written - hour,
        audio - cached_audio,
        cached_audio,
        output if output > 0 else 0,
        reasoning,
        spoken,
        hour,
        new_images,
        cached_images,
        drawn,
        usage.web_search_calls,
    )


def _overlaps(usage: Tokens, beyond: int) -> tuple[int, int, int]:
    """Return the cached audio, the cached images, and the images that no cache has.

    `beyond` is by how much the parts of the prompt exceed it, because some are in two parts.
    """
    images, cached = usage.image_prompt_tokens, usage.cached_tokens
    cached_audio = min(usage.audio_prompt_tokens, cached, beyond)
    cached_images = min(images, cached - cached_audio, beyond - cached_audio)
    new = images - cached_images
    written = min(new, usage.cache_write_tokens, beyond - cached_audio - cached_images)
    return cached_audio, cached_images, new - written
