"""Text formats on both sides: strict JSON, server-sent events, content codings.

Does not know what the texts mean, or who sends them. Read `strict_json` first.
"""
