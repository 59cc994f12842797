"""The sandbox vendor, which simulates OpenAI's completions and chat completions.

Its model `echo` returns the words of the prompt, or of the last message. A token is a word: text
between white space. It shares no code with the gateway, so that it does not repeat the gateway's
mistakes. Read `wsgi` first.
"""
