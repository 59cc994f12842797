"""Headers in the type that requests expects, at the cost of a plain dictionary. No I/O."""

from collections.abc import Iterator, Mapping
from typing import Any

from requests.structures import CaseInsensitiveDict


class LowerCaseHeaders(CaseInsensitiveDict[str]):
    """A CaseInsensitiveDict made of names that are in lower case already, and taken as they are.

    requests' own keeps every name twice and is filled one by one: for the headers of a request
    and its response, that costs as much as parsing the response.
    """

    def __init__(self, lower: dict[str, str]) -> None:
        self.lower = lower

    def __setitem__(self, name: str, value: str) -> None:
        self.lower[name.lower()] = value

    def __getitem__(self, name: str) -> str:
        return self.lower[name.lower()]

    def __delitem__(self, name: str) -> None:
        del self.lower[name.lower()]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self.lower

    def get(self, name: str, default: Any = None) -> Any:
        """Return a header's value, or `default`."""
        return self.lower.get(name.lower(), default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.lower)

    def __len__(self) -> int:
        return len(self.lower)

    def lower_items(self) -> Iterator[tuple[str, str]]:
        """Yield names and values."""
        return iter(self.lower.items())

    def copy(self) -> "LowerCaseHeaders":
        """Return a copy that can be changed by itself."""
        return LowerCaseHeaders(dict(self.lower))


def lower_case(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers by name in lower case; of names that differ in case only, the last counts."""
    return {name.lower(): value for name, value in headers.items()}
