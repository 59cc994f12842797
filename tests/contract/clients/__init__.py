"""Clients of chat completions, unchanged: what people install, against a real web process."""
