"""Utility by simulation: how far reconstructions lie from the truth, for a population of one's own.

[F] is Fernandes, Lefki, Palamidessi, *Utility-Preserving Privacy Mechanisms for Counting Queries* (section 4.1); [A] is
Alvim, Chatzikokolakis, Palamidessi, Pazii, *LDP on metric spaces* (section VI).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InvalidInput, Unsupported, WrongType, arg
from ..exact.arrays import FloatArray, IntArray
from ..exact.integers import positive_integer
from ..exact.rationals import Number, text_up
from ..lists import read_list
from ..mechanism import Mechanism
from ..optimise.families import FAMILIES
from ..optimise.improve.calibration import Calibration, calibrate
from ..progress import with_bar
from ..report import Json, Prose, Report, Result, Section, Terms, TextTable, stamped
from ..spaces import Counts, Grid, Labels, Space
from ..tabular import Columns, Tabular
from ..utility import kantorovich, read_prior, transport_solver
from ..wording import plural, rounded
from .method_table import custom_name
from .methods import Estimator, Method, estimate

#: First parameter of a family, by the kind of true values; "space" takes any of them.
FIRST_PARAMETER: dict[type, str] = {Counts: "n", Grid: "grid", Labels: "space"}


@dataclass(frozen=True, eq=False)
class ReconstructionLoss(Result):
    """How far estimates lie from the truth, on average over simulated surveys.

    Attributes
    ----------
    mean, standard_error
        The mean Kantorovich distance, in the unit of the space, and how well the simulations know it.
    losses
        The distance of each survey.
    people, method
        How many people report in each, and how they are estimated.
    report_loss
        For comparison: the mean distance between a single truth and its report.
    against
        What estimates are compared with: the population, or the very people of each survey.
    mechanism
        What they report with.

    Examples
    --------
    >>> import discreet as dc
    >>> loss = dc.reconstruction_loss(dc.geometric(4, epsilon=1), [0.1, 0.2, 0.4, 0.2, 0.1], people=500, repeats=5)
    >>> 0 < loss.mean < 1, loss.losses.shape
    (True, (5,))
    """

    mean: float
    standard_error: float
    losses: FloatArray = field(repr=False)
    report_loss: float
    people: int
    method: str
    against: str
    mechanism: Mechanism = field(repr=False)

    def _headline(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return (
            f"Kantorovich loss {self.mean:.4g} +- {self.standard_error:.2g} ({len(self.losses)} surveys of "
            f"{self.people:,} people, {self.method}, against the {self.against})"
        )

    def to_json(self) -> dict[str, Json]:
        """Return the numbers as plain JSON values."""
        content: dict[str, Json] = {
            "mechanism": self.mechanism.family,
            "mean": self.mean,
            "standard_error": _finite(self.standard_error),
            "losses": self.losses.tolist(),
            "report_loss": _finite(self.report_loss),
            "people": self.people,
            "method": self.method,
            "against": self.against,
        }
        return stamped("reconstruction-loss", 1, content)

    def report(self) -> Report:
        """Report how far off reconstructions are, and how that was simulated."""
        error = "" if math.isnan(self.standard_error) else f" (standard error {rounded(self.standard_error, 2)})"
        truth = "the population" if self.against == "population" else "the people of each survey"
        terms = [
            ("loss", f"{rounded(self.mean)}{error}, the mean Kantorovich distance from {truth}"),
            ("surveys", f"{len(self.losses):,} simulated, of {plural(self.people, 'person', 'people')} each"),
            ("method", self.method),
        ]
        if not math.isnan(self.report_loss):
            terms.insert(1, ("one report", f"{rounded(self.report_loss)} from its true value on average"))
        title = f"Reconstruction from reports of {FAMILIES.title(self.mechanism.family)}"
        return Report(title, "Simulated reconstruction", sections=(Section(parts=(Terms(tuple(terms)),)),))


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else value


def reconstruction_loss(
    mechanism: Mechanism,
    population: Any,
    *,
    people: int | None = None,
    repeats: int = 20,
    seed: int = 0,
    method: Method | Estimator = "mle",
    against: str | None = None,
    progress: bool | None = None,
    **options: Any,
) -> ReconstructionLoss:
    """Simulate the expected Kantorovich distance between the truth and what is reconstructed from reports.

    In every repetition people's true values are drawn from the population, reported through the mechanism, and
    estimated; the distance of the estimate from the truth is measured.

    Parameters
    ----------
    mechanism
        What people's devices use.
    population
        How likely each true value is; or, without ``people``, how many people have each (whole numbers), who then are
        the same in every repetition.
    people
        How many people report.
    repeats, seed
        How many surveys to simulate, and where they start: the same seed gives the same answer.
    method, options
        As for :func:`discreet.estimate`.
    against
        ``"population"`` (the default where people are drawn) or ``"sample"``, the people of each survey.
    progress
        Whether to show a bar; by default only on a terminal.

    References
    ----------
    [F] section 4.1, steps 1 to 4; [A] section VI, (1) and (3).

    Examples
    --------
    >>> import discreet as dc
    >>> p = [0.1, 0.2, 0.4, 0.2, 0.1]
    >>> near, far = (dc.reconstruction_loss(dc.geometric(4, epsilon=e), p, people=500, repeats=5) for e in (2, 0.5))
    >>> near.mean < far.mean
    True
    """
    space = mechanism.inputs
    if space.size is None:
        raise Unsupported(
            "a population needs finitely many true values.", "Use m.on(Counts(n)) first.", argument="mechanism"
        )
    fixed = _fixed(population, people, space.size)
    target = fixed / fixed.sum() if fixed is not None else read_prior(population, space.size)
    goal = against or ("sample" if fixed is not None else "population")
    if goal not in ("population", "sample"):
        raise InvalidInput.must_be("against", "'population' or 'sample'", against)
    times = positive_integer(repeats, "repeats")
    if space.as_grid is not None:
        transport_solver()  # missing, it should be missed before the surveys
    number = int(fixed.sum()) if fixed is not None else positive_integer(people, "people")
    rng = np.random.default_rng(seed)
    losses, distances = np.empty(times), np.empty(times)
    for k in with_bar(range(times), f"{FAMILIES.title(mechanism.family)}: surveys", progress):
        truths = fixed if fixed is not None else rng.multinomial(number, target)
        indices = np.repeat(np.arange(space.size), truths)
        reports = mechanism.simulate(space.values(indices), seed=int(rng.integers(2**63)))
        distances[k] = (
            np.mean(space.distance(space.values(indices), reports)) if mechanism.outputs == space else math.nan
        )
        reconstruction = estimate(reports=reports, mechanism=mechanism, method=method, **options)
        compared = truths / number if goal == "sample" else target
        p = np.maximum(reconstruction.distribution, 0)
        losses[k] = kantorovich(p / p.sum(), compared, space)
    name = method if isinstance(method, str) else custom_name(method)
    error = float(losses.std(ddof=1) / math.sqrt(times)) if times > 1 else math.nan
    return ReconstructionLoss(
        float(losses.mean()), error, losses, float(distances.mean()), number, name, goal, mechanism
    )


def _fixed(population: object, people: int | None, size: int) -> IntArray | None:
    """Return the people, if whole numbers of them were given instead of a distribution."""
    if people is not None:
        return None
    counts = np.asarray(population)
    if counts.dtype.kind not in "iu":
        raise InvalidInput(
            f"say how many people report: {arg('people')}; or give the population as whole numbers of people per value."
        )
    if counts.shape != (size,) or counts.min() < 0 or not counts.any():
        raise InvalidInput(
            f"a population of people is {size} whole numbers that are not negative, and not all zero.",
            argument="population",
        )
    return counts.astype(np.int64)


# ------------------------------------------------------------------------------------------------ comparisons


@dataclass(frozen=True)
class LossComparison(Tabular, Result):
    """Mechanisms calibrated to the same target, and how well a population is reconstructed from each.

    Attributes
    ----------
    target
        What all of them meet, in words.
    calibrations, losses
        By family: how epsilon was found, and what was simulated.

    Examples
    --------
    >>> import discreet as dc
    >>> p = [0.1, 0.2, 0.4, 0.2, 0.1]
    >>> both = dc.compare_reconstruction(dc.Counts(4), p, people=300, repeats=3, likelihood_ratio=2, within=1)
    >>> sorted(both.losses)
    ['geometric', 'randomized_response']
    """

    target: str
    calibrations: Mapping[str, Calibration]
    losses: Mapping[str, ReconstructionLoss]

    def data_columns(self) -> Columns:
        """Return a row for each family: its epsilon, and how far reports and reconstructions are off."""
        losses = self.losses.values()
        return {
            "family": list(self.losses),
            "epsilon": [one.mechanism.certificate.epsilon for one in losses],
            "reports off by": [one.report_loss for one in losses],
            "reconstruction off by": [one.mean for one in losses],
            "standard error": [one.standard_error for one in losses],
        }

    def _headline(self) -> str:
        return f"{', '.join(self.losses)}, calibrated to {self.target}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and cells as text."""
        headings = ["mechanism", "epsilon", "reports off by", "reconstruction off by", "standard error"]
        cells = []
        for name, loss in self.losses.items():
            numbers = (rounded(loss.report_loss, 4), rounded(loss.mean, 4), rounded(loss.standard_error, 2))
            cells.append([FAMILIES.title(name), text_up(loss.mechanism.certificate.epsilon, 5), *numbers])
        return headings, cells

    def __str__(self) -> str:
        return self.describe()

    def to_json(self) -> dict[str, Json]:
        """Return the numbers as plain JSON values."""
        mechanisms = {
            name: {"calibration": self.calibrations[name].to_json(), "loss": loss.to_json()}
            for name, loss in self.losses.items()
        }
        return stamped("loss-comparison", 1, {"target": self.target, "mechanisms": mechanisms})

    def report(self) -> Report:
        """Report the mechanisms side by side, and what is equal about them."""
        headings, cells = self.table()
        made = TextTable(
            tuple(headings), tuple(tuple(row) for row in cells), tuple(range(1, len(headings))), compact=True
        )
        meaning = (
            "Off by: the mean distance of a report from its true value, and the mean Kantorovich distance of the "
            "reconstruction. Equal in the target does not mean equally private for one person: compare the epsilons."
        )
        title = f"Reconstruction by mechanisms calibrated to {self.target}"
        parts = (made, Prose(meaning, tone="note"))
        return Report(title, "Compared at equal privacy", sections=(Section(parts=parts),))


