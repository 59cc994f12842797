"""Requests to vendors, as `requests.Session.send` takes them."""

from collections.abc import Callable, Mapping

import requests

from app.transport.http1.exchange import Exchange
from app.transport.http1.headers import LowerCaseHeaders, lower_case

#: Sent with every request unless its headers contain another value.
DEFAULT_HEADERS = {"accept-encoding": "identity", "user-agent": "tollgate"}


class OutgoingRequest(requests.PreparedRequest):
    """A request that is already encoded; its URL is one that requests has prepared.

    `PreparedRequest.prepare` would encode URL, headers and body again, at ten times the cost.
    `on_exchange` is called with the exchange just before the request is sent, so that the exchange
    can be shut down from another thread. Only our own adapter calls it.
    """

    def __init__(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        super().__init__()
        self.method, self.url, self.body = method, url, body
        length = {"content-length": str(len(body))}
        self.headers = LowerCaseHeaders({**DEFAULT_HEADERS, **lower_case(headers), **length})
        self._on_exchange = on_exchange

    def begin(self, exchange: Exchange) -> bool:
        """Call `on_exchange`, if there is one and it was not called before; return whether.

        It is dropped then: the call that it belongs to refers to this request, too.
        """
        notify, self._on_exchange = self._on_exchange, None
        if notify is None:
            return False
        notify(exchange)
        return True
