"""A language model of 37,000 random weights, as a GGUF file that llama.cpp serves.

Every byte is a token, so that any text is one prompt and a character can fall apart into tokens.
It mostly writes small letters. The weights come from one seed: the file is always the same.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType
from numpy.typing import NDArray

CONTEXT_TOKENS = 8192

_WIDTH, _LAYERS, _HEADS, _FEED_FORWARD = 32, 2, 4, 64

#: What the chat endpoint makes of messages; each token of a role is one of SPECIAL. Tools and their
#: calls have the form of Hermes and Qwen, which llama.cpp recognizes.
TEMPLATE = """\
{%- if tools %}<|system|>{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}
{%- for m in messages %}<|{{ m.role }}|>
{%- if m.content %}{{ m.content }}{% endif %}
{%- for call in m.tool_calls or [] %}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}{{ '}</tool_call>' }}
{%- endfor %}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""

BOS, EOS = "<s>", "</s>"
SPECIAL = (BOS, EOS, "<|system|>", "<|user|>", "<|assistant|>")
#: What a call of a tool begins with, one token: a bias makes the model call.
CALL = "<tool_call>"

#: The letters, which get the most likely tokens.
_LETTERS = range(ord("a"), ord("z") + 1)


def _byte_names() -> list[str]:
    """Return what GPT-2's vocabulary calls each byte: itself, or a letter from U+0100 on.

    Source: `bytes_to_unicode` of GPT-2's encoder.
    """
    shown = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    stand_ins = iter(range(0x100, 0x200))
    return [chr(byte if byte in shown else next(stand_ins)) for byte in range(256)]


def _merges(space: str) -> list[tuple[str, str]]:
    """Return the pairs that make one token, so that texts and tokens differ in length."""
    return [(space, "t"), ("h", "e"), (f"{space}t", "he")]


def _tokens(names: list[str], merges: list[tuple[str, str]]) -> list[str]:
    return [*names, *(left + right for left, right in merges), *SPECIAL, CALL]


def token_id(token: str) -> int:
    """Return the id of a token that is not text, such as CALL."""
    names = _byte_names()
    return _tokens(names, _merges(names[ord(" ")])).index(token)


def write_tiny_model(path: Path) -> None:
    """Write the model's file, of 150 kB."""
    names = _byte_names()
    merges = _merges(names[ord(" ")])
    tokens = _tokens(names, merges)
    writer = GGUFWriter(path, "llama")
    _add_shape(writer, len(tokens))
    _add_vocabulary(writer, tokens, merges)
    for name, tensor in _tensors(len(tokens)):
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_shape(writer: GGUFWriter, vocabulary: int) -> None:
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_vocab_size(vocabulary)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_layer_norm_rms_eps(1e-5)


def _add_vocabulary(writer: GGUFWriter, tokens: list[str], merges: list[tuple[str, str]]) -> None:
    plain = len(tokens) - len(SPECIAL) - 1
    types = [TokenType.NORMAL] * plain + [TokenType.CONTROL] * len(SPECIAL)
    types.append(TokenType.USER_DEFINED)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([f"{left} {right}" for left, right in merges])
    writer.add_bos_token_id(tokens.index(BOS))
    writer.add_eos_token_id(tokens.index(EOS))
    writer.add_add_bos_token(True)
    writer.add_chat_template(TEMPLATE)


def _tensors(vocabulary: int) -> Iterator[tuple[str, NDArray[np.float32]]]:
    random = np.random.default_rng(7)

    def some(*shape: int) -> NDArray[np.float32]:
        return (random.standard_normal(shape) / 2).astype(np.float32)

    ones = np.ones(_WIDTH, np.float32)
    yield "token_embd.weight", some(vocabulary, _WIDTH)
    yield "output_norm.weight", ones
    output = some(vocabulary, _WIDTH)
    output[[token for token in range(vocabulary) if token not in _LETTERS]] *= 0.3
    yield "output.weight", output
    for layer in range(_LAYERS):
        block = f"blk.{layer}"
        yield f"{block}.attn_norm.weight", ones
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"{block}.{part}.weight", some(_WIDTH, _WIDTH)
        yield f"{block}.ffn_norm.weight", ones
        yield f"{block}.ffn_gate.weight", some(_FEED_FORWARD, _WIDTH)
        yield f"{block}.ffn_up.weight", some(_FEED_FORWARD, _WIDTH)
        yield f"{block}.ffn_down.weight", some(_WIDTH, _FEED_FORWARD)
