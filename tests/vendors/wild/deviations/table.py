"""All deviations, of every kind."""

from tests.vendors.wild.deviations import Deviation
from tests.vendors.wild.deviations.counts import COUNTS
from tests.vendors.wild.deviations.cuts import CUTS
from tests.vendors.wild.deviations.ends import ENDS
from tests.vendors.wild.deviations.errors import ERRORS
from tests.vendors.wild.deviations.finish import FINISHES
from tests.vendors.wild.deviations.finish_places import FINISH_PLACES
from tests.vendors.wild.deviations.frames import FRAMES
from tests.vendors.wild.deviations.indices import INDICES
from tests.vendors.wild.deviations.labels import LABELS
from tests.vendors.wild.deviations.own_counts import OWN_COUNTS
from tests.vendors.wild.deviations.own_texts import OWN_TEXTS
from tests.vendors.wild.deviations.placed_counts import PLACED_COUNTS
from tests.vendors.wild.deviations.refusals import REFUSALS
from tests.vendors.wild.deviations.shapes import SHAPES
from tests.vendors.wild.deviations.texts import TEXTS

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
