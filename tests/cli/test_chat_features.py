"""What each vendor can do in chat, as the documentation says it."""

from click.testing import CliRunner

from app.cli import main
from app.cli.chat_features import FEATURES, chat_features, chat_table
from app.settings import ROOT


def test_the_table_in_the_documentation_is_the_generated_one() -> None:
    page = (ROOT / "docs" / "chat.md").read_text(encoding="utf-8")
    table = "\n".join(chat_table())
    assert f"\n\n{table}\n\n" in page, (
        "put the output of `tollgate vendors --chat` into docs/chat.md"
    )
    printed = CliRunner().invoke(main, ["vendors", "--chat"], env={"TOLLGATE_VENDORS": ""})
    assert printed.stdout == table + "\n"


def test_every_vendor_with_chat_is_in_it_with_every_feature() -> None:
    found = chat_features()
    assert {"anthropic", "bedrock", "cohere", "gemini", "mistral", "openai", "tgi"} <= found.keys()
    assert "llmengine_v1" not in found  # prompts alone
    assert all(has.keys() == FEATURES.keys() for has in found.values())


def test_what_a_vendor_refuses_is_not_said_to_work() -> None:
    found = chat_features()
    assert found["openai"]["JSON schema"]
    assert not found["anthropic"]["seed"]
    assert not found["cohere"]["sound"]
    assert not found["bedrock"]["image URL"]
