"""`/dashboard/admin`: pages on which admins change accounts, keys and limits.

Read `action` first, then `views`. Everything that changes goes through `app.accounts`.
"""

from app.dashboard.admin import audit, views

__all__ = ["audit", "views"]
