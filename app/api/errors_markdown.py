"""Writes docs/errors.md: `python -m app.api.errors_markdown > docs/errors.md`."""

import sys
from collections.abc import Iterator

from app.api.error_codes import RETRIES, Entry, entries
from app.vocabulary.errors import SHOULD_RETRY, is_retried

HEAD = """# Errors

Generated from the error classes by `python -m app.api.errors_markdown`. Do not edit this page.

Every error of the API is a JSON object in OpenAI's shape, which the official clients parse:

```json
{"error": {"message": "`temperature` must be from 0 to 2.", "type": "invalid_request_error",
 "param": "temperature", "code": "invalid_value", "request_id": "req_...",
 "doc_url": "https://tollgate.example.com/docs/errors#invalid_value"}}
```

`message` is for people and may change. `code` is for programs and does not. `param` names the
faulty field. `request_id` is also in the header `x-request-id`: give it to the operator, who finds
the request by it. `doc_url` leads to the section below. If a request has several faults, `message`
states the first ones, and `details` lists up to 20, each with `message`, `param` and `code`.

A failed stream ends with `event: error`, whose data is the same object, and an aborted connection.

The official clients retry the statuses 408, 409, 429 and 500 and above by themselves, and obey the
headers `retry-after` and `x-should-retry`. Where a retry is useless or could cost twice, Tollgate
sends `x-should-retry: false`. An error of a vendor states how often Tollgate tried already.
"""


def errors_page() -> str:
    """Return the page in Markdown."""
    parts = [HEAD, "| code | status | retry |", "| --- | --- | --- |"]
    found = entries()
    for it in found:
        statuses = ", ".join(map(str, it.statuses))
        parts.append(f"| [`{it.code}`](#{it.code}) | {statuses} | {it.retry} |")
    for it in found:
        parts += ["", f"## {it.code}", "", *_section(it)]
    return "\n".join(parts) + "\n"


def _section(entry: Entry) -> Iterator[str]:
    yield from (f"{meaning}\n" for meaning in entry.meanings)
    yield f"- status: {', '.join(map(str, entry.statuses))}; `type`: `{entry.type}`"
    yield f"- who has to act: {' Or '.join(_started(it) for it in entry.acts)}"
    yield f"- retry: {RETRIES[entry.retry]}{_clients(entry)}"


def _started(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _clients(entry: Entry) -> str:
    is_final = entry.retry == "no" and any(map(is_retried, entry.statuses))
    return f" Sent with `{SHOULD_RETRY}: false`." if is_final else ""


if __name__ == "__main__":
    sys.stdout.write(errors_page())
