"""All deviations, of every kind."""

from tests.vendors.wild.deviations import Deviation
from tests.vendors.wild.deviations.ends import ENDS
from tests.vendors.wild.deviations.frames import FRAMES
from tests.vendors.wild.deviations.labels import LABELS

DEVIATIONS: tuple[Deviation, ...] = (*FRAMES, *LABELS, *ENDS)
