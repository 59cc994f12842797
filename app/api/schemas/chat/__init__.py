"""A chat request's JSON body to a ChatRequest, and chat completions back to JSON.

Read `request` first. Source: OpenAI's CreateChatCompletionRequest and its responses.
"""
