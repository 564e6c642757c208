"""Figure 2 of [A] under the calibration of [F]: the same likelihood ratio within a radius."""

from __future__ import annotations

import math

import numpy as np

from discreet.mechanism import Mechanism

from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .growing import chart, measure, table
from .losses import QUICK_SIZES, SIZES, order_claim, slow_claim
from .mechanisms import GEOMETRIC, LAPLACE, RESPONSE, at_epsilon
from .square import CHOICES as SQUARE_CHOICES
from .square import EVENTS, GRID, square

#: Distance in metres within which likelihoods differ by a factor of at most e^LOG_RATIO.
RADIUS, LOG_RATIO = 1_000, 4

_PLACE = "[A] section VI, figure 2, calibrated as in [F] section 4"


def reach() -> float:
    """Return the largest distance in metres between two cells' centres that is at most the radius."""
    steps = np.arange(GRID.rows)
    squares = steps[:, None] ** 2 + steps[None, :] ** 2
    return float(GRID.unit) * math.sqrt(int(squares[squares <= (RADIUS / float(GRID.unit)) ** 2].max()))


def at_radius() -> dict[str, Mechanism]:
    """Return the three mechanisms with a likelihood ratio of e^4 within 1 km.

    k-RR has the ratio e^epsilon between any two cells. Noise that keeps its epsilon at the border has e^(epsilon d)
    between cells d metres apart, so that epsilon is 4 over the largest distance within the radius.
    """
    return {
        RESPONSE: at_epsilon(RESPONSE, LOG_RATIO),
        GEOMETRIC: at_epsilon(GEOMETRIC, LOG_RATIO / reach(), "remap"),
        LAPLACE: at_epsilon(LAPLACE, LOG_RATIO / reach(), "remap"),
    }


def draw_radius(setting: Setting) -> ExhibitResult:
    """Draw mean losses with intervals, when privacy within a kilometre is equal."""
    area, mechanisms = square(setting), at_radius()
    sizes, repeats = setting.pick(QUICK_SIZES, SIZES), setting.pick(5, 12)
    losses = measure(setting, area, mechanisms, sizes, repeats)
    epsilons: list[Row] = [
        {"mechanism": name, "epsilon": significant(m.certificate.epsilon), "notion": m.certificate.notion}
        for name, m in mechanisms.items()
    ]
    title = "Equally private within a kilometre, k-RR is much further off"
    picture = chart(
        losses,
        title,
        f"The same losses when the likelihood ratio is at most e^{LOG_RATIO} between places within {RADIUS:,} m: means "
        f"with 95% intervals over {repeats} random orders. {EVENTS}",
    )
    claims = (
        order_claim(
            losses,
            "radius: better than k-RR",
            _PLACE,
            f"With a likelihood ratio of at most e^{LOG_RATIO} within {RADIUS:,} m",
            "Which mechanism is better depends on what is held equal. Beyond the radius k-RR protects more.",
        ),
        slow_claim(
            losses,
            "radius: k-RR diminishes slowly",
            _PLACE,
            "At this epsilon k-RR needs far more check-ins than there are.",
        ),
    )
    choices = (
        *SQUARE_CHOICES,
        f"The paper has no such figure. A radius of {RADIUS:,} m and a ratio of e^{LOG_RATIO} are chosen here; k-RR "
        f"then has epsilon {LOG_RATIO}.",
        'Reports outside the square are moved to the nearest cell (border="remap"), which keeps the epsilon of the '
        "noise.",
    )
    return ExhibitResult({"": picture}, {"": table(losses), "epsilons": epsilons}, claims, choices)
