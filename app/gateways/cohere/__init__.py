"""Cohere's v2 chat.

Read `gateway` first, then `messages` and `response`.
"""
