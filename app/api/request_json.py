"""Parses a request's body as JSON, and says what it is if it is something else."""

from json import JSONDecodeError
from typing import Any

from flask import request

from app.api.mistakes.bodies import problem
from app.api.mistakes.json_syntax import explained
from app.formats import strict_json
from app.vocabulary.errors import InvalidJSON


def parsed(body: bytes) -> dict[str, Any]:
    """Return the JSON object in the current request's body.

    Raises: InvalidJSON, whose message never quotes a value of the body.
    """
    try:
        return strict_json.load_request(body)
    except InvalidJSON as exc:
        if found := problem(body, request.headers.get("content-type", "")):
            raise InvalidJSON(found) from exc
        if isinstance(cause := exc.__cause__, JSONDecodeError):
            sentence = explained(body, cause.msg, cause.lineno, cause.colno, cause.pos)
            raise InvalidJSON(sentence) from exc
        raise
