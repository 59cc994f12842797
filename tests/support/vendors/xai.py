"""xAI's chat."""

from collections.abc import Mapping

from tests.support.vendor import Reply, json_reply
from tests.support.vendors.base import Kind, Said
from tests.support.vendors.openai_chat import PARAMETERS, Body, ChatWire


class XAIWire(ChatWire):
    """xAI: errors that are sentences, and reasoning counted apart from the completion."""

    def check_body(self, body: Body) -> Reply | None:
        """Refuse what models that reason refuse, beside the rest."""
        if body["model"].startswith("grok-4.3"):
            for name in ("stop", "presence_penalty", "frequency_penalty"):
                if name in body:
                    message = f"Model grok-4.3 does not support parameter {name}."
                    code = "Client specified an invalid argument"
                    return json_reply({"code": code, "error": message}, 400)
        return super().check_body(body)

    def usage(self, said: Said, n: int) -> Body:
        """Return the count of a call."""
        usage = super().usage(said, n)
        usage["completion_tokens"] -= said.reasoning_tokens * n
        return {**usage, "num_sources_used": 0, "cost_in_usd_ticks": 12}


XAI_ERRORS: Mapping[Kind, tuple[int, Body]] = {
    "too_long": (
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 131072.",
        },
    ),
    "bad_key": (
        401,
        {
            "code": "Unauthenticated",
            "error": "Incorrect API key provided: sk-test. Get one at https://console.x.ai.",
        },
    ),
    "rate_limited": (
        429,
        {"code": "Some resource has been exhausted", "error": "Too many requests."},
    ),
    "server_error": (500, {"code": "Internal error", "error": "Something went wrong."}),
}

XAI = XAIWire(
    model="grok-4.3",
    errors=XAI_ERRORS,
    parameters=PARAMETERS - {"logit_bias"},
)
