"""`GET /dashboard/admin/audit`: who changed what, and when."""

from flask import Response, request

from app.accounts.audit_text import detail_text
from app.container import services
from app.dashboard.admin.views import require_admin
from app.dashboard.downloads import audit_lines, csv_file
from app.dashboard.preferences import stored_zone, zoned_page
from app.dashboard.site import dashboard_blueprint
from app.dashboard.time_ranges import find_zone
from app.storage.sql.audit import AuditQuery, audit_entries
from app.vocabulary.errors import InvalidRequest

PAGE = 50


@dashboard_blueprint.get("/admin/audit")
def audit() -> Response:
    """Show a page of changes, newest first."""
    require_admin()
    asked = {name: request.args.get(name, "").strip() for name in ("account", "key", "actor")}
    query = AuditQuery(
        account_id=asked["account"] or None,
        api_key_id=asked["key"] or None,
        actor=asked["actor"] or None,
        before_id=_before(request.args.get("before", "")),
    )
    found = audit_entries(services().engine, query, PAGE + 1)
    if request.args.get("csv"):
        return csv_file("audit", audit_lines(found[:PAGE], find_zone(stored_zone())))
    return zoned_page(
        "admin/audit.html",
        asked=asked,
        before=request.args.get("before") or None,
        entries=[(it, detail_text(it.change.detail)) for it in found[:PAGE]],
        older=found[PAGE - 1].audit_id if len(found) > PAGE else None,
    )


def _before(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidRequest('`before` is invalid. Use a page\'s "Older" link.', param="before")
    return int(text)
