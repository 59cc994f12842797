"""`/dashboard/admin`: accounts, keys and limits are created and changed here, by admins only.

Each action has a form, a page that says what it would do, and a page that says what was done. All
three are one address; forms are sent to it.
"""

import re
import secrets
import time
from dataclasses import dataclass
from functools import cache

from flask import Response, request
from werkzeug.datastructures import MultiDict

from app.accounts.errors import AccountsError
from app.container import services
from app.dashboard.admin.account_actions import ACCOUNT_ACTIONS
from app.dashboard.admin.action import Action, Context, Plan, Problems, Values
from app.dashboard.admin.effects import last_use
from app.dashboard.admin.key_actions import KEY_ACTIONS
from app.dashboard.admin.limit_actions import LIMIT_ACTIONS
from app.dashboard.finding import find
from app.dashboard.preferences import zoned_page
from app.dashboard.sign_in import current_user, require_form_token
from app.dashboard.site import NEW_KEY_PAGE, dashboard_blueprint, page
from app.storage.sql.audit import Actor, AlreadyDone
from app.vocabulary.errors import InvalidRequest, PermissionDenied, TollgateError

_OPERATION_ID = re.compile(r"[A-Za-z0-9_-]{32}")


class PageNotFound(TollgateError):
    """There is no such page."""

    status = 404
    code = "not_found"


@dataclass(frozen=True, slots=True)
class _Form:
    """An action, and what its form contains."""

    action: Action
    context: Context
    values: Values


def require_admin() -> None:
    """Check that the signed-in key has the scope `admin`.

    Raises: PermissionDenied.
    """
    if not current_user().is_admin:
        raise PermissionDenied("This page needs a key with the scope `admin`.")


@dashboard_blueprint.get("/admin")
def admin() -> Response:
    """Show accounts and keys, with what can be done to them."""
    require_admin()
    context = _context()
    finding = find(request.args, context.accounts.list())
    found = [it for it in context.accounts.list_keys() if finding.has(it, it.account_ids)]
    keys = sorted(found, key=lambda it: not it.is_live(context.now_ms))
    return zoned_page(
        "admin/index.html",
        finding=finding,
        accounts=finding.accounts,
        keys=[(it, it.state(context.now_ms), last_use(it, context.now_ms)) for it in keys],
    )


@dashboard_blueprint.get("/admin/<path>")
def admin_form(path: str) -> Response:
    """Show an action's form; if there is nothing to enter, what it would do."""
    require_admin()
    action, context = _action(path), _context()
    try:
        form = _Form(action, context, action.start(context, MultiDict(request.args)))
        if all(it.is_fixed for it in action.fields(context)):
            return _show_plan(form, action.plan(context, form.values))
    except AccountsError as exc:
        return page("error.html", 404, message=str(exc))
    except Problems as exc:
        return page("error.html", 409, message="; ".join(exc.by_field.values()))
    return _show_form(form)


@dashboard_blueprint.post("/admin/<path>")
def submit_admin_form(path: str) -> Response:
    """Check an action's form and show what it would do, or do it, if that was shown."""
    require_admin()
    require_form_token()
    action, context = _action(path), _context()
    form = _Form(action, context, MultiDict(request.form))
    if form.values.get("step") == "edit":
        return _show_form(form)
    try:
        if form.values.get("step") == "apply":
            return _apply(form)
        return _show_plan(form, action.plan(context, form.values))
    except AccountsError as exc:
        return _show_form(form, {"": str(exc)})
    except Problems as exc:
        return _show_form(form, exc.by_field)


def _apply(form: _Form) -> Response:
    """Do what was confirmed, at most once for each confirmation page."""
    accounts, user = form.context.accounts, current_user()
    operation_id = form.values.get("operation_id", "")
    if not _OPERATION_ID.fullmatch(operation_id):
        raise InvalidRequest("This form is incomplete. Open the page again.")
    actor = Actor(user.key.key_id, "dashboard", f"{user.key.key_id}:{operation_id}")
    done = accounts.done_before(actor)
    if done is None:  # before the plan: what is done cannot be planned again
        try:
            outcome = form.action.plan(form.context, form.values).apply(accounts.acting(actor))
        except AlreadyDone as exc:
            done = exc.entry
        else:
            return zoned_page(NEW_KEY_PAGE, action=form.action, outcome=outcome)
    return zoned_page(NEW_KEY_PAGE, 409, action=form.action, already=done)


def _show_form(form: _Form, problems: dict[str, str] | None = None) -> Response:
    return page(
        "admin/form.html",
        400 if problems else 200,
        action=form.action,
        fields=form.action.fields(form.context),
        values=form.values,
        problems=problems or {},
    )


def _show_plan(form: _Form, plan: Plan) -> Response:
    fields = form.action.fields(form.context)
    return page(
        "admin/confirm.html",
        action=form.action,
        plan=plan,
        hidden=[(it.name, value) for it in fields for value in form.values.getlist(it.name)],
        is_editable=not all(it.is_fixed for it in fields),
        operation_id=secrets.token_urlsafe(24),
    )


def _context() -> Context:
    found, now_ms = services(), int(time.time() * 1000)
    return Context(found.accounts, found.usage_reader, now_ms, current_user().key.key_id)


def _action(path: str) -> Action:
    action = _actions().get(path)
    if action is None:
        raise PageNotFound("There is no such page.")
    return action


@cache
def _actions() -> dict[str, Action]:
    return {it.path: it for it in (*ACCOUNT_ACTIONS, *KEY_ACTIONS, *LIMIT_ACTIONS)}
