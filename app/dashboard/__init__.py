"""`/dashboard`: usage, costs, failures and latencies as HTML pages.

Only `admin` changes anything. Read `site` first, then `overview`.
"""

from app.dashboard import accounts, admin, overview, preferences, request_page, requests, sign_in
from app.dashboard.site import dashboard_blueprint

__all__ = [
    "accounts",
    "admin",
    "dashboard_blueprint",
    "overview",
    "preferences",
    "request_page",
    "requests",
    "sign_in",
]
