"""The API format of Gemini and Vertex AI.

Read `request` first, then `response`.
"""
