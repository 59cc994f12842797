"""The samples on the page of the API: requests for curl, answers, and the rows of its tables."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.api.openapi.examples import EXAMPLES
from app.api.openapi.field_texts import fields_in

#: What stands for the address of a page that was asked for without one.
SOMEWHERE = "https://tollgate.example.com"


def curl(operation_id: str, method: str, path: str, origin: str, is_keyed: bool) -> str:
    """Return a command that makes the operation's sample request."""
    example = EXAMPLES.get(operation_id)
    url, lines = f"{origin}{path}", []
    if example is not None:
        for name, value in example.path.items():
            url = url.replace(f"{{{name}}}", value)
        url += f"?{example.query}" if example.query else ""
    lines.append(f'curl "{url}"')
    if is_keyed:
        lines.append('-H "Authorization: Bearer $OPENAI_API_KEY"')
    if method == "post" and example is not None and example.body is not None:
        lines.append('-H "Content-Type: application/json"')
        lines.append(f"-d '{pretty(example.body)}'")
    return " \\\n  ".join(lines)


def pretty(value: Any) -> str:
    """Return JSON for people: short objects and arrays in one line."""
    return _written(value, 0)


def _written(value: Any, depth: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(flat) + 2 * depth <= 72:
        return flat
    inner = "  " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {_written(it, depth + 1)}" for name, it in value.items()]
        opening, closing = "{}"
    else:
        parts = [_written(it, depth + 1) for it in value]
        opening, closing = "[]"
    joined = f",\n{inner}".join(parts)
    return f"{opening}\n{inner}{joined}\n{'  ' * depth}{closing}"


def inner_fields(schema: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields inside of a field of a body, each once, as `messages.content.text`.

    A field that objects of several kinds have, such as `role`, has the values of all of them.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for path, field in fields_in(schema, name):
        found.setdefault(path, []).append(field)
    for path, fields in found.items():
        yield path, _merged(fields)


def _merged(fields: list[dict[str, Any]]) -> dict[str, Any]:
    if all("enum" in field for field in fields):
        values = [value for field in fields for value in field["enum"]]
        return {**fields[0], "enum": list(dict.fromkeys(values))}
    return {"oneOf": fields, "description": fields[0].get("description", "")}


def sample_errors(operation: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the status and the body of an operation's sample errors."""
    return [
        (status, content["example"])
        for status, response in operation["responses"].items()
        for content in response.get("content", {}).values()
        if int(status) >= 400 and "example" in content
    ]


def quickstart(origin: str, model: str) -> dict[str, str]:
    """Return the samples with which a caller begins, for an address and a model."""
    found = {name: text.replace("ORIGIN", origin) for name, text in _QUICKSTART.items()}
    return {"model": model, **{name: it.replace("MODEL", model) for name, it in found.items()}}


_QUICKSTART: Mapping[str, str] = {
    "exports": 'export OPENAI_BASE_URL="ORIGIN/v5"\nexport OPENAI_API_KEY="tg_..."',
    "curl": """\
curl -N "ORIGIN/v5/chat/completions" \\
  -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "MODEL", "stream": true,
       "messages": [{"role": "user", "content": "Say this is a test"}]}'""",
    "python": """\
# pip install openai
from openai import OpenAI

client = OpenAI(base_url="ORIGIN/v5")  # the key is in OPENAI_API_KEY
stream = client.chat.completions.create(
    model="MODEL",
    messages=[{"role": "user", "content": "Say this is a test"}],
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="", flush=True)
print()""",
    "node": """\
// npm install openai, then run this as start.mjs
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "ORIGIN/v5" }); // the key is in OPENAI_API_KEY
const stream = await client.chat.completions.create({
  model: "MODEL",
  messages: [{ role: "user", content: "Say this is a test" }],
  stream: true,
});
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0].delta.content ?? "");
}
console.log();""",
    "models": 'curl "ORIGIN/v5/models" -H "Authorization: Bearer $OPENAI_API_KEY"',
}
