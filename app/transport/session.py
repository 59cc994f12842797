"""The `requests.Session` through which a process calls vendors.

Redirects are not followed: a vendor that redirects is configured wrongly, and a prompt must not go
elsewhere. Cookies are not kept, and `.netrc` is not read. Proxies and trusted certificates come
from the usual environment variables, once for each URL.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import requests
from requests.utils import select_proxy

from app.transport.adapter import ROUTES_LIMIT, LlhttpAdapter, StockAdapter
from app.transport.trust import ca_directory, trust_in

#: What TOLLGATE_HTTP_ADAPTER may be.
AdapterName = Literal["tollgate", "requests"]

ADAPTERS: Mapping[AdapterName, Callable[[str | None], StockAdapter]] = {
    "tollgate": LlhttpAdapter,
    "requests": StockAdapter,
}


@dataclass(frozen=True, slots=True)
class Destination:
    """A URL in requests' spelling, and the arguments of `Session.send` for it."""

    url: str
    arguments: Mapping[str, Any]

    @property
    def is_proxied(self) -> bool:
        """Whether a proxy is used."""
        return select_proxy(self.url, self.arguments["proxies"]) is not None


class VendorSession(requests.Session):
    """Sends requests that are made by hand, through the adapter of that name."""

    def __init__(self, env: Mapping[str, str], adapter: AdapterName = "tollgate") -> None:
        super().__init__()
        self._env = env
        self.adapter = ADAPTERS[adapter](ca_directory(env))
        for prefix in ("https://", "http://"):
            self.mount(prefix, self.adapter)
        #: As `_destination`, once for each URL.
        self.destination = functools.lru_cache(ROUTES_LIMIT)(self._destination)

    def send(
        self,
        request: requests.PreparedRequest,
        *,
        stream: bool | None = None,
        allow_redirects: bool = False,  # noqa: ARG002 - none are followed
        **kwargs: Any,
    ) -> requests.Response:
        """Send a request through the adapter, and read its response unless `stream`.

        requests' own method would look for redirects, cookies and hooks, which costs as much as to
        parse a response.
        """
        response = self.adapter.send(request, stream=bool(stream), **kwargs)
        if not stream:
            response.content  # noqa: B018 - reads it
        return response

    def _destination(self, url: str) -> Destination:
        """Return how `url` is reached.

        Raises: TrustUnreadable; requests.RequestException if the URL is invalid.
        """
        prepared = requests.Request("POST", url).prepare().url or url
        verify = trust_in(self._env).verify if prepared.startswith("https:") else True
        arguments = self.merge_environment_settings(prepared, {}, True, verify, None)
        return Destination(prepared, arguments)
