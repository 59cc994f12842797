"""Knobs: the options of the sandbox, given in the model's name.

`echo?words=50&delay_ms=20` returns fifty words, one every twenty milliseconds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl

from app.sandbox.errors import SandboxError
from app.sandbox.problems import did_you_mean

MODEL = "echo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """The options of one request; None: not given."""

    #: Length of each choice in words; default: the prompt's length.
    words: int | None = None
    #: Pause before each word. Without `stream`, all pauses come before the response.
    delay_ms: float = 0.0
    #: Pause before anything else, in seconds.
    hang_s: float = 0.0
    #: Fail with this HTTP status.
    status: int | None = None
    #: How many equal requests fail before one succeeds; default: all, if there is a status.
    fail_first: int | None = None
    #: The `retry-after` header of that error, in seconds.
    retry_after: int | None = None
    #: Abort the connection after this many words, including an echoed prompt.
    cut_after: int | None = None
    #: Chat: how many calls of tools to make, even if nothing demands one.
    calls: int | None = None
    #: Chat: how many words of reasoning come before the text.
    reasoning: int | None = None


#: Knobs of chat alone.
CHAT_KNOBS = ("calls", "reasoning")

#: Knob -> its type, lowest and highest value.
RANGES: dict[str, tuple[Callable[[str], int | float], float, float]] = {
    "words": (int, 0, 10_000),
    "delay_ms": (float, 0, 60_000),
    "hang_s": (float, 0, 3_600),
    "status": (int, 400, 599),
    "fail_first": (int, 0, 100),
    "retry_after": (int, 0, 86_400),
    "cut_after": (int, 0, 10_000),
    "calls": (int, 1, 16),
    "reasoning": (int, 0, 10_000),
}


def parse_model(model: str) -> Knobs:
    """Return the knobs in `model`.

    Raises: SandboxError; 404 for a model other than echo, 400 for an invalid knob.
    """
    name, _, query = model.partition("?")
    if name != MODEL:
        message = (
            f"The model `{name[:64]}` does not exist. The sandbox has only `{MODEL}`, with its "
            f"parameters after a `?`, such as `{MODEL}?words=50`."
        )
        raise SandboxError(message, status=404, param="model", code="model_not_found")
    settings: dict[str, int | float] = {}
    for knob, text in parse_qsl(query, keep_blank_values=True):
        if knob in settings:
            raise SandboxError(f"The parameter `{knob}` is set twice.", param="model")
        settings[knob] = _number(knob, text)
    if "retry_after" in settings and not settings.keys() & {"status", "fail_first"}:
        message = "The parameter `retry_after` needs `status` or `fail_first`."
        raise SandboxError(message, param="model")
    return Knobs(**settings)  # type: ignore[arg-type]  # RANGES has each field's type


def _number(knob: str, text: str) -> int | float:
    if knob not in RANGES:
        known = ", ".join(RANGES)
        hint = did_you_mean(knob, RANGES)
        message = f"The sandbox has no parameter `{knob[:64]}`.{hint} Its parameters are {known}."
        raise SandboxError(message, param="model")
    convert, lowest, highest = RANGES[knob]
    try:
        number = convert(text)
    except ValueError:
        number = float("nan")
    if not lowest <= number <= highest:
        kind = "a whole number" if convert is int else "a number"
        raise SandboxError(
            f"The parameter `{knob}` must be {kind} from {lowest} to {highest}, not {text[:64]!r}.",
            param="model",
        )
    return number
