"""Log probabilities in the form of the text-completions contract."""

from app.gateways.decoding.logprobs import TokenLogprob, text_logprobs


def test_alternatives_are_null_only_where_no_token_has_any() -> None:
    told = [TokenLogprob("a", -0.5, {"a": -0.5, "b": -1.0}), TokenLogprob("b", None)]
    assert text_logprobs(told) == {
        "tokens": ["a", "b"],
        "token_logprobs": [-0.5, None],
        "top_logprobs": [{"a": -0.5, "b": -1.0}, {}],
        "text_offset": [0, 1],
    }
    assert text_logprobs(told[1:], start=7)["top_logprobs"] is None


def test_a_token_that_goes_on_with_a_character_stands_where_that_begins() -> None:
    told = [
        TokenLogprob("a", -0.1, raw=b"a"),
        TokenLogprob("\\xc3", -0.1, raw=b"\xc3"),
        TokenLogprob("\\xa9b", -0.1, raw=b"\xa9b"),
        TokenLogprob("c", -0.1, raw=b"c"),
    ]
    assert text_logprobs(told)["text_offset"] == [0, 1, 1, 3]
    assert text_logprobs(told[2:])["text_offset"] == [0, 1]
