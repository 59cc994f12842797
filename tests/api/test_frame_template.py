"""Frames made from a template are the frames that the dumper makes, whatever the chunks."""

from collections.abc import Callable, Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.frame_template import FrameTemplate
from app.api.schemas.chat.chunks import ChatChunks
from app.api.schemas.completion import TextChunks
from app.formats import strict_json
from app.vocabulary.chat.reply import Reply
from app.vocabulary.completion import Choice, Completion, Usage

TEXTS = st.sampled_from(
    ["", "a", 'say "hi"\n', "\\", "\u2028", "\ud83d", "é", "\ufdd0text\ufdd1"]
) | st.text(max_size=5)
CHOICES = st.builds(
    Choice,
    index=st.integers(0, 1),
    text=TEXTS,
    finish_reason=st.sampled_from([None, None, None, "stop"]),
    logprobs=st.sampled_from([None, None, None, {"content": []}]),
    native_finish_reason=st.sampled_from([None, None, None, "eos"]),
    extra=st.sampled_from([None, None, None, {"matched_stop": 1}]),
    reply=st.sampled_from([None, None, None, Reply(reasoning="so")]),
)
CHUNKS = st.builds(
    Completion,
    id=st.sampled_from(["1", "1", "\ufdd0text\ufdd1"]),
    created=st.sampled_from([1, 1, 2]),
    model=st.sampled_from(["m", "m", "other"]),
    choices=st.lists(CHOICES, min_size=1, max_size=2).map(tuple) | CHOICES.map(lambda it: (it,)),
    usage=st.sampled_from([None, None, None, Usage(total_tokens=3)]),
    system_fingerprint=st.sampled_from([None, None, "fp"]),
    service_tier=st.sampled_from([None, None, "flex"]),
    extra=st.sampled_from([None, None, None, {"citations": ["u"]}]),
)


def frames_of(dumper: TextChunks | ChatChunks) -> Callable[[Completion], bytes]:
    """A body's way to make frames: it also sets what the dumper does not know."""

    def made(chunk: Completion) -> bytes:
        bodies = [{**it, "model": f"sim/{chunk.model}"} for it in dumper.dump(chunk)]
        return b"".join(b"data: " + strict_json.dump(it) + b"\n\n" for it in bodies)

    return made


@pytest.mark.parametrize("dumper", [TextChunks, ChatChunks])
@given(chunks=st.lists(CHUNKS, max_size=8))
def test_a_template_changes_no_byte_of_a_stream(
    dumper: type[TextChunks | ChatChunks], chunks: Sequence[Completion]
) -> None:
    template, plain = FrameTemplate(frames_of(dumper())), frames_of(dumper())
    assert [template.frame(it) for it in chunks] == [plain(it) for it in chunks]


def test_the_usual_chunks_are_dumped_no_more() -> None:
    dumped = list[Completion]()

    def make(chunk: Completion) -> bytes:
        dumped.append(chunk)
        return strict_json.dump(TextChunks().dump(chunk)[0])

    template = FrameTemplate(make)
    chunks = [Completion("1", 1, "m", (Choice(0, f"w{at} "),)) for at in range(9)]
    texts = [orjson.loads(template.frame(it))["choices"][0]["text"] for it in chunks]
    assert texts == [f"w{at} " for at in range(9)]
    assert len(dumped) == 2  # the first one, and the template
