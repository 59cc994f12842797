"""Which certificates are trusted: requests' variables, then OpenSSL's."""

import os
from pathlib import Path

import pytest

from app.transport.trust import FILES, Trust, TrustUnreadable, ca_directory, trust_in


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    path.touch()
    return str(path)


def test_without_settings_the_usual_authorities_are_trusted() -> None:
    assert trust_in({}) == Trust()
    assert trust_in(dict.fromkeys((*FILES, "SSL_CERT_DIR"), "")) == Trust()
    assert Trust().verify is True


@pytest.mark.parametrize("first", range(len(FILES)))
def test_the_first_variable_that_is_set_counts(bundle: str, first: int) -> None:
    env = {name: "/no/such/file" for name in FILES[first + 1 :]} | {FILES[first]: bundle}
    assert trust_in(env).verify == bundle


def test_a_directory_is_trusted_beside_openssls_file_but_not_beside_requests_own(
    bundle: str, tmp_path: Path
) -> None:
    both = {"SSL_CERT_FILE": bundle, "SSL_CERT_DIR": str(tmp_path)}
    assert trust_in(both) == Trust(bundle, str(tmp_path))
    assert trust_in({"SSL_CERT_DIR": str(tmp_path)}) == Trust(None, str(tmp_path))
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        assert ca_directory({**both, name: bundle}) is None


def test_of_several_directories_the_first_is_trusted() -> None:
    assert ca_directory({"SSL_CERT_DIR": f"/a{os.pathsep}/b"}) == "/a"


@pytest.mark.parametrize("name", [*FILES, "SSL_CERT_DIR"])
def test_a_path_that_does_not_exist_is_named_by_its_variable(name: str) -> None:
    with pytest.raises(TrustUnreadable) as caught:
        trust_in({name: "/no/such/path"})
    assert str(caught.value) == f"{name} names a path that does not exist"
