"""Tollgate: a gateway for text completions that accounts for every token."""

#: The release; CHANGELOG.md says what it changes, and how to upgrade to it.
__version__ = "0.2.0"
