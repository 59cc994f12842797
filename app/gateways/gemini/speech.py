"""Modalities of the answer: speech and images, as Google makes them.

Models of speech answer with sound alone: `modalities` with `audio` asks for it, and `audio.voice`
is the name of one of Google's voices. Google has one format, which is the contract's `pcm16`: 24
kHz, 16 bits, one channel. Newer models put it into a WAV file, of which the samples are taken.
There is no transcript, and the answer's `audio.id` cannot be sent back: it has expired as it comes.
Source: ai.google.dev, speech generation and image generation.
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from app.gateways.conversation.omissions import unsupported
from app.gateways.gemini.models import IMAGES, SPEECH, traits_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import InvalidRequest

#: The one format of the contract that Google has.
FORMAT = "pcm16"

#: Media types of samples without a file around them.
SAMPLES = ("audio/l16", "audio/pcm")


def speaks(request: ChatRequest) -> bool:
    """Whether the caller asked for speech."""
    return "audio" in (request.options.get("modalities") or ())


def supported_modalities(vendor: Vendor, request: ChatRequest) -> frozenset[str]:
    """Return the names of the parameters for other modalities that the model supports."""
    traits = traits_of(vendor, request.model_name)
    asked = set(request.options.get("modalities") or ()) - {"text"}
    able = {word for word, trait in (("audio", SPEECH), ("image", IMAGES)) if trait in traits}
    names = {"modalities"} if asked and asked <= able else set()
    return frozenset(names | ({"audio"} if SPEECH in traits else set()))


def modality_fields(vendor: Vendor, request: ChatRequest) -> dict[str, Any]:
    """Return the fields of `generationConfig` for other modalities than text; {} without any.

    Raises: InvalidRequest, mostly UnsupportedParameter, with the path of the field.
    """
    words, audio = request.options.get("modalities") or [], request.options.get("audio")
    if not speaks(request):
        if audio is not None:
            raise unsupported(vendor, "audio", "set `modalities` to ['audio']")
        asked = [word.upper() for word in words]
        return {"responseModalities": asked} if set(asked) - {"TEXT"} else {}
    if "image" in words:
        raise unsupported(vendor, "modalities", "it takes 'audio' alone")
    if audio is None:
        raise InvalidRequest("`audio` is missing: speech has a voice and a format.", param="audio")
    if audio["format"] != FORMAT:
        raise unsupported(vendor, "audio.format", f"it takes {FORMAT}")
    if not isinstance(audio["voice"], str):
        raise unsupported(vendor, "audio.voice", "it takes the name of a voice")
    voice = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": audio["voice"]}}}
    return {"responseModalities": ["AUDIO"], "speechConfig": voice}


def samples_of(kind: str, data: str) -> bytes | None:
    """Return the samples in base64 `data` of a media type; None if it is not a known one.

    Raises: ValueError if the data are malformed.
    """
    bare = kind.partition(";")[0].strip().lower()
    if bare not in (*SAMPLES, "audio/wav", "audio/x-wav"):
        return None
    raw = base64.b64decode(data, validate=True)
    if raw[:4] != b"RIFF":
        return raw
    begin = raw.find(b"data", 12)
    if begin < 0:
        raise ValueError("a WAV file without samples")
    return raw[begin + 8 :]


def joined(pieces: Iterable[bytes]) -> str:
    """Return samples in base64."""
    return base64.b64encode(b"".join(pieces)).decode()


def spoken(audio_id: str | None, pieces: list[bytes], expired_at: int | None) -> Mapping[str, Any]:
    """Return the `audio` of a message, or of a delta: its id once, and its end with the last."""
    begun = {} if audio_id is None else {"id": audio_id}
    data = {"data": joined(pieces)} if pieces else {}
    end = {} if expired_at is None else {"expires_at": expired_at, "transcript": ""}
    return {**begun, **data, **end}
