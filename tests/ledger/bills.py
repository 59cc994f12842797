"""Bills as vendors write them."""

import json
from datetime import date
from typing import Any

from app.ledger.slots import DAY_S
from tests.ledger.ledgers import MIDNIGHT_S

TODAY = date(2026, 5, 28)


CSV = "day,model,tokens\n2026-05-28,m-2026-01-01,5\n"


def bucket(*results: tuple[str, int, int], start_s: int = MIDNIGHT_S) -> dict[str, Any]:
    """Return a bucket of OpenAI's usage API, with other fields as well."""
    return {
        "object": "bucket",
        "start_time": start_s,
        "end_time": start_s + DAY_S,
        "results": [
            {"model": model, "input_tokens": a, "output_tokens": b, "num_model_requests": 1}
            for model, a, b in results
        ],
    }


def page(*buckets: dict[str, Any]) -> dict[str, Any]:
    return {"object": "page", "data": list(buckets), "has_more": False, "next_page": None}


def pages(*found: Any) -> bytes:
    return "\n".join(json.dumps(it) for it in found).encode()
