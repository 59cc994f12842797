"""The limits of texts that callers and vendors write. Imports no library."""

#: Longest text stored, in characters: a model's name, a user. A database index takes no more than
#: some 2,700 bytes for account, key, vendor and model together.
TEXT_LIMIT = 256

#: Longest message of an error stored, in characters.
SENTENCE_LIMIT = 500
