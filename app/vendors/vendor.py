"""A vendor of the table as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.vocabulary.completion import Ending

#: Ways to send an API key in a header; ways to authenticate each request instead.
AUTH_HEADERS = ("bearer", "basic", "x-api-key", "api-key", "x-goog-api-key")
SIGNED = ("google", "aws")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Deadlines of one vendor call, in seconds.

    Bytes without a chunk (keep-alive comments, blank lines) do not extend any of them.
    """

    connect_s: float = 5.0
    #: For a stream: from the request to the first chunk.
    first_token_s: float = 300.0
    #: For a stream: from one chunk to the next.
    idle_s: float = 120.0
    total_s: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One entry of the vendor table; see docs/vendors.md for what each key means.

    `missing` is the name of a required setting that is not set, or None.
    """

    name: str
    gateway: str
    base_url: str
    #: Whether all variables of the base URL are set.
    has_base_url: bool = True
    api_key: str | None = field(default=None, repr=False)
    missing: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    auth: str = "bearer"
    models: tuple[str, ...] = ("*",)
    aliases: tuple[str, ...] = ()
    known_for: tuple[str, ...] = ()
    native: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    retries: int = 2
    unsupported: frozenset[str] = frozenset()
    drop_unsupported: bool = False
    list_prompts: bool = True
    max_n: int = 128
    max_stops: int = 4
    token_prompts: bool = False
    asks_usage: bool = True
    model_queries: bool = False
    on_disconnect: str = "cancel"
    finish_reasons: Mapping[str, Ending] = field(default_factory=dict)
    timeouts: Timeouts = field(default_factory=Timeouts)
    quirks: Mapping[str, Any] = field(default_factory=dict)

    def booked_name(self, model_name: str) -> str:
        """Return the name under which usage of a model is recorded: without a query, if it has one.

        The vendor gets the whole name all the same.
        """
        return model_name.partition("?")[0] if self.model_queries else model_name
