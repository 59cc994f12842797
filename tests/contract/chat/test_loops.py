"""Tool loops with reasoning, over every wire that has it: what a vendor signed comes back to it."""

import pytest

from tests.contract.chat.loops import LOOPS, run
from tests.contract.chat.site import Site


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("row", LOOPS)
def test_the_vendor_gets_back_what_it_signed(site: Site, row: str, stream: bool) -> None:
    run(site, row, stream=stream)
