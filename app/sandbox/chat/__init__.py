"""The sandbox's chat: the last message comes back, or a tool is called with its words.

Read `answer` first. Source: OpenAI's CreateChatCompletionRequest and its responses.
"""
