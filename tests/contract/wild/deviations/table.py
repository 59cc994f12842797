"""All deviations, of every kind."""

from tests.contract.wild.deviations import Deviation
from tests.contract.wild.deviations.counts import COUNTS
from tests.contract.wild.deviations.cuts import CUTS
from tests.contract.wild.deviations.ends import ENDS
from tests.contract.wild.deviations.errors import ERRORS
from tests.contract.wild.deviations.finish import FINISHES
from tests.contract.wild.deviations.finish_places import FINISH_PLACES
from tests.contract.wild.deviations.frames import FRAMES
from tests.contract.wild.deviations.indices import INDICES
from tests.contract.wild.deviations.labels import LABELS
from tests.contract.wild.deviations.own_counts import OWN_COUNTS
from tests.contract.wild.deviations.own_texts import OWN_TEXTS
from tests.contract.wild.deviations.placed_counts import PLACED_COUNTS
from tests.contract.wild.deviations.refusals import REFUSALS
from tests.contract.wild.deviations.shapes import SHAPES
from tests.contract.wild.deviations.texts import TEXTS

DEVIATIONS: tuple[Deviation, ...] = (
    *COUNTS,
    *PLACED_COUNTS,
    *OWN_COUNTS,
    *FINISHES,
    *FINISH_PLACES,
    *INDICES,
    *TEXTS,
    *SHAPES,
    *OWN_TEXTS,
    *ERRORS,
    *REFUSALS,
    *FRAMES,
    *LABELS,
    *CUTS,
    *ENDS,
)
