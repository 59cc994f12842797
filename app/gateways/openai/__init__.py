"""OpenAI's API formats, completions and chat, and those made like them: Azure, Mistral FIM.

Read `completions` first, then `response`.
"""
