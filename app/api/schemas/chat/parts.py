"""The content of a message: one string, or parts."""

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
    without_nulls,
    word,
    wrong_type,
    wrong_value,
)
from app.vocabulary.chat.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    RefusalPart,
    TextPart,
)

DETAILS = ("auto", "low", "high", "original")

#: Role -> parts of the contract that its messages cannot have. Of other types, the vendor decides.
FORBIDDEN: Mapping[str, frozenset[str]] = {
    "system": frozenset({"image_url", "input_audio", "file", "refusal"}),
    "developer": frozenset({"image_url", "input_audio", "file", "refusal"}),
    "user": frozenset({"refusal"}),
    "assistant": frozenset({"input_audio", "file"}),
    "tool": frozenset({"refusal"}),
    "function": frozenset({"image_url", "input_audio", "file", "refusal"}),
}


#: The fields of a text part.
TEXT = frozenset({"type", "text", "cache_control", "prompt_cache_breakpoint"})


def read_content(role: str, content: Any, path: str, source: Json) -> tuple[Part, ...]:
    """Return the parts of a content that is there; `source` is its message.

    Raises: InvalidRequest, with the path of the value.
    """
    if type(content) is str:
        return (TextPart(text=content, source=source, path=path),)
    if type(content) is not list:
        raise wrong_type(path, "a string or an array of parts")
    if not content:
        raise wrong_value(path, "must not be an empty array")
    forbidden = FORBIDDEN[role]

    def read(part: Json, at: str) -> Part:
        found = read_part(part, at)
        if found.type in forbidden:
            raise wrong_value(f"{at}.type", f"cannot be {found.type} in a message of {role}")
        return found

    return objects(content, path, ELEMENTS_LIMIT, read)


def read_part(source: Json, path: str) -> Part:
    """Return one part. One of an unknown type is kept as it is: its vendor may know it."""
    source = without_nulls(source)
    of_type = text(source, "type", path)
    read = _READERS.get(of_type)
    if read is None:
        return Part(type=of_type, source=source, path=path)
    return read(source, path)


def _text(source: Json, path: str) -> Part:
    if "role" in source:  # some clients spread the fields of the message over its text
        source = {name: value for name, value in source.items() if name in TEXT}
    return TextPart(text=text(source, "text", path), source=source, path=path)


def _refusal(source: Json, path: str) -> Part:
    return RefusalPart(text=text(source, "refusal", path), source=source, path=path)


def _image(source: Json, path: str) -> Part:
    image, at = mapping(source, "image_url", path), f"{path}.image_url"
    url = text(image, "url", at)
    if not url:
        raise wrong_value(f"{at}.url", "must not be empty")
    detail = None if image.get("detail") is None else word(image, "detail", at, DETAILS)
    return ImagePart(url=url, detail=detail, source=_put(source, "image_url"), path=path)


def _audio(source: Json, path: str) -> Part:
    audio, at = mapping(source, "input_audio", path), f"{path}.input_audio"
    return AudioPart(
        data=text(audio, "data", at), format=text(audio, "format", at), source=source, path=path
    )


def _file(source: Json, path: str) -> Part:
    file, at = mapping(source, "file", path), f"{path}.file"
    data, file_id = (optional_text(file, name, at) for name in ("file_data", "file_id"))
    if data is None and file_id is None:
        raise missing(f"{at}.file_data")
    return FilePart(
        data=data,
        file_id=file_id,
        filename=optional_text(file, "filename", at),
        source=_put(source, "file"),
        path=path,
    )


def _put(source: Json, name: str) -> Json:
    """Return a part without the nulls of its member `name`."""
    inner = without_nulls(source[name])
    return source if inner is source[name] else {**source, name: inner}


_READERS: Mapping[str, Callable[[Json, str], Part]] = {
    "text": _text,
    "refusal": _refusal,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
}
