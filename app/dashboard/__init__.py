"""`/dashboard`: usage, costs, failures and latencies as HTML pages.

Reads the ledger and the backlog; changes neither. Read `site` first, then `overview`.
"""

from app.dashboard import accounts, overview, preferences, request_page, requests, sign_in
from app.dashboard.site import dashboard_blueprint

__all__ = [
    "accounts",
    "dashboard_blueprint",
    "overview",
    "preferences",
    "request_page",
    "requests",
    "sign_in",
]
