"""The sandbox vendor: an honest stand-in for a vendor, on OpenAI's text-completions wire.

Its model `echo` answers with the words of the prompt. A token is a word: text between white space.
It shares no code with the gateway, so that a mistake there is not repeated here.
"""
