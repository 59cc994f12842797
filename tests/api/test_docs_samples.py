"""The samples on the page of the API."""

import json
from typing import Any

from app.api.docs_samples import curl, inner_fields, pretty, quickstart, sample_errors

AT = "https://gate.example.com"


def test_a_command_has_the_address_the_key_and_the_body() -> None:
    command = curl("createCompletion", "post", "/v5/completions", AT, is_keyed=True)
    assert command.startswith(f'curl "{AT}/v5/completions" \\\n')
    assert "Bearer $OPENAI_API_KEY" in command
    body = command.partition("-d '")[2].rstrip("'")
    assert json.loads(body)["prompt"]


def test_a_command_fills_in_the_path_and_the_query() -> None:
    found = curl("retrieveModel", "get", "/v5/models/{model_id}", AT, is_keyed=True)
    assert f'"{AT}/v5/models/sandbox/echo"' in found
    costs = curl("listCosts", "get", "/v5/organization/costs", AT, is_keyed=True)
    assert "?start_time=" in costs
    assert curl("livez", "get", "/livez", AT, is_keyed=False) == f'curl "{AT}/livez"'


def test_json_is_in_one_line_where_it_is_short() -> None:
    value = {"a": [1, {"b": None}], "c": ["x" * 40, "y" * 40], "d": {}}
    text = pretty(value)
    assert json.loads(text) == value
    assert '  "a": [1, {"b": null}],\n' in text
    assert text.count("\n") == 7


def test_a_field_of_several_kinds_has_all_their_values_once() -> None:
    kinds = [
        {"properties": {"role": {"enum": ["user"]}, "content": {"type": "string"}}},
        {"properties": {"role": {"enum": ["tool", "user"]}, "content": {"type": "null"}}},
    ]
    found = dict(inner_fields({"items": {"oneOf": kinds}}, "messages"))
    assert found["messages.role"]["enum"] == ["user", "tool"]
    assert [it["type"] for it in found["messages.content"]["oneOf"]] == ["string", "null"]


def test_the_quickstart_has_the_address_and_the_model() -> None:
    found = quickstart(AT, "sandbox/echo")
    for name in ("curl", "python", "node"):
        assert f"{AT}/v5" in found[name]
        assert "sandbox/echo" in found[name]
    compile(found["python"], "quickstart", "exec")
    assert all("ORIGIN" not in it and "MODEL" not in it for it in found.values())


def test_errors_are_those_that_have_a_sample() -> None:
    content: Any = {"application/json": {"example": {"error": {}}}}
    responses = {"200": {"content": content}, "400": {"content": content}, "503": {}}
    assert sample_errors({"responses": responses}) == [("400", {"error": {}})]
