"""Tollgate: a gateway for text completions that accounts for every token."""
