"""Images, sounds and files of messages, as parts of Google's contents.

Bytes are sent as they are. Tollgate fetches nothing; URLs that begin as `file_uris` of the vendor's
entry say go to Google, which reads them itself, also as a `file_id`: public and signed `https:`
URLs, and on Vertex AI those of Cloud Storage. Their media type follows from the name of the file,
if it tells. Any other URL is refused. A file's name has no place.
Source: ai.google.dev, file input methods; Vertex AI's reference of FileData.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.gateways.conversation.media import Media, file_of, image_of, no_url, unsupported_part
from app.gateways.conversation.omissions import unsupported
from app.gateways.gemini.models import MEDIA_RESOLUTION, traits_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import AudioPart, FilePart, ImagePart, Part, TextPart

#: Source: ai.google.dev, image, document, audio and video understanding.
IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
SOUNDS = ("wav", "mp3", "aiff", "aac", "ogg", "flac")
DOCUMENTS = (
    "application/pdf",
    "text/plain",
    "text/html",
    "text/css",
    "text/markdown",
    "text/csv",
    "text/xml",
    "text/rtf",
    "application/json",
)
VIDEOS = (
    "video/mp4",
    "video/mpeg",
    "video/quicktime",
    "video/x-flv",
    "video/webm",
    "video/wmv",
    "video/3gpp",
)
FILES = (*DOCUMENTS, *IMAGES, *(f"audio/{name}" for name in SOUNDS), *VIDEOS)

#: The end of a file's name -> its media type, where it is not that of one of FILES itself.
OTHER_EXTENSIONS: Mapping[str, str] = {
    "3gp": "video/3gpp",
    "flv": "video/x-flv",
    "htm": "text/html",
    "jpg": "image/jpeg",
    "md": "text/markdown",
    "mov": "video/quicktime",
    "mpg": "video/mpeg",
    "txt": "text/plain",
}
EXTENSIONS = {**{kind.partition("/")[2]: kind for kind in FILES}, **OTHER_EXTENSIONS}

#: `detail` of an image -> its resolution; `auto` is Google's own choice.
LEVELS = {
    "low": "MEDIA_RESOLUTION_LOW",
    "high": "MEDIA_RESOLUTION_HIGH",
    "original": "MEDIA_RESOLUTION_ULTRA_HIGH",
}


def encode_part(vendor: Vendor, model_name: str, part: Part) -> dict[str, Any]:
    """Return a part of a user's message or of a result.

    Raises: InvalidRequest, mostly UnsupportedParameter, with the path of the field.
    """
    match part:
        case TextPart():
            return {"text": part.text}
        case ImagePart():
            return {**_image(vendor, part), **_resolution(vendor, model_name, part)}
        case AudioPart():
            if part.format not in SOUNDS:
                path = f"{part.path}.input_audio.format"
                raise unsupported(vendor, path, f"it takes {', '.join(SOUNDS)}")
            return _inline(Media(f"audio/{part.format}", part.data))
        case FilePart():
            own = _own_file(vendor, part.file_id or part.data or "")
            return own or _inline(file_of(vendor, part, FILES))
    raise unsupported_part(vendor, part)


def _image(vendor: Vendor, part: ImagePart) -> dict[str, Any]:
    if own := _own_file(vendor, part.url):
        return own
    media = image_of(vendor, part, IMAGES)
    if media is None:
        raise no_url(vendor, part)
    return _inline(media)


def _inline(media: Media) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media.type, "data": media.data}}


def _own_file(vendor: Vendor, uri: str) -> dict[str, Any] | None:
    """Return the part for a file that Google has; None if it is none of its URLs."""
    if not uri.startswith(tuple(vendor.quirks.get("file_uris", ()))):
        return None
    path = re.split(r"[?#]", uri, maxsplit=1)[0].lower()
    kind = next((found for name, found in EXTENSIONS.items() if path.endswith(f".{name}")), None)
    return {"fileData": {"fileUri": uri, **({"mimeType": kind} if kind else {})}}


def _resolution(vendor: Vendor, model_name: str, part: ImagePart) -> dict[str, Any]:
    level = LEVELS.get(part.detail or "")
    if level is None or MEDIA_RESOLUTION not in traits_of(vendor, model_name):
        return {}
    return {"mediaResolution": {"level": level}}


def shared_resolution(
    vendor: Vendor, model_name: str, messages: Iterable[Message]
) -> dict[str, Any]:
    """Return the field for the one resolution of all images, of models that have only one.

    Raises: UnsupportedParameter if the images differ, or ask for one that the field cannot say.
    """
    if MEDIA_RESOLUTION in traits_of(vendor, model_name):
        return {}
    images = [part for message in messages for part in message.parts if isinstance(part, ImagePart)]
    details = {part.detail or "auto" for part in images}
    if details <= {"auto"}:
        return {}
    if len(details) > 1 or "original" in details:
        path = f"{images[-1].path}.image_url.detail"
        hint = "the model has one of low and high for all images of a request"
        raise unsupported(vendor, path, hint)
    return {"mediaResolution": LEVELS[details.pop()]}
