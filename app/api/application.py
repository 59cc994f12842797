"""The Flask application without what Tollgate does not use: sessions, subdomains, coroutines."""

import re
from collections.abc import Callable
from typing import Any

from flask import Flask, Request, Response, request
from flask.sessions import NullSession, SessionInterface
from werkzeug.routing import MapAdapter
from werkzeug.wrappers import Response as BaseResponse

#: To a browser's preflight. A page shows its key to everybody who opens it.
_NO_CORS = (
    "Tollgate has no CORS headers, so that no page of another site calls it: the API key would be "
    "everybody's. Call Tollgate from your server.\n"
)

_SLASHES = re.compile("/{2,}")

#: A host that needs no encoding and cannot be invalid.
_PLAIN_HOST = re.compile(r"[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,9}(?::[0-9]{1,5})?")


class _NoSessions(SessionInterface):
    """Gives every request the same session, which holds nothing and cannot be changed."""

    _session = NullSession()

    def open_session(self, app: Flask, request: Request) -> NullSession:  # noqa: ARG002
        """Return the session; Flask would look for a secret key and for a cookie."""
        return self._session


class Application(Flask):
    """A Flask app that closes a response whose processing fails, so that its usage is recorded.

    All views are synchronous.
    """

    session_interface = _NoSessions()

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Serve a request; `//`, which a base URL that ends in a slash produces, counts as `/`."""
        if "//" in environ["PATH_INFO"]:
            environ["PATH_INFO"] = _SLASHES.sub("/", environ["PATH_INFO"])
        return super().wsgi_app(environ, start_response)

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return what finds the route of a request.

        No route depends on the host, which Flask would read twice and encode.
        """
        if request is None:
            return super().create_url_adapter(None)
        environ = request.environ
        host = environ.get("HTTP_HOST") or environ["SERVER_NAME"]
        if "HTTP_UPGRADE" in environ or not _PLAIN_HOST.fullmatch(host):
            return super().create_url_adapter(request)
        return MapAdapter(
            self.url_map,
            host,
            request.root_path or "/",
            "",
            request.scheme,
            request.path,
            request.method,
        )

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function unchanged: Flask would inspect it on each call for a coroutine."""
        return func

    def make_default_options_response(self) -> Response:
        """Return the methods of a path; to a browser that asks for another site, why it may not."""
        response = super().make_default_options_response()
        if "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.environ:
            response.set_data(_NO_CORS)
            response.mimetype = "text/plain"
        return response

    def redirect(self, location: str, code: int = 302) -> BaseResponse:
        """Return a redirect without a body: Flask's would have a page of its own words."""
        response = super().redirect(location, code)
        response.set_data(b"")
        return response

    def process_response(self, response: Response) -> Response:
        """Close the response if it cannot be processed: another one takes its place."""
        try:
            return super().process_response(response)
        except BaseException:
            response.close()
            raise
