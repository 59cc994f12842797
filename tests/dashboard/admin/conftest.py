"""The administration under test."""

from tests.dashboard.admin.desk import desk

__all__ = ["desk"]
