"""Sign-in to the dashboard with an API key, its session cookie, and checks of its forms.

The cookie contains a random token, not the key or its id. A session ends after 12 hours, at
sign-out, or when its key expires, is revoked, or has only disabled accounts.
"""

import hashlib
import hmac
import re
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from flask import Response, g, redirect, request, url_for
from werkzeug.exceptions import HTTPException

from app.accounts.access import require_enabled
from app.accounts.apikey import ApiKey
from app.accounts.sessions import SESSION_S
from app.api.auth import log_rejected_key
from app.api.mistakes.keys import INVALID, of_text
from app.container import services
from app.dashboard.site import dashboard_blueprint, page
from app.vocabulary.errors import InvalidAPIKey, InvalidRequest, PermissionDenied, RequestTimeout

#: A key needs one of these scopes to sign in.
SCOPES = frozenset({"usage", "admin"})

#: Browsers send a `__Host-` cookie only to this host over https; no other host can set it.
COOKIE, SECURE_COOKIE = "tollgate", "__Host-tollgate"

#: The largest form that is accepted, because forms are read before sign-in.
FORM_LIMIT_BYTES = 16 * 1024

#: Endpoints that need no session.
_OPEN = frozenset({"dashboard.sign_in", "dashboard.submit_sign_in", "dashboard.static"})

_OWN_PAGE = re.compile(r"/dashboard(/[A-Za-z0-9._~%:@+-]+)*(\?[!-~]*)?")


@dataclass(frozen=True, slots=True)
class SessionUser:
    """The signed-in user: the session's API key and its token."""

    key: ApiKey
    token: str

    @property
    def is_admin(self) -> bool:
        """Whether the user may see all accounts."""
        return "admin" in self.key.scopes

    @property
    def account_ids(self) -> frozenset[str] | None:
        """The accounts that the user may see; None for all."""
        return None if self.is_admin else frozenset(self.key.enabled_account_ids)

    @property
    def form_token(self) -> str:
        """The token that the session's forms contain, and that no other site knows."""
        return hmac.new(self.token.encode(), b"form", hashlib.sha256).hexdigest()


def current_user() -> SessionUser:
    """Return the signed-in user of the current request."""
    found: SessionUser = g.current_user
    return found


@dashboard_blueprint.before_request
def _require_session() -> Response | None:
    if request.method == "POST":
        request.max_content_length = FORM_LIMIT_BYTES
        _require_own_form()
        _require_whole_form()
    _require_no_nul()
    if request.endpoint in _OPEN:
        return None
    found = _session_user()
    if found is None:
        return _redirect(url_for("dashboard.sign_in", next=_here()))
    g.current_user = found
    g.api_key_id = found.key.key_id
    return None


@dashboard_blueprint.get("/sign-in")
def sign_in() -> Response:
    """Show the sign-in form."""
    return page("sign_in.html", next_page=own_page(request.args.get("next", "")))


@dashboard_blueprint.post("/sign-in")
def submit_sign_in() -> Response:
    """Start a session for a key."""
    next_page = own_page(request.form.get("next", ""))
    try:
        key = _checked_key(request.form.get("api_key", "").strip())
    except (InvalidAPIKey, PermissionDenied) as exc:
        g.error_code = exc.code
        return page("sign_in.html", exc.status, next_page=next_page, problem=exc.message)
    g.api_key_id = key.key_id
    response = _redirect(next_page)
    response.set_cookie(
        _cookie_name(),
        services().sessions.begin(key),
        max_age=SESSION_S,
        secure=is_https(),
        httponly=True,
        samesite="Strict",
    )
    return response


@dashboard_blueprint.post("/sign-out")
def sign_out() -> Response:
    """End the session."""
    require_form_token()
    services().sessions.end(current_user().token)
    response = _redirect(url_for("dashboard.sign_in"))
    response.delete_cookie(_cookie_name(), secure=is_https(), httponly=True, samesite="Strict")
    return response


def require_form_token() -> None:
    """Check that the form that was sent is of this session.

    Raises: PermissionDenied.
    """
    sent = request.form.get("form_token", "")
    if not hmac.compare_digest(current_user().form_token.encode(), sent.encode()):
        raise PermissionDenied(
            "This form belongs to another session. Reload the page and try again."
        )


def _checked_key(secret: str) -> ApiKey:
    try:
        known = services().keyring.authenticate(secret)
    except InvalidAPIKey as exc:
        log_rejected_key(secret)
        raise InvalidAPIKey(of_text(secret)) from exc
    # As the session's pages do, and not from the cache, which may be older than a change.
    key = services().accounts.get_key(known.key_id)
    if key is None or not key.is_live(int(time.time() * 1000)):
        raise InvalidAPIKey(INVALID)
    require_enabled(key)
    if key.scopes.isdisjoint(SCOPES):
        raise PermissionDenied(
            "This key may not read usage. Use a key with the scope `usage` or `admin`."
        )
    return key


def _session_user() -> SessionUser | None:
    token = request.cookies.get(_cookie_name())
    if not token or not token.isascii():
        return None
    key_id = services().sessions.key_id(token)
    key = services().accounts.get_key(key_id) if key_id is not None else None
    if key is None or key.state(int(time.time() * 1000)) != "active":
        return None
    if key.scopes.isdisjoint(SCOPES):
        return None
    return SessionUser(key, token)


def _require_own_form() -> None:
    """Check that a browser sent the form from one of Tollgate's pages.

    Clients that are not browsers send neither header. They are let through, because they hold no
    other user's cookie.
    Raises: PermissionDenied.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:  # not sent over plain http
        own = site == "same-origin"
    else:
        own = origin is None or urlsplit(origin).netloc == request.host
    if not own:
        raise PermissionDenied(
            "This form was sent from another site. Open the page on this site and try again."
        )


def _require_no_nul() -> None:
    """Check that no text of the request contains NUL, which PostgreSQL rejects in any statement.

    Raises: InvalidRequest.
    """
    for values in (request.args, request.form):
        for name, texts in values.lists():
            if "\0" in name or any("\0" in text for text in texts):
                raise InvalidRequest("A text must not contain NUL.")


def _require_whole_form() -> None:
    """Read the whole form; the request keeps it.

    Raises: RequestTimeout, InvalidRequest, and werkzeug's exception if it is too large.
    """
    try:
        _ = request.form
    except HTTPException as exc:
        if isinstance(
            exc.__context__, TimeoutError
        ):  # werkzeug mistakes it for a client that disconnected
            raise RequestTimeout("The form took too long to arrive. Try again.") from exc
        raise
    except Exception as exc:  # whatever the server raises, the client's form is incomplete
        raise InvalidRequest("The form is incomplete. Try again.") from exc


def own_page(asked: str) -> str:
    """Return the page to go to: `asked` if it is one of the dashboard's, or the overview."""
    return asked if _OWN_PAGE.fullmatch(asked) else url_for("dashboard.overview")


def _here() -> str:
    return request.full_path.rstrip("?") if request.method == "GET" else ""


def _redirect(where: str) -> Response:
    response = redirect(where, 303)
    response.headers["cache-control"] = "no-store"
    return response  # type: ignore[return-value]


def is_https() -> bool:
    """Return whether the browser uses https, possibly to a proxy that forwards over http.

    A client that forges the header only gets a cookie that its own browser does not send back.
    """
    return request.is_secure or request.headers.get("x-forwarded-proto", "") == "https"


def _cookie_name() -> str:
    return SECURE_COOKIE if is_https() else COOKIE
