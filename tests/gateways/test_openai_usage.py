"""Where an OpenAI-like answer keeps its usage."""

from typing import Any

import pytest

from app.gateways.openai.usage import usage_in

COUNTS = {"prompt_tokens": 3, "completion_tokens": 2}


@pytest.mark.parametrize(
    ("body", "total"),
    [
        ({"usage": COUNTS}, 5),
        ({"x_groq": {"usage": COUNTS}}, 5),
        ({"usage": None, "x_groq": {"usage": COUNTS}}, 5),
        ({**COUNTS, "choices": []}, 5),
        ({"choices": []}, None),
        ({"usage": {}}, None),
        ({"usage": [3, 2]}, None),
    ],
)
def test_usage_is_found_wherever_an_answer_keeps_it(body: Any, total: int | None) -> None:
    found = usage_in("v", body)
    assert (found.total_tokens if found else None) == total
