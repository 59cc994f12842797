"""OpenAI's API formats, completions and chat, and similar ones: Azure, Mistral's FIM.

Read `completions` first, then `response`.
"""
