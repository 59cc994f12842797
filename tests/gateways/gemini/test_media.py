"""Images, sounds and files, as parts that Google takes."""

from typing import Any

import pytest

from tests.gateways.chat_rows import ChatRow
from tests.gateways.gemini.chat import GEMINI, NEW, OLD, PIXEL, VERTEX, config, contents, sent, user

TEXT = {"type": "text", "text": "What is it?"}


def image(url: str, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def file(**fields: Any) -> dict[str, Any]:
    return {"type": "file", "file": fields}


def parts(part: Any, row: ChatRow = GEMINI, model: str = NEW) -> Any:
    return sent(model, [user([TEXT, part])], row=row)["contents"][0]["parts"][1:]


def refused(part: Any, row: ChatRow = GEMINI, model: str = NEW) -> str | None:
    return row.refused(model, [user([TEXT, part])])


@pytest.mark.parametrize(
    ("kind", "sent_as"),
    [
        ("image/png", "image/png"),
        ("image/jpg", "image/jpeg"),
        ("image/jpeg", "image/jpeg"),
        ("image/webp", "image/webp"),
        ("IMAGE/HEIC", "image/heic"),
    ],
)
def test_an_image_is_sent_with_its_registered_type(kind: str, sent_as: str) -> None:
    inline = {"inlineData": {"mimeType": sent_as, "data": PIXEL}}
    assert parts(image(f"data:{kind};base64,{PIXEL}")) == [inline]


@pytest.mark.parametrize("kind", ["image/svg+xml", "image/gif", "image/tiff"])
def test_an_image_that_google_does_not_take_is_refused_with_those_it_takes(kind: str) -> None:
    url = f"data:{kind};base64,{PIXEL}"
    assert refused(image(url)) == "messages[0].content[1].image_url.url"


@pytest.mark.parametrize(
    "url",
    [
        "http://ex.org/a.png",
        "http://169.254.169.254/latest/",
        "http://127.0.0.1:6379/",
        "file:///etc/passwd",
        "s3://x/y",
        "",
    ],
)
@pytest.mark.parametrize("row", [GEMINI, VERTEX])
def test_a_url_is_refused_for_nothing_is_fetched(url: str, row: ChatRow) -> None:
    assert refused(image(url), row) == "messages[0].content[1].image_url.url"


BUCKET = "gs://bucket/a.png"
UPLOADED = "https://generativelanguage.googleapis.com/v1beta/files/abc"
PUBLIC = "https://ex.org/a%20b.PDF?sig=x"


def test_a_url_that_google_reads_itself_goes_there() -> None:
    bucket = {"fileData": {"fileUri": BUCKET, "mimeType": "image/png"}}
    uploaded = {"fileData": {"fileUri": UPLOADED}}
    public = {"fileData": {"fileUri": PUBLIC, "mimeType": "application/pdf"}}
    assert parts(image(BUCKET), VERTEX) == [bucket]
    assert parts(file(file_id=BUCKET), VERTEX) == [bucket]
    assert parts(image(UPLOADED)) == [uploaded]
    assert parts(file(file_id=UPLOADED)) == [uploaded]
    for row in (GEMINI, VERTEX):
        assert parts(file(file_data=PUBLIC), row) == [public]
    assert parts(image("https://[x")) == [{"fileData": {"fileUri": "https://[x"}}]
    assert refused(image(BUCKET)) == "messages[0].content[1].image_url.url"


def test_a_sound_is_sent_with_its_type() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    assert parts(sound) == [{"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}}]
    sound["input_audio"] = {"data": "UklGRg==", "format": "pcm16"}
    assert refused(sound) == "messages[0].content[1].input_audio.format"


PDF = "data:application/pdf;base64,JVBERi0="


def test_a_file_is_sent_with_its_type_and_without_its_name() -> None:
    inline = {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}}
    assert parts(file(filename="a b.pdf", file_data=PDF)) == [inline]
    alone = contents([user([file(filename="a b.pdf", file_data=PDF)])])
    assert alone == [{"role": "user", "parts": [inline]}]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"file_data": "data:application/vnd.ms-excel;base64,AAAA"}, "file.file_data"),
        ({"file_data": "AAAA"}, "file.file_data"),
        ({"file_id": "file-abc"}, "file.file_id"),
    ],
)
def test_a_file_that_google_does_not_take_is_refused(fields: Any, path: str) -> None:
    assert refused(file(filename="a", **fields)) == f"messages[0].content[1].{path}"


@pytest.mark.parametrize("kind", ["video_url", "x"])
def test_a_part_that_nobody_knows_is_refused_by_its_type(kind: str) -> None:
    assert refused({"type": kind}) == "messages[0].content[1].type"


# Resolution.


def test_each_image_has_its_own_resolution_where_the_model_has_one() -> None:
    url = f"data:image/png;base64,{PIXEL}"
    said = [user([image(url, detail=d) for d in ("low", "high", "original", "auto")])]
    levels = [part.get("mediaResolution") for part in contents(said)[0]["parts"]]
    assert levels == [
        {"level": "MEDIA_RESOLUTION_LOW"},
        {"level": "MEDIA_RESOLUTION_HIGH"},
        {"level": "MEDIA_RESOLUTION_ULTRA_HIGH"},
        None,
    ]
    assert config(NEW, messages=said) == {}


def test_other_models_have_one_resolution_for_all_images() -> None:
    url = f"data:image/png;base64,{PIXEL}"
    low = image(url, detail="low")
    assert config(OLD, messages=[user([low, low])]) == {"mediaResolution": "MEDIA_RESOLUTION_LOW"}
    assert config(OLD, messages=[user([image(url, detail="auto"), image(url)])]) == {}
    for details in (["low", "high"], ["low", "auto"], ["original"]):
        said = [user([image(url, detail=detail) for detail in details])]
        path = f"messages[0].content[{len(details) - 1}].image_url.detail"
        assert GEMINI.refused(OLD, said) == path
