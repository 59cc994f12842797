"""Scale Launch's tasks, whose container serves OpenAI's chat.

Source: scaleapi/llm-engine at a8236961: api/tasks_v1.py and inference/forwarding.
"""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.vendor import CUT, Asked, Reply, json_reply
from tests.support.vendors.chat.openai_like import OpenAIChat
from tests.support.vendors.chat.script import Answer, hung_up
from tests.support.vendors.llmengine import BASIC, ERRORS, sse, validation_error

#: What the container is: vLLM, whose errors the server tells as a task's.
CONTAINER = OpenAIChat(headers={}, types=None, reasons=("reasoning_content",))


class LaunchChat:
    """An endpoint's tasks."""

    model = "end_abc"

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what the server refuses, and the container."""
        url = urlsplit(asked.path)
        if url.path not in ("/v1/sync-tasks", "/v1/streaming-tasks"):
            return json_reply({"detail": "Not Found"}, 404)
        if any(asked.headers.get(name) != value for name, value in BASIC.items()):
            status, body = ERRORS["bad_key"]
            return json_reply(body, status)
        if parse_qs(url.query) != {"model_endpoint_id": [self.model]}:
            return json_reply({"detail": "The specified endpoint could not be found."}, 404)
        if set(asked.body) != {"args"}:
            return validation_error("args", "Field required")
        args = asked.body["args"]
        wrong = next(CONTAINER.problems(args), None)
        if wrong or args.get("stream", False) is not url.path.endswith("streaming-tasks"):
            return json_reply({"detail": f"The container refuses it: {wrong}"}, 400)
        return None

    def says(self, asked: Asked, said: Answer) -> Reply:
        """Answer as the container does, wrapped."""
        args = asked.body["args"]
        inner = CONTAINER.says(Asked(CONTAINER.path, {}, args, 0), said)
        steps = [step for step in inner.body if isinstance(step, bytes)]
        if not args.get("stream"):
            if said.breaks == "error":
                return json_reply({**_task(None), "status": "FAILURE", "status_code": 500})
            if said.breaks:
                return hung_up(_task(json.dumps(CONTAINER.whole(args, said))))
            return json_reply(_task(steps[0].decode()))
        events = [_task(step.decode().removeprefix("data: ").strip()) for step in steps]
        reply = sse(*events)
        if said.breaks == "hang_up":
            reply.body.append(CUT)
        return reply


def _task(text: str | None) -> dict[str, Any]:
    """Return a task that went well; the server passes the container's text on."""
    return {
        "status": "SUCCESS",
        "result": {"result": text},
        "traceback": None,
        "status_code": 200,
    }
