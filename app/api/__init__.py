"""The HTTP API: completions, models, usage, costs, health, metrics, /docs.

Contains no SQL and no vendor's name. Read `completions` first.
"""
