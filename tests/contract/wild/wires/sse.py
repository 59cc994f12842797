"""Writes server-sent events in a draft's style, and reads them back."""

import json
from typing import Any

from tests.contract.wild.draft import Draft, Event
from tests.support.vendor import Reply


def framed(draft: Draft, event: Event, text: str | None = None) -> bytes:
    """Return an event; where it is glued to the next one, no blank line parts them."""
    style = draft.style
    lines = list(style.before)
    if event.name and style.named:
        lines.append(f"event:{style.space}{event.name}")
    lines += [f"data:{style.space}{line}" for line in _lines(draft, event, text)]
    lines += style.after
    at = next(at for at, other in enumerate(draft.events) if other is event)
    is_glued, is_last = at in style.glued, at == len(draft.events) - 1
    blank = "" if is_glued or (is_last and not style.last_blank) else style.line_end
    return (style.line_end.join(lines) + style.line_end + blank).encode("utf-8", "surrogatepass")


def _lines(draft: Draft, event: Event, text: str | None) -> list[str]:
    if text is None:
        text = event.text
    if isinstance(event.body, str):
        return [text]
    if draft.style.spread:
        return json.dumps(json.loads(text), indent=1).split("\n")
    return [json.dumps(json.loads(text), ensure_ascii=False) if draft.style.raw else text]


def read_back(reply: Reply) -> list[tuple[str | None, Any]]:
    """Return the events of a streamed reply, each with its name and its JSON."""
    content = b"".join(step for step in reply.body if isinstance(step, bytes)).decode()
    found: list[tuple[str | None, Any]] = []
    for block in content.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line)
        if "data" in fields:
            found.append((fields.get("event"), json.loads(fields["data"])))
    return found
