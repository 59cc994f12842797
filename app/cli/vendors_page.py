"""Generates docs/vendors.md from the vendor table."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.gateways.base import Gateway
from app.gateways.families import GATEWAYS
from app.vendors.table import BUILT_IN
from app.vocabulary.completion import PARAMETERS

HEAD = """# Vendors

Generated from `config/vendors.toml` by `tollgate vendors --markdown`. Do not edit this page.

A model is `vendor/name`; everything after the first slash is the vendor's own name for it. A
vendor is configured if its environment variables are set. `tollgate vendors` lists the missing
ones, and `tollgate vendors --check` checks that each vendor responds.

For a model that matches one of a vendor's *native* patterns, Tollgate sends the prompt unchanged
to the vendor's text-completions endpoint. For every other model, it sends the prompt as one user
message to the chat endpoint, and returns the assistant's message as the text. If a vendor responds
that a model belongs to the other endpoint, Tollgate uses that endpoint from then on.

A request with an *unsupported* parameter fails with status 400 (`unsupported_parameter`), unless
the value has no effect (`n: 1`, `echo: false`, `best_of` equal to `n`). With
`drop_unsupported = true` in the vendor's entry, the parameter is dropped instead, and the header
`x-tollgate-dropped` names it. Several prompts, and more samples than a call can return, become
several calls. For chat models, Tollgate adds the `echo` itself. `user` is always accepted: if the
vendor has no such parameter, only the usage event records it.

To add vendors, or to override single keys of an entry, set `TOLLGATE_VENDORS` to the path of your
own file. The head of `config/vendors.toml` explains the keys.
"""


def vendors_page() -> str:
    """Return the page in Markdown."""
    text = BUILT_IN.read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = tomllib.loads(text)["vendors"]
    parts = [HEAD, *_summary(tables)]
    for name in sorted(tables):
        parts += ["", f"## {name}", "", *_section(tables[name], _note(text, name))]
    return "\n".join(parts) + "\n"


def _summary(tables: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    yield "| vendor | gateway | key | native models |"
    yield "| --- | --- | --- | --- |"
    for name in sorted(tables):
        table = tables[name]
        native = ", ".join(f"`{glob}`" for glob in _native(table)) or "none (all use chat)"
        key = _code(table.get("api_key_env"))
        yield f"| [{name}](#{name}) | {table['gateway']} | {key} | {native} |"


def _section(table: Mapping[str, Any], note: str) -> Iterator[str]:
    if note:
        yield note
        yield ""
    yield f"- base URL: `{table['base_url']}`"
    direct, bridge = GATEWAYS[table["gateway"]].doors("completions")
    for kind, gateway in (("native", direct), ("chat", bridge)):
        if gateway is not None and (kind == "chat" or _native(table)):
            alone = table.get("quirks", {}).get("unsupported", ()) if kind == "native" else ()
            unsupported = _unsupported(table, gateway, alone)
            yield f"- {kind}: unsupported: {unsupported}; {_shape(table, gateway)}"
    yield f"- if the client disconnects: {table.get('on_disconnect', 'cancel')}"


def _native(table: Mapping[str, Any]) -> list[str]:
    family = GATEWAYS[table["gateway"]]
    globs: list[str] = table.get("native", ["*"] if family.native else [])
    return globs


def _unsupported(table: Mapping[str, Any], gateway: Gateway[Any], alone: Iterable[str]) -> str:
    """Return the parameters that neither the entry nor the gateway supports, `alone` included."""
    unsupported = ({*table.get("unsupported", ()), *alone} | gateway.unsupported) - {"user"}
    if gateway.max_n == 1:
        unsupported.discard("n")  # several calls instead
    return ", ".join(f"`{name}`" for name in PARAMETERS if name in unsupported) or "none"


def _shape(table: Mapping[str, Any], gateway: Gateway[Any]) -> str:
    several = gateway.list_prompts and table.get("list_prompts", True)
    samples = min(gateway.max_n, table.get("max_n", gateway.max_n))
    prompts = "several prompts" if several else "one prompt"
    return f"{prompts} and up to {samples} sample{'s' * (samples > 1)} per call"


def _code(text: str | None) -> str:
    return f"`{text}`" if text else "none"


def _note(text: str, name: str) -> str:
    """Return the comment directly above an entry."""
    above = text.partition(f"\n[vendors.{name}]\n")[0]
    found = re.search(r"(?:\n#[^\n]*)+\Z", above)
    if found is None:
        return ""
    return " ".join(line.removeprefix("#").strip() for line in found[0].strip().split("\n"))
