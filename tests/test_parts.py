import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.completion import Choice, Completion, CompletionRequest
from app.errors import InvalidRequest
from app.parts import CALLS_LIMIT, Echo, merged, renumbered, split


def answer(*choices: Choice) -> Completion:
    return Completion("id", 1, "m", choices)


@given(
    st.lists(st.text(max_size=3), min_size=1, max_size=8),
    st.integers(1, 8),
    st.booleans(),
    st.integers(1, 8),
)
def test_the_parts_of_a_request_give_each_choice_once_and_in_its_place(
    prompts: list[str], n: int, list_prompts: bool, max_n: int
) -> None:
    request = CompletionRequest(model="v/m", prompt=tuple(prompts), n=n)
    answers = []
    for part in split(request, list_prompts=list_prompts, max_n=max_n):
        asked = part.request
        assert (asked.n or 1) <= max_n
        assert len(asked.prompts) == 1 or list_prompts
        choices = [
            Choice(at * (asked.n or 1) + sample, f"{prompt}")
            for at, prompt in enumerate(asked.prompts)
            for sample in range(asked.n or 1)
        ]
        answers.append(renumbered(answer(*choices), part.offset))
    whole = merged(answers)
    assert [c.index for c in whole.choices] == list(range(len(prompts) * n))
    assert [c.text for c in whole.choices] == [prompt for prompt in prompts for _ in range(n)]


def test_what_a_vendor_can_do_in_one_call_is_one_call() -> None:
    request = CompletionRequest(model="v/m", prompt=("a", "b"), n=3)
    (part,) = split(request, list_prompts=True, max_n=128)
    assert part.request is request


def test_a_vendor_without_n_is_not_sent_one() -> None:
    request = CompletionRequest(model="v/m", prompt="a", n=1)
    (part,) = split(request, list_prompts=False, max_n=1)
    assert part.request.n is None


@pytest.mark.parametrize(("prompt", "n", "name"), [(("a",) * 300, 1, "prompt"), ("a", 300, "n")])
def test_too_many_calls_are_refused_by_name(
    prompt: str | tuple[str, ...], n: int, name: str
) -> None:
    request = CompletionRequest(model="v/m", prompt=prompt, n=n)
    with pytest.raises(InvalidRequest, match=str(CALLS_LIMIT)) as caught:
        split(request, list_prompts=False, max_n=1)
    assert caught.value.param == name


def test_an_echoed_prompt_stands_before_each_choice_once_and_moves_its_offsets() -> None:
    echo = Echo("Say ")
    logprobs = {"tokens": ["a"], "text_offset": [0]}
    first = echo.apply(answer(Choice(0, "a", None, logprobs), Choice(1, "")))
    second = echo.apply(answer(Choice(0, "b", "stop"), Choice(1, "c", "stop")))
    assert [c.text for c in first.choices] == ["Say a", "Say "]
    assert [c.text for c in second.choices] == ["b", "c"]
    assert first.choices[0].logprobs == {"tokens": ["a"], "text_offset": [4]}
