"""The operations of the API: what each takes, and every answer that it may give."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from app.api.openapi.error_responses import error_responses, every_error
from app.vocabulary.errors import (
    AccountNotAllowed,
    InvalidAPIKey,
    InvalidRequest,
    LedgerUnavailable,
    ModelNotFound,
    ScopeMissing,
    TollgateError,
)

#: What any operation that asks for a key may answer with.
KEYED: tuple[type[TollgateError], ...] = (
    InvalidAPIKey,
    ScopeMissing,
    LedgerUnavailable,
    TollgateError,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `answers` is by status: what it says, then its media types."""

    method: str
    path: str
    name: str
    summary: str
    answers: dict[str, tuple[str, dict[str, Any]]]
    says: str = ""
    errors: Iterable[type[TollgateError]] = ()
    parameters: tuple[Any, ...] = ()
    body: str | None = None
    is_keyed: bool = True
    headers: dict[str, str] = field(default_factory=dict)

    def dump(self) -> dict[str, Any]:
        """Return it as an Operation Object."""
        described: dict[str, Any] = {
            "operationId": self.name,
            "summary": self.summary,
            "responses": self._responses(),
        }
        if self.says:
            described["description"] = self.says
        if self.parameters:
            described["parameters"] = list(self.parameters)
        if self.body:
            content = {"application/json": {"schema": _ref(self.body)}}
            described["requestBody"] = {"required": True, "content": content}
        if not self.is_keyed:
            described["security"] = []
        return described

    def _responses(self) -> dict[str, Any]:
        found = {
            status: {
                "description": says,
                "headers": _headers(self.headers),
                "content": {kind: {"schema": schema} for kind, schema in kinds.items()},
            }
            for status, (says, kinds) in self.answers.items()
        }
        return found | error_responses(self.errors)


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _headers(says: dict[str, str]) -> dict[str, Any]:
    always = {"x-request-id": "Names this request, in the logs and in the ledger."}
    return {
        name: {"description": text, "schema": {"type": "string"}}
        for name, text in (always | says).items()
    }


def _header(name: str, says: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "description": says,
        "schema": {"type": "string", **schema},
    }


ACCOUNT = _header(
    "x-selected-account-id", "The account that pays; a key of one account needs none."
)
TRACE = _header("traceparent", "W3C Trace Context; vendors are told, too.")
IDEMPOTENCY = _header(
    "idempotency-key",
    "Names this request for a day: whoever repeats it gets the first answer, at no further cost.",
    maxLength=255,
    pattern="^[!-~]+$",
)

_WORDS = {"type": "object", "additionalProperties": {"type": "string"}}
_PLAIN = {"type": "string"}

#: One event of a stream; an unnamed one is a `message`, and its data a completion, as JSON.
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["message", "done", "error"]},
        "data": {"type": "string"},
    },
}

COMPLETIONS = Operation(
    "post",
    "/v5/completions",
    "createCompletion",
    "Complete a prompt",
    says=(
        "Answers with one object, or with `stream` as server-sent events: chunks of the same shape,"
        " then `event: done`. A stream that fails ends in `event: error`, with an error as its"
        " data, and a connection that is cut. Fields that are not named here go to vendors that"
        " speak OpenAI's wire as they are; others refuse them, and the names of the chat API are"
        " refused everywhere."
    ),
    body="CompletionRequest",
    parameters=(ACCOUNT, IDEMPOTENCY, TRACE),
    answers={
        "200": (
            "The answer.",
            {"application/json": _ref("Completion"), "text/event-stream": _EVENT},
        )
    },
    headers={
        "x-tollgate-attempts": "Calls of vendors that it took.",
        "x-tollgate-dropped": "Parameters that the vendor did not get.",
        "x-tollgate-replay-of": "The request that had this idempotency key first.",
    },
    errors=tuple(every_error()),
)


def models(query: Iterable[Any]) -> Operation:
    """Return the list of models, whose query string the schema of its view describes."""
    return Operation(
        "get",
        "/v5/models",
        "listModels",
        "List what can be called",
        parameters=tuple(query),
        answers={"200": ("The models.", {"application/json": _ref("ModelList")})},
        errors=(InvalidRequest, *KEYED),
    )


MODEL = Operation(
    "get",
    "/v5/models/{model_id}",
    "retrieveModel",
    "Tell whether a model can be called",
    says="An id of the list that stands for several models is no model.",
    parameters=(
        {
            "name": "model_id",
            "in": "path",
            "required": True,
            "description": "`vendor/name`; its slashes may be coded as `%2F`.",
            "schema": {"type": "string"},
        },
    ),
    answers={"200": ("The model.", {"application/json": _ref("Model")})},
    errors=(ModelNotFound, *KEYED),
)


def report(path: str, name: str, summary: str, page: str, query: Iterable[Any]) -> Operation:
    """Return one of OpenAI's reports, whose query string the schema of its view describes."""
    return Operation(
        "get",
        path,
        name,
        summary,
        says=(
            "OpenAI's own API, with accounts where it says projects. A key with the scope `usage`"
            " sees its own accounts, one with `admin` sees all. Arrays are repeated, with or"
            " without `[]` after the name."
        ),
        parameters=tuple(query),
        answers={"200": ("The report.", {"application/json": _ref(page), "text/csv": _PLAIN})},
        headers={"x-tollgate-complete-until": "Up to when it is complete, in Unix seconds."},
        errors=(InvalidRequest, AccountNotAllowed, *KEYED),
    )


OURS = [
    Operation(
        "get",
        "/livez",
        "livez",
        "Whether the process answers",
        is_keyed=False,
        answers={"200": ("It does.", {"application/json": _WORDS})},
    ),
    Operation(
        "get",
        "/readyz",
        "readyz",
        "Whether what every request needs answers",
        is_keyed=False,
        answers={
            "200": ("It does.", {"application/json": {"type": "object"}}),
            "503": ("Something does not; it says what.", {"application/json": {"type": "object"}}),
        },
    ),
    Operation(
        "get",
        "/metrics",
        "metrics",
        "Metrics for Prometheus",
        is_keyed=False,
        answers={"200": ("Prometheus' text format.", {"text/plain": _PLAIN})},
    ),
    Operation(
        "get",
        "/openapi.json",
        "openapi",
        "This description",
        is_keyed=False,
        answers={"200": ("An OpenAPI document.", {"application/json": {"type": "object"}})},
    ),
    Operation(
        "get",
        "/docs",
        "docs",
        "This description, to be read",
        is_keyed=False,
        answers={"200": ("A page.", {"text/html": _PLAIN})},
    ),
]
