"""Anthropic's Messages format: blocks, tools, signed reasoning, typed events.

Read `gateway` first, then `request` and `response`. Source: docs.anthropic.com (messages, errors,
versioning), and the types of its Python client.
"""
