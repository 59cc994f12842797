"""Speech and images as answers: what is asked for, and the contract's `audio` of a message."""

import base64
import io
import wave
from typing import Any

import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from app.api.schemas.chat.chunks import ChatChunks
from app.vocabulary.errors import VendorFailed
from tests.gateways.chat_rows import ChatRow, reply_of
from tests.gateways.gemini.chat import GEMINI, NEW, VERTEX, config, streamed
from tests.gateways.gemini.wire import candidate, response

TTS, IMAGE = "gemini-3.8-flash-tts", "gemini-3-pro-image-preview"
AUDIO = {"format": "pcm16", "voice": "Kore"}
SPEECH: dict[str, Any] = {"modalities": ["text", "audio"], "audio": AUDIO}


def sound(samples: bytes, kind: str = "audio/L16;codec=pcm;rate=24000") -> dict[str, Any]:
    return {"inlineData": {"mimeType": kind, "data": base64.b64encode(samples).decode()}}


def wav(samples: bytes) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as held:
        held.setnchannels(1)
        held.setsampwidth(2)
        held.setframerate(24_000)
        held.writeframes(samples)
    return file.getvalue()


@pytest.mark.parametrize("row", [GEMINI, VERTEX])
@pytest.mark.parametrize("modalities", [["audio"], ["text", "audio"]])
def test_speech_is_asked_for_with_its_voice(row: ChatRow, modalities: list[str]) -> None:
    assert config(TTS, row, modalities=modalities, audio=AUDIO) == {
        "responseModalities": ["AUDIO"],
        "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
    }


def test_images_are_asked_for() -> None:
    assert config(IMAGE, modalities=["image"]) == {"responseModalities": ["IMAGE"]}
    both = config(IMAGE, modalities=["text", "image"])
    assert both == {"responseModalities": ["TEXT", "IMAGE"]}
    assert config(IMAGE, modalities=["text"]) == {}


@pytest.mark.parametrize(
    ("model", "fields", "path"),
    [
        (NEW, SPEECH, "audio"),
        (NEW, {"modalities": ["image"]}, "modalities"),
        (IMAGE, {"modalities": ["audio", "image"]}, "modalities"),
        (TTS, {"modalities": ["image"]}, "modalities"),
        (TTS, {"modalities": ["audio"]}, "audio"),
        (TTS, {"audio": AUDIO}, "audio"),
        (TTS, {**SPEECH, "audio": {**AUDIO, "format": "mp3"}}, "audio.format"),
        (TTS, {**SPEECH, "audio": {**AUDIO, "voice": {"id": "v"}}}, "audio.voice"),
    ],
)
def test_what_google_cannot_say_is_refused_by_its_path(
    model: str, fields: dict[str, Any], path: str
) -> None:
    assert GEMINI.refused(model, **fields) == path


@pytest.mark.parametrize(
    "parts",
    [
        [sound(b"\x01\x02\x03\x04")],
        [sound(b"\x01\x02"), sound(b"\x03\x04", "audio/pcm")],
        [sound(wav(b"\x01\x02\x03\x04"), "audio/wav")],
    ],
)
def test_a_whole_answer_has_its_speech_as_audio(parts: list[Any]) -> None:
    (choice,) = GEMINI.decoded(response(candidate(*parts)), TTS, **SPEECH).choices
    audio = (reply_of(choice).extra or {})["audio"]
    assert base64.b64decode(audio["data"]) == b"\x01\x02\x03\x04"
    assert audio["id"].startswith("audio_")
    assert (type(audio["expires_at"]), audio["transcript"]) == (int, "")


def test_a_streams_speech_is_read_by_the_official_client() -> None:
    events = streamed([sound(b"\x01\x02\x03")], [sound(b"\x04\x05\x06")])
    chunks = GEMINI.chunks(events, model=TTS, **SPEECH)
    state: Any = ChatCompletionStreamState()
    dump, read = ChatChunks(), []
    for chunk in chunks:
        for body in dump.dump(chunk):
            delta = body["choices"][0]["delta"] if body["choices"] else {}
            read.append((delta.get("audio") or {}).get("data", ""))
            state.handle_chunk(ChatCompletionChunk.model_validate(body))
    message = state.current_completion_snapshot.choices[0].message.model_dump()
    assert b"".join(map(base64.b64decode, read)) == b"\x01\x02\x03\x04\x05\x06"
    assert message["audio"]["id"].startswith("audio_")
    assert message["audio"]["id"].count("audio_") == 1
    assert type(message["audio"]["expires_at"]) is int


def test_other_data_and_speech_that_nobody_asked_for_stay_googles() -> None:
    (choice,) = GEMINI.decoded(response(candidate(sound(b"\x01"))), TTS).choices
    assert list(reply_of(choice).extra or {}) == ["inline_data"]
    odd = sound(b"\x01", "audio/mpeg")
    (choice,) = GEMINI.decoded(response(candidate(odd)), TTS, **SPEECH).choices
    assert list(reply_of(choice).extra or {}) == ["inline_data"]


@pytest.mark.parametrize("data", ["*", base64.b64encode(b"RIFF....WAVEfmt ").decode()])
def test_malformed_speech_is_a_failure(data: str) -> None:
    part = {"inlineData": {"mimeType": "audio/wav", "data": data}}
    assert isinstance(GEMINI.broken(streamed([part]), model=TTS, **SPEECH), VendorFailed)
