"""The operations of the API: parameters, bodies and every response."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from app.api.openapi.error_responses import error_responses
from app.api.openapi.examples import EXAMPLES, Example
from app.api.openapi.request_headers import ACCOUNT, IDEMPOTENCY, INCLUDE_COST, TRACE
from app.api.openapi.response_headers import answer_headers
from app.api.openapi.route_errors import KEYED, LIST, REPORT, of_generation
from app.vocabulary.errors import ModelNotFound, TollgateError


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `answers`: status -> description and schemas by media type."""

    method: str
    path: str
    name: str
    summary: str
    answers: dict[str, tuple[str, dict[str, Any]]]
    description: str = ""
    errors: Iterable[type[TollgateError]] = ()
    parameters: tuple[Any, ...] = ()
    body: str | None = None
    is_keyed: bool = True
    headers: dict[str, str] = field(default_factory=dict)

    def dump(self) -> dict[str, Any]:
        """Return OpenAPI's Operation Object."""
        described: dict[str, Any] = {
            "operationId": self.name,
            "summary": self.summary,
            "responses": self._responses(),
        }
        if self.description:
            described["description"] = self.description
        if self.parameters:
            described["parameters"] = list(map(self._parameter, self.parameters))
        if self.body:
            described["requestBody"] = {"required": True, "content": self._body()}
        if not self.is_keyed:
            described["security"] = []
        return described

    @property
    def example(self) -> Example | None:
        """A sample request with its answer; None if there is none."""
        return EXAMPLES.get(self.name)

    def _parameter(self, parameter: dict[str, Any]) -> dict[str, Any]:
        value = self.example and self.example.path.get(parameter["name"])
        return {**parameter, "example": value} if value else parameter

    def _body(self) -> dict[str, Any]:
        media: dict[str, Any] = {"schema": _ref(self.body or "")}
        if self.example and self.example.body:
            media["example"] = self.example.body
        return {"application/json": media}

    def _media(self, kind: str, schema: Any) -> dict[str, Any]:
        """Return OpenAPI's Media Type Object of an answer."""
        media: dict[str, Any] = {"schema": schema}
        if self.example and kind == "application/json":
            media["example"] = self.example.answer
        if self.example and kind == "text/event-stream":
            media["example"] = self.example.events()
        return media

    def _responses(self) -> dict[str, Any]:
        found = {
            status: {
                "description": description,
                "headers": answer_headers(self.headers),
                "content": {kind: self._media(kind, schema) for kind, schema in kinds.items()},
            }
            for status, (description, kinds) in self.answers.items()
        }
        return found | error_responses(self.errors)


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_PLAIN = {"type": "string"}

#: One event of a stream. An unnamed event is a `message`; its data is a completion in JSON.
_EVENT = {
    "type": "object",
    "properties": {
        "event": {
            "type": "string",
            "enum": ["message", "done", "error"],
            "description": "The event's name; `message` is not written.",
        },
        "data": {"type": "string", "description": "JSON; of `done`, `[DONE]`."},
    },
}


def _generation(path: str, name: str, summary: str, description: str, schema: str) -> Operation:
    """Return the operation of an endpoint that calls models."""
    return Operation(
        "post",
        path,
        name,
        summary,
        description=(
            f"{description} A failed stream ends with `event: error` and an aborted connection."
            " Fields that are not listed here are forwarded to OpenAI-compatible vendors and"
            " rejected for others."
        ),
        body=f"{schema}Request",
        parameters=(ACCOUNT, IDEMPOTENCY, INCLUDE_COST, TRACE),
        answers={
            "200": (
                "The completion.",
                {"application/json": _ref(schema), "text/event-stream": _EVENT},
            )
        },
        headers={
            "x-tollgate-attempts": "Number of vendor calls.",
            "x-tollgate-cost": "The cost in dollars, as it is booked, of an answer that is not"
            " streamed; absent if it is unknown.",
            "x-tollgate-dropped": "Parameters and other fields that were not sent.",
            "x-tollgate-replay-of": "The id of the first request with this idempotency key.",
        },
        errors=of_generation(),
    )


COMPLETIONS = _generation(
    "/v5/completions",
    "createCompletion",
    "Complete a prompt",
    "Responds with one object or, with `stream`, with server-sent events: chunks of the same shape,"
    " then `event: done`. Parameters of the chat API are rejected.",
    "Completion",
)

CHAT = _generation(
    "/v5/chat/completions",
    "createChatCompletion",
    "Answer a conversation",
    "Responds with one object or, with `stream`, with server-sent events: `ChatCompletionChunk`"
    " objects, then `event: done`. Values of a type that is not listed (of a part, a tool or a"
    " format) are forwarded to vendors that may know them.",
    "ChatCompletion",
)


def models(query: Iterable[Any]) -> Operation:
    """Return the operation that lists models, with these query parameters."""
    return _list("/v5/models", "listModels", "List the models", query, "ModelList")


def chat_models(query: Iterable[Any]) -> Operation:
    """Return the operation that lists models for chat, with these query parameters."""
    path, summary = "/v5/chat/completions/models", "List the models for chat"
    return _list(path, "listChatModels", summary, query, "ChatModelList")


def _list(path: str, name: str, summary: str, query: Iterable[Any], schema: str) -> Operation:
    return Operation(
        "get",
        path,
        name,
        summary,
        parameters=tuple(query),
        description="A vendor whose entry names no models has a pattern, such as `openai/*`: put"
        " the vendor's own name of a model in the place of `*`, and send that as `model`.",
        answers={"200": ("The models.", {"application/json": _ref(schema)})},
        errors=LIST,
    )


MODEL = Operation(
    "get",
    "/v5/models/{model_id}",
    "retrieveModel",
    "Get a model",
    description="A pattern of the list, such as `vendor/*`, is not a model.",
    parameters=(
        {
            "name": "model_id",
            "in": "path",
            "required": True,
            "description": "`vendor/name`; slashes may be encoded as `%2F`.",
            "schema": {"type": "string"},
        },
    ),
    answers={"200": ("The model.", {"application/json": _ref("Model")})},
    errors=(ModelNotFound, *KEYED),
)


UNTIL = {"x-tollgate-complete-until": "Unix seconds up to which every request is counted."}


def report(
    path: str, name: str, summary: str, page: str, query: Iterable[Any], *, of: str = "OpenAI's API"
) -> Operation:
    """Return the operation of a report in OpenAI's shape, with these query parameters."""
    return Operation(
        "get",
        path,
        name,
        summary,
        description=(
            f"{of}; its projects are Tollgate's accounts. A key with the scope `usage` sees"
            " its own accounts, a key with `admin` sees all. Repeat an array's parameter for each"
            " item, with or without `[]` after the name."
        ),
        parameters=tuple(query),
        answers={"200": ("The report.", {"application/json": _ref(page), "text/csv": _PLAIN})},
        headers=UNTIL if of == "OpenAI's API" else {},
        errors=REPORT,
    )
