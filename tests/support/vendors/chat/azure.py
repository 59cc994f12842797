"""Azure OpenAI's chat: OpenAI's, with filters' verdicts."""

import re

from openai.types.chat.completion_create_params import CompletionCreateParams

from tests.support.vendor import Asked, Reply, json_reply, stream_reply
from tests.support.vendors.azure import AZURE_ERRORS, SAFE
from tests.support.vendors.chat.openai_like import Body, OpenAIChat
from tests.support.vendors.chat.openai_rules import openai
from tests.support.vendors.chat.script import Answer

_PATH = r"(?:/v1)?/openai/deployments/([^/?]+)/chat/completions\?api-version=([\w-]+)"
_EMPTY: Body = {"choices": [], "created": 0, "id": "", "model": "", "object": ""}


class AzureChat(OpenAIChat):
    """A deployment."""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Azure refuses."""
        if asked.headers.get("api-key") != "sk-test":
            return self.refuse(asked, "bad_key")
        found = re.fullmatch(_PATH, asked.path)
        if found is None or found[2] < "2024-09-01":
            return json_reply({"error": {"code": "404", "message": "Resource not found"}}, 404)
        return next((self.invalid(words) for words in self.problems(asked.body)), None)

    def whole(self, body: Body, said: Answer) -> Body:
        """Return a whole answer, with a verdict of each choice and of the prompt."""
        answer = super().whole(body, said)
        verdict = {"prompt_index": 0, "content_filter_results": SAFE}
        choices = [{**choice, "content_filter_results": SAFE} for choice in answer["choices"]]
        return {**answer, "choices": choices, "prompt_filter_results": [verdict]}

    def streamed(self, body: Body, said: Answer) -> Reply:
        """Return a stream; it begins with the prompt's verdict, and one without a delta follows."""
        reply = super().streamed(body, said)
        verdict = {"prompt_index": 0, "content_filter_results": SAFE}
        late = {
            "content_filter_offsets": {"check_offset": 1, "start_offset": 1, "end_offset": 9},
            "content_filter_results": SAFE,
            "finish_reason": None,
            "index": 0,
        }
        first = {**_EMPTY, "prompt_filter_results": [verdict]}
        return stream_reply(first, *reply.body[:2], {**_EMPTY, "choices": [late]}, *reply.body[2:])


AZURE = AzureChat(
    types=CompletionCreateParams, rules=[openai], errors=AZURE_ERRORS, refuses_in="refusal"
)
