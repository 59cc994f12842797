"""The tools that a model may call, and its calls of them."""

from collections.abc import Mapping
from typing import Any, Literal

from app.vocabulary.value_type import value_type


@value_type(kw_only=True)
class Tool:
    """A tool that the model may call. `parameters` is a JSON Schema; None: it takes no arguments.

    `type` is `function`, `custom`, or a vendor's own word; then the rest is in `source` alone.
    """

    type: str
    path: str
    source: Mapping[str, Any]
    name: str = ""
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    strict: bool | None = None


@value_type()
class ToolChoice:
    """Which tools the model may, or must, call.

    `mode`: none, auto, required; `named`: it must call the tool `names[0]`; `allowed`: it may, or
    if `is_required` must, call one of `names`.
    """

    mode: Literal["none", "auto", "required", "named", "allowed"]
    names: tuple[str, ...] = ()
    is_required: bool = False


@value_type()
class ToolCall:
    """A call of a tool; in a stream's delta, a piece of it.

    `index` counts the calls of one choice. `arguments` is a text, which need not be valid JSON.
    A call of a custom tool has its input there. `extra` holds fields that the contract does not
    name, such as `extra_content`.
    """

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    type: str = "function"
    extra: Mapping[str, Any] | None = None
