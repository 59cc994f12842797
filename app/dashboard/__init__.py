"""`/dashboard`: what was used, what it cost and how it went, as pages for people."""

from app.dashboard import accounts, overview, requests, sign_in
from app.dashboard.site import dashboard_blueprint

__all__ = ["accounts", "dashboard_blueprint", "overview", "requests", "sign_in"]