def _default_families(space: Space) -> list[str]:
    """Return the families that are compared by default: those for such values alone, then those for any."""
    offered = FAMILIES.offered("reconstruct")
    firsts = dict.fromkeys((FIRST_PARAMETER[type(space)], "space"))
    return [family.name for first in firsts for family in offered if family.parameters[0] == first]


def compare_reconstruction(
    space: Space,
    population: object,
    *,
    people: int | None = None,
    families: Iterable[str | Callable[..., Mechanism]] | None = None,
    distance: Number | None = None,
    likelihood_ratio: Number | None = None,
    within: object = None,
    repeats: int = 20,
    seed: int = 0,
    method: Method | Estimator = "mle",
    progress: bool | None = None,
) -> LossComparison:
    """Compare mechanisms at equal privacy by how well a population can be reconstructed from their reports.

    "Equal privacy" has two meanings in the literature, and they can order mechanisms differently: the same expected
    distance between truth and report ([A]), or the same largest likelihood ratio within a radius ([F]). Equal distance
    is not equal privacy for one person: randomised response with epsilon 8 reports the true cell four times in five.

    Parameters
    ----------
    space
        The true values.
    population, people, repeats, seed, method, progress
        As for :func:`discreet.reconstruction_loss`.
    families
        Families as for :func:`discreet.calibrate`; by default those that fit the space.
    distance
        Calibrate to this expected distance between truth and report under the population ([A] (2)); or
    likelihood_ratio, within
        calibrate to this largest likelihood ratio between truths within a radius ([F] section 4).

    Examples
    --------
    >>> import discreet as dc
    >>> p = [0.1, 0.2, 0.4, 0.2, 0.1]
    >>> print(dc.compare_reconstruction(dc.Counts(4), p, people=300, repeats=3, distance=1).target)
    expected distance between truth and report at most 1, on average over the given prior
    """
    if space.size is None or type(space) not in FIRST_PARAMETER:
        raise WrongType.must_be("space", "Counts(n), Grid(...) or Labels([...])", space)
    if (distance is None) == (likelihood_ratio is None):
        raise InvalidInput(f"give exactly one of {arg('distance')} and {arg('likelihood_ratio')} (with within=radius).")
    if distance is not None and within is not None:
        raise InvalidInput(f"within= is the radius of {arg('likelihood_ratio')}; drop it, or give that.")
    fixed = _fixed(population, people, space.size)
    prior = fixed / fixed.sum() if fixed is not None else read_prior(population, space.size)
    wish: dict[str, Any] = {"likelihood_ratio": likelihood_ratio, "within": within}
    if distance is not None:
        wish = {"distance": distance, "prior": prior.tolist()}
    calibrations, losses = {}, {}
    for family in _default_families(space) if families is None else read_list(families, "families", "families"):
        name = family if isinstance(family, str) else family.__name__
        calibrations[name] = calibrate(family, space, **wish)
        losses[name] = reconstruction_loss(
            calibrations[name].mechanism, population, people=people, repeats=repeats, seed=seed, method=method,
            progress=progress,
        )  # fmt: skip
    if not calibrations:
        raise InvalidInput("there is nothing to compare.", "Name at least one family.", argument="families")
    return LossComparison(next(iter(calibrations.values())).target, calibrations, losses)
