"""Parts of messages as Converse's content blocks. A block's cache mark is a block after it."""

import re
from collections.abc import Iterable
from typing import Any

from app.gateways.conversation.marks import Mark
from app.gateways.conversation.media import file_of, image_of, no_url, unsupported_part
from app.gateways.conversation.omissions import Omissions
from app.vendors.vendor import Vendor
from app.vocabulary.chat.parts import FilePart, ImagePart, Part, TextPart

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

#: Longest name of a document, with room for a number; and what it must not have.
NAME_LIMIT = 190
_ILLEGAL = re.compile(r"[^a-zA-Z0-9()\[\]-]+", re.ASCII)

#: Life times of a cache point; the vendor's default is 5 minutes.
TTLS = ("5m", "1h")


class PartEncoder:
    """Converts the parts of one request; its documents have names of their own."""

    def __init__(self, vendor: Vendor, omissions: Omissions, *, caches: bool) -> None:
        self._vendor, self._omissions, self._caches = vendor, omissions, caches
        self._names: set[str] = set()

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
        if not self._caches:
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
                self._omissions.leave_out("detail", f"{part.path}.image_url.detail")
            media = image_of(self._vendor, part, IMAGES)
            if media is None:
                raise no_url(self._vendor, part)
            return {"image": {"format": IMAGES[media.type], "source": {"bytes": media.data}}}
        if isinstance(part, FilePart):
            media = file_of(self._vendor, part, DOCUMENTS)
            name = self._name(part.filename or "document")
            source = {"bytes": media.data}
            kind = DOCUMENTS[media.type]
            return {"document": {"format": kind, "name": name, "source": source}}
        raise unsupported_part(self._vendor, part)

    def _name(self, filename: str) -> str:
        """Return a legal name for a document, without its ending, that no other has."""
        stem = filename.rpartition(".")[0] or filename
        name = _ILLEGAL.sub(" ", stem).strip()[:NAME_LIMIT].strip() or "document"
        unique, count = name, 1
        while unique in self._names:
            count += 1
            unique = f"{name} {count}"
        self._names.add(unique)
        return unique
