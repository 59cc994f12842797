"""Images and files of messages, for formats that take bytes. Nothing is ever fetched."""

import base64
import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from app.gateways.conversation.omissions import unsupported
from app.vendors.vendor import Vendor
from app.vocabulary.chat.parts import FilePart, ImagePart, Part
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter

_DATA_URL = re.compile(r"data:([^,;]*)((?:;[^,;]*)*?)(;base64)?,", re.IGNORECASE)

#: Most characters before the data of a `data:` URL. The search for the comma remembers each `;`, so
#: that megabytes of them would take gigabytes.
HEAD_LIMIT = 2_048

#: Most characters of data that are not base64: to decode each `%41` takes a hundred times as long.
PLAIN_LIMIT = 2**20

#: Media types that are not registered -> the registered ones.
ALIASES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg"}


@dataclass(frozen=True, slots=True)
class Media:
    """Bytes in base64, and their media type in lower case."""

    type: str
    data: str

    @property
    def bytes(self) -> bytes:
        """The bytes themselves.

        Raises: ValueError if `data` is not base64.
        """
        return base64.b64decode(self.data, validate=True)


def data_url(url: str, path: str) -> Media | None:
    """Return what a `data:` URL holds; None for any other URL.

    Raises: InvalidRequest if it is malformed.
    """
    if url[:5].lower() != "data:":
        return None
    start = _DATA_URL.match(url, 0, HEAD_LIMIT)
    if start is None:
        raise InvalidRequest(f"`{path}` is not a valid `data:` URL.", param=path)
    kind = (start[1].strip() or "text/plain").lower()
    data = url[start.end() :]
    if not start[3]:
        if len(data) > PLAIN_LIMIT:
            words = f"more than {PLAIN_LIMIT} characters that are not base64: send it as base64"
            raise InvalidRequest(f"`{path}` has {words}.", param=path)
        data = base64.b64encode(unquote_to_bytes(data)).decode()
    elif not data:
        raise InvalidRequest(f"`{path}` is a `data:` URL without data.", param=path)
    return Media(ALIASES.get(kind, kind), data)


def image_of(vendor: Vendor, part: ImagePart, accepted: Collection[str]) -> Media | None:
    """Return an image's bytes; None if it is an http(s) URL, which the vendor may take.

    Raises: UnsupportedParameter for any other scheme or for a type that is not `accepted`.
    """
    path = f"{part.path}.image_url.url"
    media = data_url(part.url, path)
    if media is not None:
        return _accepted(vendor, media, path, accepted)
    if part.url[:8].lower().startswith(("https://", "http://")):
        return None
    raise unsupported(vendor, path, "an image is an `https:` or a `data:` URL")


def no_url(vendor: Vendor, part: ImagePart) -> UnsupportedParameter:
    """Return the error for an image's URL at a vendor that takes bytes alone."""
    hint = "it takes no URL of an image, and Tollgate fetches none; send a `data:` URL"
    return unsupported(vendor, f"{part.path}.image_url.url", hint)


def file_of(vendor: Vendor, part: FilePart, accepted: Collection[str]) -> Media:
    """Return a file's bytes.

    Raises: UnsupportedParameter for an id of a file, or for a type that is not `accepted`.
    """
    if part.file_id is not None:
        raise unsupported(vendor, f"{part.path}.file.file_id", "send the file as `file_data`")
    path = f"{part.path}.file.file_data"
    media = data_url(part.data or "", path)
    if media is None:
        raise InvalidRequest(
            f"`{path}` must be a `data:` URL with the file's media type.", param=path
        )
    return _accepted(vendor, media, path, accepted)


def unsupported_part(vendor: Vendor, part: Part) -> UnsupportedParameter:
    """Return the error for a part of a type that the format has no block for."""
    path = f"{part.path}.type"
    return UnsupportedParameter(
        f"The vendor `{vendor.name}` does not support parts of type `{part.type[:64]}`, as at "
        f"`{path}`.",
        param=path,
    )


def _accepted(vendor: Vendor, media: Media, path: str, accepted: Collection[str]) -> Media:
    if media.type not in accepted:
        raise UnsupportedParameter(
            f"The vendor `{vendor.name}` accepts {', '.join(accepted)} as `{path}`, not "
            f"{media.type[:64]}.",
            param=path,
        )
    return media
