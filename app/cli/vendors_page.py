"""docs/vendors.md, made from the vendor table: what each supports, refuses and drops."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from app.gateways.base import Gateway
from app.gateways.families import GATEWAYS
from app.vendors.table import BUILT_IN
from app.vocabulary.completion import PARAMETERS

HEAD = """# Vendors

Made from `config/vendors.toml` by `tollgate vendors --markdown`; do not edit it here.

A model is `vendor/name`, and everything after the first slash is the vendor's own name for it. A
vendor works when its variables are set (`tollgate vendors` says which are missing, `--check`
whether it answers).

A model that matches one of a vendor's *native* patterns gets the prompt as it is, on the vendor's
own text-completions endpoint. Every other model gets it through chat: as one user's message,
whose answer becomes the text. Where a vendor says that a model is on the other endpoint, Tollgate
goes there, and remembers it.

A parameter that is *refused* is a 400 (`unsupported_parameter`) that names it, unless its value
changes nothing (`n: 1`, `echo: false`, `best_of` equal to `n`). With `drop_unsupported = true` in
the vendor's entry it is left out instead, and the header `x-tollgate-dropped` names it. Several
prompts, and more samples than one call can give, take several calls; `echo` is Tollgate's own
work in chat. `user` is never refused: where a vendor has no word for it, the usage event keeps
it.

A deployment adds vendors, or overrides single keys of these, in a file that `TOLLGATE_VENDORS`
names; the keys are explained at the head of `config/vendors.toml`.
"""


def vendors_page() -> str:
    """Return the page."""
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
        native = ", ".join(f"`{glob}`" for glob in _native(table)) or "none: all through chat"
        key = _code(table.get("api_key_env"))
        yield f"| [{name}](#{name}) | {table['gateway']} | {key} | {native} |"


def _section(table: Mapping[str, Any], note: str) -> Iterator[str]:
    if note:
        yield note
        yield ""
    yield f"- base URL: `{table['base_url']}`"
    family = GATEWAYS[table["gateway"]]
    for kind, gateway in (("native", family.native), ("chat", family.chat)):
        if gateway is not None and (kind == "chat" or _native(table)):
            yield f"- {kind}: refuses {_refused(table, gateway)}; {_shape(table, gateway)}"
    yield f"- a caller that hangs up: {table.get('on_disconnect', 'cancel')}"


def _native(table: Mapping[str, Any]) -> list[str]:
    family = GATEWAYS[table["gateway"]]
    globs: list[str] = table.get("native", ["*"] if family.native else [])
    return globs


def _refused(table: Mapping[str, Any], gateway: Gateway) -> str:
    refused = (set(table.get("unsupported", ())) | gateway.unsupported) - {"user"}
    if gateway.max_n == 1:
        refused.discard("n")  # several calls instead
    return ", ".join(f"`{name}`" for name in PARAMETERS if name in refused) or "nothing"


def _shape(table: Mapping[str, Any], gateway: Gateway) -> str:
    several = gateway.list_prompts and table.get("list_prompts", True)
    samples = min(gateway.max_n, table.get("max_n", gateway.max_n))
    prompts = "several prompts" if several else "one prompt"
    return f"{prompts} and up to {samples} sample{'s' * (samples > 1)} a call"


def _code(text: str | None) -> str:
    return f"`{text}`" if text else "none"


def _note(text: str, name: str) -> str:
    """Return the comment that stands right above an entry."""
    above = text.partition(f"\n[vendors.{name}]\n")[0]
    found = re.search(r"(?:\n#[^\n]*)+\Z", above)
    if found is None:
        return ""
    return " ".join(line.removeprefix("#").strip() for line in found[0].strip().split("\n"))
