"""The API formats of Scale's LLM Engine and Launch.

Read `llmengine` first.
"""
