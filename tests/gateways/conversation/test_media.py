import base64
from typing import Any

import pytest

from app.gateways.conversation.media import (
    HEAD_LIMIT,
    PLAIN_LIMIT,
    data_url,
    file_of,
    image_of,
    unsupported_part,
)
from app.vendors.vendor import Vendor
from app.vocabulary.chat.parts import FilePart, ImagePart, Part
from app.vocabulary.errors import InvalidRequest

VENDOR = Vendor(name="v", gateway="anthropic", base_url="http://x")
TYPES = ("image/jpeg", "image/png")
PATH = "messages[0].content[1]"


def image(url: str) -> ImagePart:
    return ImagePart(url=url, source={}, path=PATH)


def file(**fields: Any) -> FilePart:
    return FilePart(source={}, path=PATH, **fields)


@pytest.mark.parametrize("kind", ["image/jpg", "image/JPEG", "image/pjpeg"])
def test_jpegs_have_one_name(kind: str) -> None:
    found = image_of(VENDOR, image(f"data:{kind};base64,AAAA"), TYPES)
    assert found is not None
    assert (found.type, found.data, found.bytes) == ("image/jpeg", "AAAA", b"\0\0\0")


def test_data_without_base64_and_with_parameters_is_read() -> None:
    found = data_url("data:text/plain;charset=utf-8,a%20b", "p")
    assert found is not None
    assert (found.type, base64.b64decode(found.data)) == ("text/plain", b"a b")
    named = data_url("DATA:image/png;name=a;base64,QQ==", "p")
    assert named is not None
    assert (named.type, named.data) == ("image/png", "QQ==")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"data:image/png{';' * HEAD_LIMIT};base64,QQ==", "not a valid"),
        (f"data:image/png{';' * 10_000_000}", "not a valid"),  # in search of its comma: gigabytes
        (f"data:text/plain,{'%41' * PLAIN_LIMIT}", "as base64"),  # each `%41` takes a microsecond
    ],
)
def test_a_url_that_would_take_a_process_for_seconds_is_refused(url: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as caught:
        data_url(url, "p")
    assert caught.value.param == "p"


@pytest.mark.parametrize("url", ["https://ex.org/a.png", "http://ex.org", "HTTPS://EX.org/a"])
def test_a_url_is_the_vendors_to_fetch(url: str) -> None:
    assert image_of(VENDOR, image(url), TYPES) is None


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "gs://x/y", "", "ftp://x", "data:image/svg+xml;base64,AA==",
     "data:image/png", "data:image/png;base64,", "data:,"],
)  # fmt: skip
def test_other_urls_are_refused_by_their_path(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        image_of(VENDOR, image(url), TYPES)
    assert caught.value.param == f"{PATH}.image_url.url"


def test_a_type_that_is_not_taken_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidRequest, match="image/jpeg, image/png"):
        image_of(VENDOR, image("data:image/svg+xml;base64,AA=="), TYPES)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"file_id": "file-1"}, "file_id"),
        ({"data": "JVBERi0="}, "file_data"),
        ({}, "file_data"),
        ({"data": "data:application/zip;base64,AA=="}, "file_data"),
    ],
)
def test_a_file_that_cannot_be_sent_is_refused_by_its_path(fields: Any, name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        file_of(VENDOR, file(**fields), ("application/pdf",))
    assert caught.value.param == f"{PATH}.file.{name}"


def test_a_part_without_a_block_is_refused_by_its_type() -> None:
    error = unsupported_part(VENDOR, Part(type="video_url", source={}, path=PATH))
    assert error.param == f"{PATH}.type"
    assert "video_url" in error.message
