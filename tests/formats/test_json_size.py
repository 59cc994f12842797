"""The limits of a request's JSON; counts are right wherever its windows end."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats import json_size
from app.formats.json_size import DEPTH_LIMIT, LIMITS, SMALL_BYTES, check_size
from app.formats.strict_json import load_request
from app.vocabulary.errors import InvalidJSON

TEXTS = st.text(st.sampled_from('ab"\\[]{},:\n\u00e9'), max_size=8)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXTS),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=30,
)


def counted(value: Any) -> dict[str, int]:
    """Return the counts of a value, computed from the value itself."""
    counts = dict.fromkeys(LIMITS, 0)
    if isinstance(value, str):
        counts["strings"] = 1
    elif isinstance(value, list | dict):
        inner = value if isinstance(value, list) else [it for pair in value.items() for it in pair]
        counts["arrays and objects"] = 1
        counts["values"] = max(0, len(value) - 1)
        counts["keys"] = len(value) if isinstance(value, dict) else 0
        for one in inner:
            counts = {name: count + counted(one)[name] for name, count in counts.items()}
    return counts


@given(value=VALUES, window=st.integers(1, 40), ascii_only=st.booleans())
def test_each_limit_is_met_exactly_wherever_the_text_is_cut(
    value: Any, window: int, ascii_only: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    counts = counted(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_size, "_WINDOW_BYTES", window)
        patch.setattr(json_size, "LIMITS", counts)
        check_size(text)
        for name, count in counts.items():
            if count:
                patch.setattr(json_size, "LIMITS", counts | {name: count - 1})
                with pytest.raises(InvalidJSON, match=name):
                    check_size(text)


@pytest.mark.parametrize(
    ("piece", "most"),
    [
        (b"[]", LIMITS["arrays and objects"]),
        (b"1", LIMITS["values"]),
        (b'"x"', LIMITS["strings"]),
    ],
)
def test_a_request_that_holds_too_much_is_refused_with_the_limit(piece: bytes, most: int) -> None:
    body = b'{"a":[' + b",".join([piece] * (most + 10)) + b"]}"
    with pytest.raises(InvalidJSON, match=str(most)):
        load_request(body)


def test_what_people_send_is_no_more_than_a_request_may_hold() -> None:
    tokens = b'{"prompt":[' + b",".join([b"123456"] * 1_000_000) + b"]}"
    assert len(load_request(tokens)["prompt"]) == 1_000_000
    bias = {"logit_bias": dict.fromkeys(map(str, range(200_000)), -1)}
    assert load_request(json.dumps(bias).encode()) == bias
    code = {"prompt": 'if (a["x"] == [1, {}]) { return "\\\\"; }\n' * 200_000}
    assert load_request(json.dumps(code).encode()) == code


@pytest.mark.parametrize("filler", [0, SMALL_BYTES])
def test_nesting_is_limited_in_large_bodies_as_in_small_ones(filler: int) -> None:
    for depth in (DEPTH_LIMIT - 1, DEPTH_LIMIT):
        body = b'{"text":"%b","a":%b%b}' % (b"[" * filler, b"[" * depth, b"]" * depth)
        if depth < DEPTH_LIMIT:
            load_request(body)
        else:
            with pytest.raises(InvalidJSON, match="levels"):
                load_request(body)


def test_others_have_a_turn_while_a_body_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[float] = []
    monkeypatch.setattr(json_size, "give_turn", lambda: turns.append(time.perf_counter()))
    check_size(b'{"prompt":"' + b"x" * 10_000_000 + b'"}')
    assert len(turns) > 100
