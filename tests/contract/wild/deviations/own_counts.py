"""Odd usage in formats of single vendors."""

from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import Deviation
from tests.contract.wild.deviations.usage_forms import C, Form, P, Slot, T, counted, filled, pair
from tests.contract.wild.draft import ABSENT, Draft, Event
from tests.contract.wild.truth import Told

anthropic = pair("input_tokens", "output_tokens")
converse = pair("inputTokens", "outputTokens")
v1 = pair("num_prompt_tokens", "num_completion_tokens")
invoke = pair("inputTokenCount", "outputTokenCount")
google = pair("promptTokenCount", "candidatesTokenCount")
CACHES = ("cache_read_input_tokens", "cache_creation_input_tokens")

#: Family -> name -> usage. A stream of Google's says the prompt's count all along.
FORMS: dict[str, dict[str, Form]] = {
    "google": {
        "prompt and total": Form({"promptTokenCount": P, "totalTokenCount": T}, "pc"),
        "no total": Form(google(P, C), "pc"),
        "the prompt alone": Form({"promptTokenCount": P}, "p"),
        "the prompt, and a null": Form({**google(P, None), "totalTokenCount": None}, "p"),
        "floats": Form(
            {**google(Slot.P_FLOAT, Slot.C_FLOAT), "totalTokenCount": Slot.T_FLOAT}, "pc"
        ),
        "a total below the sum": Form({**google(P, C), "totalTokenCount": P}, "pc"),
        "nonsense": Form({**google(P, "x"), "totalTokenCount": None}, "p"),
    },
    "cohere": {
        "no usage": Form(ABSENT, ""),
        "null": Form(None, ""),
        "tokens alone": Form({"tokens": anthropic(P, C)}, "pc"),
        "billed units that are null": Form({"billed_units": None, "tokens": anthropic(P, C)}, "pc"),
        "the prompt alone": Form({"billed_units": {"input_tokens": P}}, "p"),
        "the completion alone": Form({"billed_units": {"output_tokens": C}}, "c"),
    },
    "converse": {
        "no usage": Form(ABSENT, ""),
        "null": Form(None, ""),
        "the prompt alone": Form({"inputTokens": P}, "p"),
        "no total": Form(converse(P, C), "pc"),
        "the completion, and a null": Form(converse(None, C), "c"),
    },
    "v1": {
        "no usage": Form(ABSENT, ""),
        "the completion alone": Form(v1(None, C), "c"),
        "the prompt alone": Form(v1(P, None), "p"),
    },
}

INVOKE: dict[str, Form] = {
    "no metrics": Form(ABSENT, ""),
    "the prompt alone": Form({"inputTokenCount": P}, "p"),
    "nonsense": Form(invoke("x", C), "c"),
}

#: Whole answers of Anthropic's; in a stream, the prompt was told before.
ANTHROPIC: dict[str, Form] = {
    "no usage": Form(ABSENT, ""),
    "null": Form(None, ""),
    "no cache": Form(anthropic(P, C), "pc"),
    "the prompt alone": Form({"input_tokens": P}, "p"),
    "caches that are null": Form({**anthropic(P, C), **dict.fromkeys(CACHES)}, "pc"),
    "nonsense": Form(anthropic("x", C), "?"),
}

#: Of its last event but one.
ENDINGS: dict[str, tuple[Any, str]] = {
    "the output alone at the end": ({"output_tokens": C}, "karthink/gptel#1331"),
    "zeros for the input at the end": ({**anthropic(0, C), **dict.fromkeys(CACHES, 0)}, ""),
    "nulls for the input at the end": (
        {**anthropic(None, C), **dict.fromkeys(CACHES)},
        "use-agent-os/agent-os#1724",
    ),
    "null at the end": (None, "earendil-works/pi#6567"),
}


def _ending(template: Any) -> Callable[[Draft], None]:
    """Change the usage of Anthropic's last event but one; the first one's has told the prompt."""

    def apply(draft: Draft) -> None:
        end = draft.events[draft.first_of(lambda event: event.final)]
        told = draft.truth.told
        end.body = {**end.body, "usage": filled(template, 0, told.completion or 0)}
        if template is None:
            draft.truth.told = end.told = Told(told.prompt, None, told.cached)

    return apply


def _prompt_last(draft: Draft) -> None:
    """Say zeros first, and all of it at the end."""
    start = draft.events[draft.first_of(lambda event: event.told)]
    usage = dict.fromkeys(start.body["message"]["usage"], 0)
    start.body["message"] = {**start.body["message"], "usage": usage}
    start.told = None


def _no_start(draft: Draft) -> None:
    _prompt_last(draft)
    del draft.events[0].body["message"]["usage"]


def _two_deltas(draft: Draft) -> None:
    """Say the usage in one event, and the reason in another one."""
    at = draft.first_of(lambda event: event.final)
    end = draft.events[at]
    counts = {**end.body, "delta": {"stop_reason": None}}
    draft.events.insert(at, Event(counts, end.name, told=end.told, final=True))
    end.body = {name: value for name, value in end.body.items() if name != "usage"}


def _metadata_first(draft: Draft) -> None:
    at = draft.first_of(lambda event: event.name == "metadata")
    stop = draft.first_of(lambda event: event.name == "messageStop")
    draft.events[at], draft.events[stop] = draft.events[stop], draft.events[at]


def _metadata_again(draft: Draft) -> None:
    draft.events.append(Event({"metrics": {"latencyMs": 1}}, "metadata"))


def _usage_after(draft: Draft) -> None:
    """Say the usage in an event of its own, after the reason."""
    end = draft.events[-1]
    usage = end.body.pop("usageMetadata", None)
    if usage:
        told, end.told, end.final = end.told, None, False
        draft.events.append(Event({"usageMetadata": usage}, told=told, final=True))


def _own(family: str, name: str, apply: Callable[[Draft], None], **more: Any) -> Deviation:
    return Deviation(f"count: {name} ({family})", "counts", (family,), apply, **more)


def _table(family: str, forms: dict[str, Form], **more: Any) -> list[Deviation]:
    return [_own(family, name, counted(form), **more) for name, form in forms.items()]


STREAM: dict[str, Any] = {
    "stage": "spoken",
    "modes": ("stream",),
    "excludes": frozenset({"labels"}),
}

OWN_COUNTS: tuple[Deviation, ...] = (
    *(one for family, forms in FORMS.items() for one in _table(family, forms)),
    _own("google", "no usage", counted(Form(ABSENT, "")), modes=("whole",)),
    *_table("invoke", INVOKE, rows=("bedrock:mistral", "bedrock:cohere")),
    *_table("anthropic", ANTHROPIC, modes=("whole",)),
    *(
        _own("anthropic", name, _ending(template), source=source, **STREAM)
        for name, (template, source) in ENDINGS.items()
    ),
    *(
        _own(family, name, apply, source=source, **STREAM)
        for family, name, apply, source in (
            ("anthropic", "the prompt at the end alone", _prompt_last, "0xPlaygrounds/rig#2235"),
            ("anthropic", "nothing at the start", _no_start, "mlx-node/mlx-node#45"),
            ("anthropic", "before the reason", _two_deltas, "use-agent-os/agent-os#1725"),
            ("converse", "before the reason", _metadata_first, "anomalyco/opencode#46065"),
            ("converse", "metadata again", _metadata_again, "anomalyco/opencode#38712"),
            ("google", "after the reason", _usage_after, "agentjido/req_llm#638"),
        )
    ),
)
