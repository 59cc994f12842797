"""The decorator of the values that every request makes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_type(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
    """Make a class a dataclass with slots that nothing may change; mypy checks that.

    A frozen dataclass checks it at run time, too, and takes several times as long to make.
    """
    return dataclass(slots=True, unsafe_hash=True, kw_only=kw_only)
