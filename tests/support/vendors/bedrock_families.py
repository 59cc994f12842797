"""What the families of raw-prompt models on Amazon Bedrock take and say, in their own JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.vendors.base import Finish, Said

Ranges = Mapping[str, tuple[float, float] | None]


@dataclass(frozen=True)
class RawFamily:
    """One family: its schema (None is a list of texts), and how it says an answer."""

    prompt: str
    ranges: Ranges
    finishes: Mapping[Finish, str]
    answer: Callable[[Said], Any]
    chunks: Callable[[Said], list[Any]]
    nested: bool = False
    streams: bool = True


def _metrics(said: Said) -> dict[str, Any]:
    counts = {
        "inputTokenCount": said.prompt_tokens,
        "outputTokenCount": said.completion_tokens,
        "invocationLatency": 551,
        "firstByteLatency": 220,
    }
    return {"amazon-bedrock-invocationMetrics": counts}


TITAN: Mapping[Finish, str] = {
    "stop": "FINISH",
    "length": "LENGTH",
    "content_filter": "CONTENT_FILTERED",
}


def _titan(said: Said) -> Any:
    result = {
        "tokenCount": said.completion_tokens,
        "outputText": said.text,
        "completionReason": TITAN[said.finish],
    }
    return {"inputTextTokenCount": said.prompt_tokens, "results": [result]}


def _titan_chunks(said: Said) -> list[Any]:
    def chunk(text: str, reason: str | None) -> dict[str, Any]:
        return {
            "outputText": text,
            "index": 0,
            "totalOutputTextTokenCount": said.completion_tokens if reason else None,
            "completionReason": reason,
            "inputTextTokenCount": said.prompt_tokens,
        }

    end = {**chunk("", TITAN[said.finish]), **_metrics(said)}
    return [*(chunk(piece, None) for piece in said.pieces()), end]


def _llama(said: Said) -> Any:
    return {
        "generation": said.text,
        "prompt_token_count": said.prompt_tokens,
        "generation_token_count": said.completion_tokens,
        "stop_reason": said.finish,
    }


def _llama_chunks(said: Said) -> list[Any]:
    pieces = [
        {
            "generation": piece,
            "prompt_token_count": None if at else said.prompt_tokens,
            "generation_token_count": at + 1,
            "stop_reason": None,
        }
        for at, piece in enumerate(said.pieces())
    ]
    end = {**_llama(said), "generation": "", "prompt_token_count": None, **_metrics(said)}
    return [*pieces, end]


def _mistral(said: Said) -> Any:
    return {"outputs": [{"text": said.text, "stop_reason": said.finish}]}


def _mistral_chunks(said: Said) -> list[Any]:
    pieces = [{"outputs": [{"text": piece, "stop_reason": None}]} for piece in said.pieces()]
    end = {"outputs": [{"text": "", "stop_reason": said.finish}], **_metrics(said)}
    return [*pieces, end]


COHERE: Mapping[Finish, str] = {
    "stop": "COMPLETE",
    "length": "MAX_TOKENS",
    "content_filter": "ERROR_TOXIC",
}


def _cohere(said: Said) -> Any:
    generation = {"finish_reason": COHERE[said.finish], "id": "g", "text": said.text}
    return {"generations": [generation], "id": "r", "prompt": "…"}


def _cohere_chunks(said: Said) -> list[Any]:
    pieces = [{"text": piece, "is_finished": False, "index": 0} for piece in said.pieces()]
    end = {"is_finished": True, "finish_reason": COHERE[said.finish], "response": _cohere(said)}
    return [*pieces, {**end, **_metrics(said)}]


JURASSIC: Mapping[Finish, str] = {"stop": "endoftext", "length": "length"}


def _jurassic(said: Said) -> Any:
    def tokens(count: int) -> list[Any]:
        return [{"generatedToken": {"token": "x"}, "topTokens": None}] * count

    completion = {
        "data": {"text": said.text, "tokens": tokens(said.completion_tokens)},
        "finishReason": {"reason": JURASSIC[said.finish]},
    }
    prompt = {"text": "…", "tokens": tokens(said.prompt_tokens)}
    return {"id": 1234, "prompt": prompt, "completions": [completion]}


TO_LENGTH: Mapping[Finish, str] = {"stop": "stop", "length": "length"}

#: By a part of the model's id.
FAMILIES: Mapping[str, RawFamily] = {
    "amazon.titan-text-": RawFamily(
        "inputText",
        {
            "maxTokenCount": (0, 8192),
            "temperature": (0, 1),
            "topP": (0, 1),
            "stopSequences": None,
        },
        TITAN,
        _titan,
        _titan_chunks,
        nested=True,
    ),
    "meta.llama": RawFamily(
        "prompt",
        {"max_gen_len": (1, 2048), "temperature": (0, 1), "top_p": (0, 1)},
        TO_LENGTH,
        _llama,
        _llama_chunks,
    ),
    "mistral.mi": RawFamily(
        "prompt",
        {
            "max_tokens": (1, 8192),
            "temperature": (0, 1),
            "top_p": (0, 1),
            "top_k": (0, 200),
            "stop": None,
        },
        TO_LENGTH,
        _mistral,
        _mistral_chunks,
    ),
    "cohere.command-text": RawFamily(
        "prompt",
        {
            "max_tokens": (1, 4096),
            "temperature": (0, 5),
            "p": (0, 1),
            "stop_sequences": None,
            "stream": (True, True),
        },
        COHERE,
        _cohere,
        _cohere_chunks,
    ),
    "ai21.j2-": RawFamily(
        "prompt",
        {
            "maxTokens": (0, 8191),
            "temperature": (0, 1),
            "topP": (0, 1),
            "stopSequences": None,
        },
        JURASSIC,
        _jurassic,
        lambda _: [],
        streams=False,
    ),
}
