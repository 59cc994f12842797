"""The older version is what its processes run, although the newer one is installed."""

from tests.rolling.versions import MARK, NEWER, Version

PLACES = "import app, workers; print(app.__file__, workers.__file__)"
FIELDS = "from app.usage.messages.event import UsageEvent as it; print(*it.__struct_fields__)"


def test_each_version_imports_its_own_packages(older: Version) -> None:
    for version in (older, NEWER):
        packages = [str(version.root / name / "__init__.py") for name in ("app", "workers")]
        assert version.output_of("-c", PLACES).split() == packages


def test_only_the_older_version_marks_its_logs(older: Version) -> None:
    assert MARK in older.run("-c", PLACES).stderr
    assert MARK not in NEWER.run("-c", PLACES).stderr


def test_the_older_versions_events_have_no_numbers(older: Version) -> None:
    fields = older.output_of("-c", FIELDS).split()
    assert set(fields) <= set(NEWER.output_of("-c", FIELDS).split())
    assert not {"process", "number"} & set(fields)
