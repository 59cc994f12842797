"""Estimated token counts, for responses whose vendor reports none. Always marked as estimates.

One offline tokenizer serves all vendors; a vendor's own count differs from it.
"""

from collections.abc import Mapping
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

from app.runtime.turns import give_turn
from app.vocabulary.request import GenerationRequest, Input

ENCODING = "o200k_base"

#: Characters counted in one go: about a millisecond, after which other requests get a turn.
SLICE_CHARS = 16 * 1024


@cache
def tokenizer() -> Any:
    """Return the tokenizer, loaded on first use: 70 ms, in which nothing else runs, and 34 MB.

    A server should load it before it forks: its workers then share one, and none stalls.

    Loads only the extension module. Importing the package around it builds dictionaries of 300,000
    entries, which takes half a second and more memory than the rest of a web process.
    """
    package = find_spec("bpe_openai")
    found = PathFinder.find_spec(
        "bpe_openai._bindings", package.submodule_search_locations if package else None
    )
    if found is None or found.loader is None:
        raise ImportError("bpe-openai is not installed correctly; install it again")
    bindings = module_from_spec(found)
    found.loader.exec_module(bindings)
    return bindings.tokenizer_for_encoding(ENCODING)


def count_tokens(text: str) -> int:
    """Return the number of tokens of `text`, approximately: slices are counted separately."""
    clean = text.encode("utf-8", "replace").decode()  # a tokenizer rejects lone surrogates
    total = 0
    for start in range(0, len(clean), SLICE_CHARS):
        if start:
            give_turn()
        total += tokenizer().count(clean[start : start + SLICE_CHARS])
    return total


def count_prompts(request: GenerationRequest) -> int:
    """Return the number of tokens of all prompts of a request, each counted once."""
    return sum(
        sum(map(count_tokens, it.texts)) + len(it.token_ids) + it.media_tokens
        for it in request.inputs
    )


def count_completions(request: GenerationRequest, texts: Mapping[int, str]) -> int:
    """Return the number of tokens of a request's choices; `texts` are their texts so far, by index.

    An echoed prompt was not generated, so it does not count. No choice has more tokens than the
    caller's limit.
    """
    inputs, n, tokens = request.inputs if request.echo else (), request.n or 1, 0
    for index, text in texts.items():
        echoed = inputs[index // n] if index // n < len(inputs) else Input()
        tokens += at_most_asked(request, _count_generated(text, echoed))
    return tokens


def at_most_asked(request: GenerationRequest, tokens: int, choices: int = 1) -> int:
    """Return an estimate for some choices, within the limit that the caller set."""
    return min(tokens, request.max_tokens * choices) if request.max_tokens else tokens


def _count_generated(text: str, echoed: Input) -> int:
    if echoed.token_ids:  # their text is unknown
        return max(0, count_tokens(text) - len(echoed.token_ids))
    prompt = "".join(echoed.texts)
    if prompt.startswith(text):  # it ended within the echoed prompt
        return 0
    return count_tokens(text.removeprefix(prompt))
