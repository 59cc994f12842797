"""OpenAI's vendor entry for chat, and its decoded responses."""

from tests.gateways.rows import Row

OPENAI = Row("openai", "OPENAI_API_KEY")


DEEPSEEK = Row("deepseek", "DEEPSEEK_API_KEY")


XAI = Row("xai", "XAI_API_KEY")
