"""Which JSON that came with status 200 is an error, although vendors mark errors in many ways."""

from collections.abc import Mapping
from typing import Any

from app.gateways.decoding.parsing import plain_mapping

#: Fields that say what has failed.
WORDS = ("detail", "error_message", "error_msg", "errors", "message", "msg")

#: Fields that say that it has failed, or how: of an object with others, `message` may be anything.
MARKS = ("code", "error_code", "object", "status", "status_code", "success", "type")

#: All fields of an error without the field `error`.
BARE = frozenset(
    {*WORDS, *MARKS, "details", "error_type", "id", "instance", "loc", "param", "path"}
    | {"reason", "request_id", "requestId", "result", "timestamp", "title", "trace_id"}
)

#: Parts of a mark that say that something has failed.
FAILED = ("bad", "err", "exce", "fail", "invalid", "limit", "time", "too many", "unavail")

#: The least number that says that something has failed.
LEAST_STATUS = 400


def error_in(payload: Any) -> Any:
    """Return the error in a JSON response that came with status 200, or None.

    OpenRouter puts it into the only choice, and some servers leave out the field `error`.
    """
    if not isinstance(payload, dict):
        return None
    if payload.get("error") or payload.get("object") == "error":
        return payload
    choices = payload.get("choices")
    if isinstance(choices, list) and len(choices) == 1 and plain_mapping(choices[0]).get("error"):
        return choices[0]["error"]
    groq = payload.get("x_groq")
    if groq and plain_mapping(groq).get("error"):
        return groq
    return None if choices else _bare(payload)


def _bare(payload: Mapping[str, Any]) -> Any:
    """Return the error that an object without choices is; None if it is none.

    It has only fields of an error, words, and no mark that nothing has failed. MiniMax has both in
    an object of their own.
    """
    verdict = plain_mapping(payload.get("base_resp"))
    if verdict.get("status_code"):
        return {"message": verdict.get("status_msg"), "code": verdict["status_code"]}
    body = {name: value for name, value in payload.items() if value or value is False}
    if not BARE.issuperset(body) or not any(name in body for name in WORDS):
        return None
    marks = [body[name] for name in MARKS if name in body]
    return payload if not marks or any(map(_says_failed, marks)) else None


def _says_failed(mark: Any) -> bool:
    if isinstance(mark, bool):
        return not mark  # of `success`
    if isinstance(mark, str) and not mark.isdigit():
        return any(part in mark.lower() for part in FAILED)
    return isinstance(mark, int | float | str) and float(mark) >= LEAST_STATUS
