"""The parts of a message's content."""

from collections.abc import Mapping
from typing import Any

from app.vocabulary.value_type import value_type

#: Tokens that are reserved and estimated for one image, sound or file: their length says nothing.
#: An image of low detail costs 85 tokens at OpenAI; a large one up to 1,600 at Anthropic.
LOW_DETAIL_TOKENS = 85
IMAGE_TOKENS = 1_600
SOUND_TOKENS = 1_000
FILE_TOKENS = 3_000


@value_type(kw_only=True)
class Part:
    """A part of a message's content, of a type that only its vendor knows, e.g. `video_url`.

    `cache_control` marks the end of a prefix that the vendor should cache.
    """

    type: str
    source: Mapping[str, Any]
    path: str

    @property
    def cache_control(self) -> Mapping[str, Any] | None:
        """The caller's cache mark, or None."""
        mark = self.source.get("cache_control")
        return mark if isinstance(mark, dict) else None

    @property
    def media_tokens(self) -> int:
        """The tokens that are estimated for what is not text."""
        return FILE_TOKENS


@value_type(kw_only=True)
class TextPart(Part):
    """A text; a message's content that is one string is one such part."""

    type: str = "text"
    text: str

    @property
    def media_tokens(self) -> int:
        return 0


@value_type(kw_only=True)
class RefusalPart(TextPart):
    """A refusal in an assistant's message."""

    type: str = "refusal"


@value_type(kw_only=True)
class ImagePart(Part):
    """An image, by URL: `https:` or `data:`."""

    type: str = "image_url"
    url: str
    detail: str | None = None

    @property
    def media_tokens(self) -> int:
        return LOW_DETAIL_TOKENS if self.detail == "low" else IMAGE_TOKENS


@value_type(kw_only=True)
class AudioPart(Part):
    """A sound, in base64; `format` is e.g. `wav`."""

    type: str = "input_audio"
    data: str
    format: str

    @property
    def media_tokens(self) -> int:
        return SOUND_TOKENS


@value_type(kw_only=True)
class FilePart(Part):
    """A file: its content as a `data:` URL, or a vendor's id of it."""

    type: str = "file"
    data: str | None = None
    file_id: str | None = None
    filename: str | None = None
