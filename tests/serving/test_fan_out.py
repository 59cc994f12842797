import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.serving.fan_out import CALLS_LIMIT, Echo, SubRequest, merge, split
from app.vocabulary.completion import Choice, Completion, CompletionRequest
from app.vocabulary.errors import InvalidRequest
from app.vocabulary.request import Input


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
        assert len(asked.inputs) == 1 or list_prompts
        choices = [
            Choice(at * (asked.n or 1) + sample, prompt.texts[0])
            for at, prompt in enumerate(asked.inputs)
            for sample in range(asked.n or 1)
        ]
        answers.append(part.renumber(answer(*choices)))
    whole = merge(answers)
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


def test_samples_that_are_calls_of_their_own_have_seeds_of_their_own() -> None:
    request = CompletionRequest(model="v/m", prompt=("a", "b"), n=3, seed=7)
    parts = split(request, list_prompts=False, max_n=1)
    assert [part.request.seed for part in parts] == [7, 8, 9, 7, 8, 9]
    largest = CompletionRequest(model="v/m", prompt="a", n=2, seed=2**63 - 1)
    assert [p.request.seed for p in split(largest, list_prompts=True, max_n=1)] == [
        2**63 - 1,
        -(2**63),
    ]


def test_missing_choices_are_asked_for_by_prompt_and_come_back_to_their_places() -> None:
    request = CompletionRequest(model="v/m", prompt=("a", "b", "c"), n=2, seed=7)
    again = SubRequest(request, offset=10).again([1, 4, 5])
    asked = [(*p.request.inputs, p.request.n, p.request.seed, p.slots) for p in again]
    first, last = Input(("a",)), Input(("c",))
    assert asked == [(first, None, 8, (11,)), (last, None, 7, (14,)), (last, None, 8, (15,))]
    whole = again[1].renumber(answer(Choice(0, "x")))
    assert [(c.index, c.text) for c in whole.choices] == [(14, "x")]


def test_missing_samples_are_asked_for_as_many_at_a_time_as_have_come() -> None:
    request = CompletionRequest(model="v/m", prompt="a", n=7, seed=1)
    again = SubRequest(request).again([2, 3, 4, 5, 6])
    assert [(p.request.n, p.request.seed, p.slots) for p in again] == [
        (2, 3, (2, 3)),
        (2, 5, (4, 5)),
        (None, 7, (6,)),
    ]


def test_pieces_of_a_choice_become_one() -> None:
    first = {"tokens": ["a"], "text_offset": [0], "top_logprobs": None}
    second = {"tokens": ["b"], "text_offset": [1], "top_logprobs": None}
    whole = merge(
        [
            answer(Choice(1, "x"), Choice(0, "a", None, first, None, {"token_ids": [1]})),
            answer(Choice(0, "b", None, second, None, {"token_ids": [2], "matched": "b"})),
            answer(Choice(0, "", "stop"), Choice(1, "", "length")),
        ]
    )
    logprobs = {"tokens": ["a", "b"], "text_offset": [0, 1], "top_logprobs": None}
    extra = {"token_ids": [1, 2], "matched": "b"}
    assert whole.choices == (
        Choice(0, "ab", "stop", logprobs, None, extra),
        Choice(1, "x", "length"),
    )


def request_of(prompts: int, n: int = 1) -> CompletionRequest:
    return CompletionRequest(model="v/m", prompt=("a",) * prompts, n=n)


@pytest.mark.parametrize(
    ("prompts", "n", "max_n"), [(CALLS_LIMIT, 1, 1), (2, CALLS_LIMIT, 2), (CALLS_LIMIT // 2, 2, 1)]
)
def test_a_request_may_take_as_many_calls_as_the_limit_and_no_more(
    prompts: int, n: int, max_n: int
) -> None:
    parts = split(request_of(prompts, n), list_prompts=False, max_n=max_n)
    assert len(parts) == CALLS_LIMIT
    with pytest.raises(InvalidRequest) as caught:
        split(request_of(prompts + 1, n), list_prompts=False, max_n=max_n)
    assert caught.value.param == "prompt"


def test_the_limit_on_calls_is_256() -> None:
    assert CALLS_LIMIT == 256
    assert len(split(request_of(1, 256), list_prompts=False, max_n=1)) == 256
    with pytest.raises(InvalidRequest, match="257 calls"):
        split(request_of(1, 257), list_prompts=False, max_n=1)


def test_the_limit_is_on_calls_and_not_on_choices() -> None:
    (part,) = split(request_of(2000), list_prompts=True, max_n=1)
    assert len(part.request.inputs) == 2000


def test_one_prompt_in_a_list_is_one_call_of_a_text() -> None:
    (part,) = split(request_of(1), list_prompts=False, max_n=128)
    assert part.request.is_single
    assert part.request.inputs == [Input(("a",))]


def test_samples_are_dealt_out_as_many_at_a_time_as_the_vendor_gives() -> None:
    parts = split(request_of(2, 5), list_prompts=True, max_n=2)
    assert [(part.request.n, part.offset) for part in parts] == [
        (2, 0),
        (2, 2),
        (None, 4),
        (2, 5),
        (2, 7),
        (None, 9),
    ]


@pytest.mark.parametrize(("best_of", "sent"), [(None, None), (3, None), (4, 4)])
def test_the_best_of_as_many_as_are_asked_for_are_all_of_them(
    best_of: int | None, sent: int | None
) -> None:
    request = CompletionRequest(model="v/m", prompt="a", n=3, best_of=best_of)
    parts = split(request, list_prompts=True, max_n=2)
    assert [part.request.parameters().get("best_of") for part in parts] == [sent, sent]


def test_the_tier_and_the_name_of_a_whole_answer_are_the_first_that_were_told() -> None:
    def chunk(name: str, *choices: Choice, tier: str | None = None) -> Completion:
        return Completion(name, 1, "m", choices, service_tier=tier)

    whole = merge(
        [
            chunk("counts"),
            chunk("one", Choice(1, "b", "stop"), tier="flex"),
            chunk("two", Choice(0, "a", "stop"), tier="priority"),
        ]
    )
    assert (whole.id, whole.service_tier) == ("one", "flex")
    assert [c.text for c in whole.choices] == ["a", "b"]


def test_a_choice_ends_for_the_reason_that_one_of_its_pieces_gives() -> None:
    def chunk(choice: Choice) -> Completion:
        return Completion("id", 1, "m", (choice,))

    whole = merge([chunk(Choice(0, "a")), chunk(Choice(0, "b", "length")), chunk(Choice(0, "c"))])
    assert whole.choices == (Choice(0, "abc", "length"),)


def test_a_part_at_the_beginning_keeps_its_numbers_and_another_moves_them() -> None:
    chunk = Completion("id", 1, "m", (Choice(1, "x"),))
    request = request_of(1, 2)
    assert SubRequest(request).renumber(chunk) is chunk
    assert SubRequest(request, offset=4).renumber(chunk).choices[0].index == 5
    assert SubRequest(request, slots=(3, 7)).renumber(chunk).choices[0].index == 7
