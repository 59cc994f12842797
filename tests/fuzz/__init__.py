"""Hostile callers: what they do to a running web process, and to a stream beside them."""
