"""Simulated vendors of chat: one module per wire, scripted block by block.

What they refuse follows from the vendors' references and the types of their official SDKs, which
are held against them in tests/contract/chat. Read `script` first.
"""
