"""Operations as OpenAPI describes them."""

from app.api.openapi.keyless import KEYLESS
from app.api.openapi.operations import COMPLETIONS, MODEL, Operation, models, report


def test_an_operation_has_its_parts() -> None:
    described = COMPLETIONS.dump()
    assert described["operationId"] == "createCompletion"
    assert described["requestBody"]["required"]
    assert {"200", "400", "401", "429"} <= set(described["responses"])
    assert "x-request-id" in described["responses"]["200"]["headers"]
    assert "security" not in described


def test_an_operation_without_a_key_says_so_and_leaves_out_what_it_has_not() -> None:
    for operation in KEYLESS:
        described = operation.dump()
        assert described["security"] == []
        assert {"parameters", "requestBody", "description"}.isdisjoint(described)


def test_query_parameters_are_those_of_the_schema() -> None:
    parameter = {"name": "limit", "in": "query"}
    assert models([parameter]).dump()["parameters"] == [parameter]
    page = report("/path", "name", "Summary", "UsagePage", [parameter])
    assert page.dump()["parameters"] == [parameter]
    assert set(page.dump()["responses"]["200"]["content"]) == {"application/json", "text/csv"}


def test_names_are_unique() -> None:
    names = [it.name for it in (COMPLETIONS, MODEL, *KEYLESS)]
    assert len(names) == len(set(names))
    assert isinstance(MODEL, Operation)
