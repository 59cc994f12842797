"""OpenAI's API formats, completions and chat, and similar ones: Azure, Mistral's FIM.

Read `completions` first, then `response`. Of chat, read `chat`, then `chat_body` and
`chat_messages` for requests, `chat_response` and `chat_reply` for responses.
"""
