"""Token counts for answers whose vendor gave none: an estimate, and always marked as one.

The tokenizer is offline and one for all vendors; another vendor's own count differs from it.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

from app.runtime.turns import give_turn
from app.vocabulary.completion import CompletionRequest

ENCODING = "o200k_base"

#: Characters counted in one go: about a millisecond, after which other requests get their turn.
SLICE_CHARS = 16 * 1024


@cache
def tokenizer() -> Any:
    """Return the tokenizer, loaded on first use: 70 ms, in which nothing else runs, and 34 MB.

    A server does well to load it before it forks: its workers then share one, and none stalls.

    The extension module alone: the package around it builds dictionaries of 300,000 entries when
    it is imported, which takes half a second and more memory than all the rest of a web process.
    """
    package = find_spec("bpe_openai")
    found = PathFinder.find_spec(
        "bpe_openai._bindings", package.submodule_search_locations if package else None
    )
    if found is None or found.loader is None:
        raise ImportError("bpe-openai is not installed as it should be")
    bindings = module_from_spec(found)
    found.loader.exec_module(bindings)
    return bindings.tokenizer_for_encoding(ENCODING)


def count_tokens(text: str) -> int:
    """Return how many tokens `text` has, near enough: slices are counted apart."""
    clean = text.encode("utf-8", "replace").decode()  # a lone surrogate is no text to a tokenizer
    total = 0
    for start in range(0, len(clean), SLICE_CHARS):
        if start:
            give_turn()
        total += tokenizer().count(clean[start : start + SLICE_CHARS])
    return total


def count_prompts(request: CompletionRequest) -> int:
    """Return the tokens of all prompts of a request, each counted once."""
    return sum(count_tokens(one) if isinstance(one, str) else len(one) for one in request.prompts)


def count_completions(request: CompletionRequest, texts: Mapping[int, str]) -> int:
    """Return the tokens of a request's choices, which have said `texts` so far, by index.

    An echoed prompt was not generated, and so is no part of the completion.
    """
    prompts, n, tokens = request.prompts, request.n or 1, 0
    for index, text in texts.items():
        echoed = prompts[index // n] if request.echo and index // n < len(prompts) else ""
        tokens += _count_generated(text, echoed)
    return tokens


def _count_generated(text: str, echoed: str | Sequence[int]) -> int:
    if not isinstance(echoed, str):  # what these ids look like as text is the vendor's secret
        return max(0, count_tokens(text) - len(echoed))
    if echoed.startswith(text):  # broke off inside the prompt
        return 0
    return count_tokens(text.removeprefix(echoed))
