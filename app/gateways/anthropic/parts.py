"""Parts of messages as Anthropic's content blocks, each with its own cache mark."""

from collections.abc import Iterable
from typing import Any

from app.gateways.conversation.marks import Mark
from app.gateways.conversation.media import file_of, image_of, unsupported_part
from app.gateways.conversation.omissions import Omissions
from app.vendors.vendor import Vendor
from app.vocabulary.chat.parts import FilePart, ImagePart, Part, TextPart
from app.vocabulary.errors import InvalidRequest

Block = dict[str, Any]

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
DOCUMENTS = ("application/pdf", "text/plain")


def marked(block: Block, mark: Mark) -> Block:
    """Return a block with its cache mark, as the caller wrote it."""
    return block if mark is None else {**block, "cache_control": mark}


def text_blocks(vendor: Vendor, parts: Iterable[tuple[Part, Mark]]) -> list[Block]:
    """Return the blocks of parts that may only be texts: an assistant's, and instructions.

    Raises: UnsupportedParameter.
    """
    blocks = []
    for part, mark in parts:
        if not isinstance(part, TextPart):
            raise unsupported_part(vendor, part)
        blocks.append(marked({"type": "text", "text": part.text}, mark))
    return blocks


def blocks_of(
    vendor: Vendor, parts: Iterable[tuple[Part, Mark]], omissions: Omissions
) -> list[Block]:
    """Return the blocks of a user's parts, or of a result's.

    Raises: InvalidRequest with the path of a part that cannot be converted.
    """
    return [marked(_block(vendor, part, omissions), mark) for part, mark in parts]


def _block(vendor: Vendor, part: Part, omissions: Omissions) -> Block:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        if part.detail not in (None, "auto"):
            omissions.leave_out_hint("detail")
        media = image_of(vendor, part, IMAGES)
        if media is None:  # the vendor fetches it
            return {"type": "image", "source": {"type": "url", "url": part.url}}
        source = {"type": "base64", "media_type": media.type, "data": media.data}
        return {"type": "image", "source": source}
    if isinstance(part, FilePart):
        return _document(vendor, part)
    raise unsupported_part(vendor, part)


def _document(vendor: Vendor, part: FilePart) -> Block:
    media = file_of(vendor, part, DOCUMENTS)
    if media.type == "application/pdf":
        source = {"type": "base64", "media_type": media.type, "data": media.data}
    else:
        try:
            text = media.bytes.decode()
        except ValueError as exc:
            path = f"{part.path}.file.file_data"
            raise InvalidRequest(f"`{path}` must be UTF-8 in base64.", param=path) from exc
        source = {"type": "text", "media_type": media.type, "data": text}
    title = {"title": part.filename} if part.filename else {}
    return {"type": "document", "source": source, **title}
