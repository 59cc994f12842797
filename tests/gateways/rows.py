"""A vendor entry under test, and its decoded responses."""

import functools
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import strategies as st

from app.gateways.base import Gateway
from app.gateways.families import GATEWAY_SPECS, GATEWAYS
from app.vendors.table import VendorTable, load_vendors
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Ending, Usage
from app.vocabulary.errors import GatewayError
from tests.gateways.reading import chunks_of, cut, decode


@functools.cache
def _table(key_env: str) -> VendorTable:
    return load_vendors(None, {key_env: "sk-test"}, GATEWAY_SPECS)


class Row:
    """One vendor's gateway, with the built-in entry, `keys` over it and a key for it."""

    def __init__(self, name: str, key_env: str = "", *, native: bool = False, **keys: Any) -> None:
        found = next(vendor for vendor in _table(key_env) if vendor.name == name)
        fields = {field: getattr(found, field) for field in found.__dataclass_fields__}
        self.vendor = Vendor(**(fields | keys))
        family = GATEWAYS[found.gateway]
        gateway = family.doors("completions")[0 if native else 1]
        assert gateway is not None
        self.gateway: Gateway[CompletionRequest] = gateway

    def asks(self, model: str = "m", **fields: Any) -> CompletionRequest:
        """Return a request of this vendor's model."""
        asked = {"prompt": "hi", **fields}
        return CompletionRequest(model=f"{self.vendor.name}/{model}", **asked)

    def sent(self, model: str = "m", **fields: Any) -> dict[str, Any]:
        """Return the body that the vendor gets for a request with these fields."""
        body = self.gateway.encode(self.vendor, self.asks(model, **fields)).body
        return dict(json.loads(body))

    def decoded(self, body: Any, **fields: Any) -> Completion:
        """Return what becomes of a whole answer, given as JSON or bytes."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return decode(self.gateway, self.vendor, self.asks(**fields), raw)

    def chunks(
        self, stream: Iterable[bytes], size: int | None = None, **fields: Any
    ) -> list[Completion]:
        """Return the chunks of a stream, which comes in packets of `size` bytes or all at once."""
        asked = self.asks(stream=True, **fields)
        return chunks_of(self.gateway, self.vendor, asked, cut(b"".join(stream), size))

    def refusal(self, body: Any, **fields: Any) -> GatewayError:
        """Return the error that a whole answer turns out to be."""
        with pytest.raises(GatewayError) as caught:
            self.decoded(body, **fields)
        return caught.value

    def broken(self, stream: Iterable[bytes], **fields: Any) -> GatewayError:
        """Return the error that a stream ends in."""
        with pytest.raises(GatewayError) as caught:
            self.chunks(stream, **fields)
        return caught.value

    def error(self, status: int, body: Any, **headers: str) -> GatewayError:
        """Return the error that a response with this status means."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.gateway.decode_error(self.vendor, status, named, raw)


def told(chunks: Iterable[Completion]) -> tuple[str, list[Ending], Usage | None]:
    """Return a stream's text, its finish reasons (there is to be one), and its last usage."""
    text, reasons, usage = "", list[Ending](), None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            assert choice.index == 0
            text += choice.text
            reasons += [choice.finish_reason] if choice.finish_reason else []
    return text, reasons, usage


def json_values(*words: str) -> st.SearchStrategy[Any]:
    """Return arbitrary JSON whose objects have these words as keys, and now and then as values."""
    numbers = st.booleans() | st.integers() | st.floats(allow_nan=False)
    leaves = st.none() | numbers | st.text(max_size=5) | st.sampled_from(words)
    keys = st.sampled_from(words)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    )


def bodies(*words: str) -> st.SearchStrategy[bytes]:
    """Return arbitrary bytes, most of them JSON with these words in it."""
    return st.binary(max_size=40) | json_values(*words).map(
        lambda value: json.dumps(value).encode()
    )
