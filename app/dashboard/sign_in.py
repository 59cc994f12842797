"""Who looks at the dashboard: signing in with an API key, the cookie, and forms that are ours.

The cookie holds a random token; neither the key nor its id is in it. A session ends when it is 12
hours old, at sign-out, and with its key.
"""

import hashlib
import hmac
import re
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from flask import Response, g, redirect, request, url_for
from werkzeug.exceptions import HTTPException

from app.accounts.accounts import Accounts
from app.accounts.apikey import ApiKey
from app.api.auth import note_refused
from app.container import services
from app.dashboard.sessions import SESSION_S, Sessions
from app.dashboard.site import dashboard_blueprint, page
from app.vocabulary.errors import InvalidAPIKey, InvalidRequest, PermissionDenied, RequestTimeout

#: Scopes that let a key's holder in.
SCOPES = frozenset({"usage", "admin"})

#: The browser keeps a `__Host-` cookie to this host and to https, whatever a neighbour sets.
COOKIE, SECURE_COOKIE = "tollgate", "__Host-tollgate"

#: No form of ours is larger, and anybody can send one.
FORM_LIMIT_BYTES = 16 * 1024

#: What can be seen without a session.
_OPEN = frozenset({"dashboard.sign_in", "dashboard.submit_sign_in", "dashboard.static"})

_OWN_PAGE = re.compile(r"/dashboard(/[a-z]+)?(\?[!-~]*)?")


@dataclass(frozen=True, slots=True)
class SessionUser:
    """Who has signed in: the session's key and its token."""

    key: ApiKey
    token: str

    @property
    def is_admin(self) -> bool:
        """Whether all accounts are shown."""
        return "admin" in self.key.scopes

    @property
    def account_ids(self) -> frozenset[str] | None:
        """The accounts to show; None is all of them."""
        return None if self.is_admin else frozenset(self.key.account_ids)

    @property
    def form_token(self) -> str:
        """What the session's own forms carry, and no other site knows."""
        return hmac.new(self.token.encode(), b"form", hashlib.sha256).hexdigest()


def current_user() -> SessionUser:
    """Return who looks at the current page."""
    found: SessionUser = g.current_user
    return found


@dashboard_blueprint.before_request
def _let_in() -> Response | None:
    if request.method == "POST":
        request.max_content_length = FORM_LIMIT_BYTES
        _require_own_form()
        _require_whole_form()
    if request.endpoint in _OPEN:
        return None
    found = _visitor()
    if found is None:
        return _redirect(url_for("dashboard.sign_in", next=_here()))
    g.current_user = found
    g.api_key_id = found.key.key_id
    return None


@dashboard_blueprint.get("/sign-in")
def sign_in() -> Response:
    """Show the form."""
    return page("sign_in.html", next_page=_next_page(request.args.get("next", "")))


@dashboard_blueprint.post("/sign-in")
def submit_sign_in() -> Response:
    """Begin a session for the holder of a key."""
    next_page = _next_page(request.form.get("next", ""))
    try:
        key = _checked_key(request.form.get("api_key", "").strip())
    except (InvalidAPIKey, PermissionDenied) as exc:
        g.error_code = exc.code
        return page("sign_in.html", exc.status, next_page=next_page, problem=exc.message)
    g.api_key_id = key.key_id
    response = _redirect(next_page)
    response.set_cookie(
        _cookie_name(),
        Sessions(services().engine).begin(key),
        max_age=SESSION_S,
        secure=_is_https(),
        httponly=True,
        samesite="Strict",
    )
    return response


@dashboard_blueprint.post("/sign-out")
def sign_out() -> Response:
    """End the session."""
    if not hmac.compare_digest(
        current_user().form_token.encode(), request.form.get("form_token", "").encode()
    ):
        raise PermissionDenied("This form is not of this session. Reload the page and try again.")
    Sessions(services().engine).end(current_user().token)
    response = _redirect(url_for("dashboard.sign_in"))
    response.delete_cookie(_cookie_name(), secure=_is_https(), httponly=True, samesite="Strict")
    return response


def _checked_key(secret: str) -> ApiKey:
    try:
        key = services().keyring.authenticate(secret)
    except InvalidAPIKey:
        note_refused(secret)
        raise
    if key.scopes.isdisjoint(SCOPES):
        raise PermissionDenied(
            "This key may not read usage: it has neither the scope `usage` nor `admin`."
        )
    return key


def _visitor() -> SessionUser | None:
    token = request.cookies.get(_cookie_name())
    if not token or not token.isascii():
        return None
    engine = services().engine
    key_id = Sessions(engine).key_id(token)
    key = Accounts(engine).get_key(key_id) if key_id is not None else None
    if key is None or not key.is_live(int(time.time() * 1000)) or key.scopes.isdisjoint(SCOPES):
        return None
    return SessionUser(key, token)


def _require_own_form() -> None:
    """Check that a form was sent from a page of ours, as every browser tells.

    Raises: PermissionDenied. What is no browser tells nothing, and has no cookies of another.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:  # not sent over plain http
        own = site == "same-origin"
    else:
        own = origin is None or urlsplit(origin).netloc == request.host
    if not own:
        raise PermissionDenied("This form was sent from another site.")


def _require_whole_form() -> None:
    """Read the form, which is kept.

    Raises: RequestTimeout, InvalidRequest; what is too large is refused by werkzeug.
    """
    try:
        _ = request.form
    except HTTPException as exc:
        if isinstance(exc.__context__, TimeoutError):  # werkzeug takes it for a caller that left
            raise RequestTimeout("The form takes too long to arrive.") from exc
        raise
    except Exception as exc:  # whatever the server says of it: it is the caller's that is broken
        raise InvalidRequest("The form did not arrive whole.") from exc


def _next_page(asked: str) -> str:
    return asked if _OWN_PAGE.fullmatch(asked) else url_for("dashboard.overview")


def _here() -> str:
    return request.full_path.rstrip("?") if request.method == "GET" else ""


def _redirect(where: str) -> Response:
    response = redirect(where, 303)
    response.headers["cache-control"] = "no-store"
    return response  # type: ignore[return-value]


def _is_https() -> bool:
    """Say whether the browser speaks https, also to a proxy that speaks http to us.

    A caller that makes this up gets a cookie that its own browser does not send back.
    """
    return request.is_secure or request.headers.get("x-forwarded-proto", "") == "https"


def _cookie_name() -> str:
    return SECURE_COOKIE if _is_https() else COOKIE
