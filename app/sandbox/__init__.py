"""The sandbox vendor, which simulates OpenAI's text-completions API.

Its model `echo` returns the words of the prompt. A token is a word: text between white space.
It shares no code with the gateway, so that it does not repeat the gateway's mistakes. Read `wsgi`
first.
"""
