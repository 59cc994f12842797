"""Conversations for formats other than OpenAI's: turns, instructions apart, results of calls.

Every conversion is lossless or refused with the path of the field. Read `turns` first.
"""
