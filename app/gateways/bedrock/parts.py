"""Parts of messages as Converse's content blocks. A block's cache mark is a block after it.

A file is a document, an image, a sound or a video, by its media type. Sounds and videos are for
models that the vendor table says take them. Source: botocore's model of bedrock-runtime.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from app.gateways.bedrock.quirks import AUDIO, CACHES, VIDEO
from app.gateways.conversation.marks import Mark
from app.gateways.conversation.media import Media, file_of, image_of, no_url, unsupported_part
from app.gateways.conversation.omissions import Omissions, unsupported
from app.vendors.vendor import Vendor
from app.vocabulary.chat.parts import AudioPart, FilePart, ImagePart, Part, TextPart

Block = dict[str, Any]

#: Media types -> the vendor's words for them.
IMAGES = {"image/jpeg": "jpeg", "image/png": "png", "image/gif": "gif", "image/webp": "webp"}
_OFFICE = "application/vnd.openxmlformats-officedocument"
DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    f"{_OFFICE}.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}

VIDEOS = {
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/x-matroska": "mkv",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/wmv": "wmv",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
#: Formats of sounds, as the contract and the vendor name them.
SOUNDS = ("wav", "mp3", "flac", "opus", "aac", "ogg", "m4a", "webm", "pcm")
SOUND_TYPES = {"audio/mpeg": "mp3", **{f"audio/{name}": name for name in SOUNDS}}

#: Longest name of a document, with room for a number; and what it must not have.
NAME_LIMIT = 190
_ILLEGAL = re.compile(r"[^a-zA-Z0-9()\[\]-]+", re.ASCII)

#: Life times of a cache point; the vendor's default is 5 minutes.
TTLS = ("5m", "1h")


class PartEncoder:
    """Converts the parts of one request; its documents have names of their own."""

    def __init__(self, vendor: Vendor, omissions: Omissions, traits: frozenset[str]) -> None:
        self._vendor, self._omissions, self._traits = vendor, omissions, traits
        self._names: set[str] = set()
        self._alike: Counter[str] = Counter()

    def blocks(self, parts: Iterable[tuple[Part, Mark]]) -> list[Block]:
        """Return the blocks of a user's parts.

        Raises: InvalidRequest with the path of a part that cannot be converted.
        """
        return [it for part, mark in parts for it in (self.block(part), *self.point(mark))]

    def texts(self, parts: Iterable[tuple[Part, Mark]]) -> list[Block]:
        """Return the blocks of parts that may only be texts: an assistant's, and instructions."""
        found = list(parts)
        for part, _ in found:
            if not isinstance(part, TextPart):
                raise unsupported_part(self._vendor, part)
        return self.blocks(found)

    def point(self, mark: Mark) -> list[Block]:
        """Return the cache point for a mark; [] without one, or if the model takes none."""
        if mark is None:
            return []
        if CACHES not in self._traits:
            self._omissions.leave_out_hint("cache_control")
            return []
        ttl = mark.get("ttl")
        return [{"cachePoint": {"type": "default", **({"ttl": ttl} if ttl in TTLS else {})}}]

    def block(self, part: Part) -> Block:
        """Return the block of one part."""
        if isinstance(part, TextPart):
            return {"text": part.text}
        if isinstance(part, ImagePart):
            if part.detail not in (None, "auto"):
                self._omissions.leave_out_hint("detail")
            media = image_of(self._vendor, part, IMAGES)
            if media is None:
                raise no_url(self._vendor, part)
            return _block("image", IMAGES[media.type], media)
        if isinstance(part, FilePart):
            return self._file(part)
        if isinstance(part, AudioPart) and AUDIO in self._traits:
            if part.format not in SOUNDS:
                path = f"{part.path}.input_audio.format"
                raise unsupported(self._vendor, path, f"it takes {', '.join(SOUNDS)}")
            return _block("audio", part.format, Media(f"audio/{part.format}", part.data))
        raise unsupported_part(self._vendor, part)

    def _file(self, part: FilePart) -> Block:
        """Return the block for a file, by its media type."""
        kinds: dict[str, Mapping[str, str]] = {"document": DOCUMENTS, "image": IMAGES}
        kinds |= {"video": VIDEOS} if VIDEO in self._traits else {}
        kinds |= {"audio": SOUND_TYPES} if AUDIO in self._traits else {}
        media = file_of(self._vendor, part, [name for it in kinds.values() for name in it])
        kind = next(kind for kind, formats in kinds.items() if media.type in formats)
        block = _block(kind, kinds[kind][media.type], media)
        if kind == "document":
            block[kind]["name"] = self._name(part.filename or kind)
        return block

    def _name(self, filename: str) -> str:
        """Return a legal name for a document, without its ending, that no other has."""
        stem = filename.rpartition(".")[0] or filename
        name = _ILLEGAL.sub(" ", stem).strip()[:NAME_LIMIT].strip() or "document"
        unique = name
        while unique in self._names:  # from the last one on: there may be thousands
            self._alike[name] += 1
            unique = f"{name} {self._alike[name] + 1}"
        self._names.add(unique)
        return unique


def _block(kind: str, name: str, media: Media) -> Block:
    return {kind: {"format": name, "source": {"bytes": media.data}}}
