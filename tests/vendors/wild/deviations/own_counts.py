"""What a usage may look like on the wires that are nobody else's."""

from collections.abc import Callable
from typing import Any

from tests.vendors.wild.deviations import Deviation
from tests.vendors.wild.deviations.counts import LOOSE, NONE, Variant, _counted
from tests.vendors.wild.draft import ABSENT, Body, Draft, Event
from tests.vendors.wild.truth import Told


def _google(prompt: Any, candidates: Any, total: Any) -> Body:
    named = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": candidates,
        "totalTokenCount": total,
    }
    return {name: value for name, value in named.items() if value is not ABSENT}


def _two(first: str, second: str) -> Callable[[Any, Any], Body]:
    def make(prompt: Any, completion: Any) -> Body:
        named = {first: prompt, second: completion}
        return {name: value for name, value in named.items() if value is not ABSENT}

    return make


_anthropic = _two("input_tokens", "output_tokens")
_converse = _two("inputTokens", "outputTokens")
_v1 = _two("num_prompt_tokens", "num_completion_tokens")
_invoke = _two("inputTokenCount", "outputTokenCount")

#: Family -> name -> usage. Streams of Google say the prompt's count all along, so that what is
#: left out at the end was told before.
USAGES: dict[str, dict[str, Variant]] = {
    "google": {
        "prompt and total": lambda d, p, c: (_google(p, ABSENT, p + c), Told(p, c)),
        "no total": lambda d, p, c: (_google(p, c, ABSENT), Told(p, c)),
        "the prompt alone": lambda d, p, c: (_google(p, ABSENT, ABSENT), Told(p)),
        "the prompt, and a null": lambda d, p, c: (_google(p, None, None), Told(p)),
        "floats": lambda d, p, c: (_google(float(p), float(c), float(p + c)), Told(p, c)),
        "a total below the sum": lambda d, p, c: (_google(p, c, p), Told(p, c)),
        "nonsense": lambda d, p, c: (_google(p, "x", None), Told(p)),
    },
    "cohere": {
        "no usage": lambda d, p, c: (ABSENT, NONE),
        "null": lambda d, p, c: (None, NONE),
        "tokens alone": lambda d, p, c: ({"tokens": _anthropic(p, c)}, Told(p, c)),
        "billed units that are null": lambda d, p, c: (
            {"billed_units": None, "tokens": _anthropic(p, c)},
            Told(p, c),
        ),
        "the prompt alone": lambda d, p, c: (
            {"billed_units": _anthropic(p, ABSENT)},
            Told(p),
        ),
        "the completion alone": lambda d, p, c: (
            {"billed_units": _anthropic(ABSENT, c)},
            Told(None, c),
        ),
    },
    "converse": {
        "no usage": lambda d, p, c: (ABSENT, NONE),
        "null": lambda d, p, c: (None, NONE),
        "the prompt alone": lambda d, p, c: (_converse(p, ABSENT), Told(p)),
        "no total": lambda d, p, c: (_converse(p, c), Told(p, c)),
        "the completion, and a null": lambda d, p, c: (_converse(None, c), Told(None, c)),
    },
    "v1": {
        "no usage": lambda d, p, c: (ABSENT, NONE),
        "the completion alone": lambda d, p, c: (_v1(None, c), Told(None, c)),
        "the prompt alone": lambda d, p, c: (_v1(p, None), Told(p)),
    },
}

INVOKE: dict[str, Variant] = {
    "no metrics": lambda d, p, c: (ABSENT, NONE),
    "the prompt alone": lambda d, p, c: (_invoke(p, ABSENT), Told(p)),
    "nonsense": lambda d, p, c: (_invoke("x", c), Told(None, c)),
}

#: Whole answers of Anthropic's; in a stream, the prompt was told before.
ANTHROPIC: dict[str, Variant] = {
    "no usage": lambda d, p, c: (ABSENT, NONE),
    "null": lambda d, p, c: (None, NONE),
    "no cache": lambda d, p, c: (_anthropic(p, c), Told(p, c)),
    "the prompt alone": lambda d, p, c: (_anthropic(p, ABSENT), Told(p)),
    "caches that are null": lambda d, p, c: (
        {
            **_anthropic(p, c),
            "cache_read_input_tokens": None,
            "cache_creation_input_tokens": None,
        },
        Told(p, c),
    ),
    "nonsense": lambda d, p, c: (_anthropic("x", c), LOOSE),
}


def _ending(change: Callable[[Draft, Body], Any], completion: bool) -> Callable[[Draft], None]:
    """Change the usage of Anthropic's last event but one; the first one's has told the prompt."""

    def apply(draft: Draft) -> None:
        end = draft.events[draft.first_of(lambda event: event.final)]
        end.body = {**end.body, "usage": change(draft, end.body["usage"])}
        told = draft.truth.told
        if not completion:
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
    start = draft.events[draft.first_of(lambda event: True)]
    del start.body["message"]["usage"]


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


def _table(family: str, usages: dict[str, Variant], **more: Any) -> list[Deviation]:
    return [_own(family, name, _counted(made), **more) for name, made in usages.items()]


STREAM: dict[str, Any] = {"stage": "spoken", "modes": ("stream",)}

OWN_COUNTS: tuple[Deviation, ...] = (
    *(one for family, usages in USAGES.items() for one in _table(family, usages)),
    _own("google", "no usage", _counted(lambda d, p, c: (ABSENT, NONE)), modes=("whole",)),
    *_table("invoke", INVOKE, rows=("bedrock:mistral", "bedrock:cohere")),
    *_table("anthropic", ANTHROPIC, modes=("whole",)),
    _own(
        "anthropic",
        "the output alone at the end",
        _ending(lambda d, usage: {"output_tokens": usage["output_tokens"]}, completion=True),
        source="karthink/gptel#1331",
        **STREAM,
    ),
    _own(
        "anthropic",
        "zeros for the input at the end",
        _ending(
            lambda d, usage: {**dict.fromkeys(usage, 0), "output_tokens": usage["output_tokens"]},
            completion=True,
        ),
        **STREAM,
    ),
    _own(
        "anthropic",
        "nulls for the caches at the end",
        _ending(
            lambda d, usage: {
                "input_tokens": None,
                "cache_read_input_tokens": None,
                "cache_creation_input_tokens": None,
                "output_tokens": usage["output_tokens"],
            },
            completion=True,
        ),
        source="use-agent-os/agent-os#1724",
        **STREAM,
    ),
    _own(
        "anthropic",
        "null at the end",
        _ending(lambda d, usage: None, completion=False),
        source="earendil-works/pi#6567",
        **STREAM,
    ),
    _own(
        "anthropic",
        "the prompt at the end alone",
        _prompt_last,
        source="0xPlaygrounds/rig#2235",
        **STREAM,
    ),
    _own("anthropic", "nothing at the start", _no_start, **STREAM),
    _own(
        "anthropic",
        "in an event before the reason's",
        _two_deltas,
        source="use-agent-os/agent-os#1725",
        **STREAM,
    ),
    _own(
        "converse",
        "before the reason",
        _metadata_first,
        source="anomalyco/opencode#46065",
        **STREAM,
    ),
    _own(
        "converse",
        "metadata again, without usage",
        _metadata_again,
        source="anomalyco/opencode#38712",
        **STREAM,
    ),
    _own("google", "after the reason", _usage_after, source="agentjido/req_llm#638", **STREAM),
)
