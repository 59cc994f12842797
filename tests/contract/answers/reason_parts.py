"""The usage of the responses in the tests of finish reasons."""

from tests.contract.answers.parts import Counts

COUNTS = Counts(20, 7)
