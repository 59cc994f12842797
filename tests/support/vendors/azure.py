"""Azure OpenAI: OpenAI's wires at a deployment's path, with filters' verdicts in the answers."""

import re
from collections.abc import Mapping

from tests.support.vendor import Asked, Reply, json_reply, stream_reply
from tests.support.vendors.base import Kind, Said
from tests.support.vendors.openai import OpenAIWire
from tests.support.vendors.openai_chat import (
    ERRORS,
    NATIVE,
    Body,
    ChatWire,
    OpenAIChatWire,
    refused,
)


class AzureWire(OpenAIChatWire):
    """Azure: a deployment in the path, filters' verdicts in the answer."""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Azure refuses."""
        if asked.headers.get("api-key") != "sk-test":
            return self.refuse(asked, "bad_key")
        found = re.fullmatch(
            r"(?:/v1)?/openai/deployments/([^/?]+)/((?:chat/)?completions)\?api-version=([\w-]+)",
            asked.path,
        )
        if found is None or found[3] < "2024-09-01":
            return json_reply({"error": {"code": "404", "message": "Resource not found"}}, 404)
        if bool(NATIVE.search(found[1])) == found[2].startswith("chat"):
            operation = "chatCompletion" if found[2].startswith("chat") else "completion"
            message = f"The {operation} operation does not work with the specified model, m."
            return json_reply({"error": {"code": "OperationNotSupported", "message": message}}, 400)
        return None if "messages" not in asked.body else self.check_body(asked.body)

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer on the endpoint that was asked; a stream begins with the prompt's verdict."""
        if "messages" not in asked.body:
            return OpenAIWire().answer(asked, said)
        reply = ChatWire.answer(self, asked, said)
        if not asked.body.get("stream"):
            return reply
        verdict = {"prompt_index": 0, "content_filter_results": SAFE}
        empty = {"choices": [], "created": 0, "id": "", "model": "", "object": ""}
        first = {**empty, "prompt_filter_results": [verdict]}
        late = {
            "content_filter_offsets": {"check_offset": 1, "start_offset": 1, "end_offset": 9},
            "content_filter_results": SAFE,
            "finish_reason": None,
            "index": 0,
        }
        pieces = stream_reply(first, *reply.body[:2], {**empty, "choices": [late]})
        return stream_reply(*pieces.body, *reply.body[2:])

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return Azure's error of this kind."""
        return refused(AZURE_ERRORS, kind, retry_after)


SAFE = {"hate": {"filtered": False, "severity": "safe"}}

AZURE_ERRORS: Mapping[Kind, tuple[int, Body]] = {
    **ERRORS,
    "bad_key": (
        401,
        {
            "error": {
                "code": "401",
                "message": "Access denied due to invalid subscription key or wrong API endpoint.",
            }
        },
    ),
    "rate_limited": (429, {"error": {"code": "429", "message": "Rate limit is exceeded."}}),
    "server_error": (
        500,
        {"error": {"code": "InternalServerError", "message": "The server had an error."}},
    ),
}
