"""What a call used, divided so that each token is priced once."""

from hypothesis import given
from hypothesis import strategies as st

from app.pricing.kinds import Kinds, kinds_of
from app.vocabulary.completion import Usage
from tests.pricing.dollars import usage

NOTHING = Kinds(*(0,) * len(Kinds._fields))


def kinds(**counts: int) -> dict[str, int]:
    """Return the kinds that are not 0."""
    return {name: count for name, count in kinds_of(usage(**counts))._asdict().items() if count}


def test_images_in_a_prompt_and_in_a_completion_are_apart_from_the_text() -> None:
    found = kinds(
        prompt_tokens=10, image_prompt_tokens=4, completion_tokens=9, image_completion_tokens=7
    )
    assert found == {"input": 6, "input_image": 4, "output": 2, "output_image": 7}


def test_of_ten_tokens_eight_cached_and_five_of_an_image_three_are_both() -> None:
    assert kinds(prompt_tokens=10, cached_tokens=8, image_prompt_tokens=5) == {
        "cached": 5,
        "cached_image": 3,
        "input_image": 2,
    }


def test_images_that_must_have_been_written_to_the_cache_count_as_written() -> None:
    found = kinds(prompt_tokens=10, cache_write_tokens=10, image_prompt_tokens=4)
    assert found == {"cache_write": 10}


def test_writes_for_an_hour_are_apart_from_the_other_writes() -> None:
    found = kinds(prompt_tokens=100, cache_write_tokens=70, cache_write_1h_tokens=20)
    assert found == {"input": 30, "cache_write": 50, "cache_write_1h": 20}
    # more than all that was written is a vendor's mistake
    found = kinds(prompt_tokens=10, cache_write_tokens=5, cache_write_1h_tokens=9)
    assert found == {"input": 5, "cache_write_1h": 5}


def test_searches_are_no_tokens() -> None:
    assert kinds(prompt_tokens=1, web_search_calls=3) == {"input": 1, "web_search": 3}
    assert kinds_of(Usage()) == NOTHING


PARTS = ("cached", "cache_write", "input_audio", "cached_audio", "input_image", "cached_image")


@given(st.lists(st.integers(0, 50), min_size=5, max_size=5), st.data())
def test_the_kinds_of_a_prompt_add_up_to_it(counts: list[int], data: st.DataObject) -> None:
    _, cached, written, audio, images = counts
    prompt = data.draw(st.integers(max(cached + written, audio + images, *counts), sum(counts)))
    found = kinds_of(
        usage(
            prompt_tokens=prompt,
            cached_tokens=cached,
            cache_write_tokens=written,
            cache_write_1h_tokens=data.draw(st.integers(0, written)),
            audio_prompt_tokens=audio,
            image_prompt_tokens=images,
        )
    )
    assert all(count >= 0 for count in found)
    whole = found.input + found.cache_write_1h + sum(getattr(found, name) for name in PARTS)
    # Of audio that was written to the cache, vendors report nothing, and it is charged as both.
    assert prompt <= whole <= prompt + min(audio, written)
    assert (whole == prompt) or audio
