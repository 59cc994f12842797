"""A chat request: its messages, their parts and its tools; and what a reply holds beyond text.

All values are immutable. `source` is a part of the request as the caller wrote it: vendors that
speak OpenAI's format get it unchanged. `path` names it in errors, e.g. `messages[3].content[1]`.
Source: OpenAI's CreateChatCompletionRequest. Read `request` first.
"""
