import pytest

from app.gateways.conversation.overflow import is_too_long


@pytest.mark.parametrize(
    ("message", "meaning"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", True),
        ("input length and `max_tokens` exceed context limit: 1 + 2 > 2", True),
        ("Input is too long for requested model.", True),
        ("The input token count (9) exceeds the maximum number of tokens allowed (8).", True),
        ("max_tokens: 5 is too large", False),
        ("", False),
    ],
)
def test_vendors_words_for_too_long_a_request_are_known(message: str, meaning: bool) -> None:
    assert is_too_long(message) is meaning
