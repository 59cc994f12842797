"""`GET /`: where everything is."""

from flask import Flask

from app.api import register_api


def test_programs_get_addresses_and_browsers_a_page() -> None:
    app = Flask("api", static_folder=None)
    register_api(app)
    client = app.test_client()
    answer = client.get("/", headers={"host": "gate.example"})
    assert answer.status_code == 200
    assert answer.get_json()["docs"] == "http://gate.example/docs"
    assert answer.get_json()["api"] == "http://gate.example/v5"
    page = client.get("/", headers={"accept": "text/html,*/*;q=0.8", "host": "<b>"})
    assert page.mimetype == "text/html"
    assert '<a href="/docs">' in page.text
    assert "<b>" not in page.text
    assert client.head("/").status_code == 200
