"""Remapping: the best use of a mechanism's reports, for a prior and a loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ... import losses
from ...channels import Channel
from ...errors import Unsupported
from ...exact.arrays import BoolArray, IntArray
from ...exact.base import Kernel
from ...exact.rationals import text_up
from ...exact.tables import Table
from ...losses import Loss
from ...mechanism import Mechanism
from ...utility import cost, prior_of_values
from .structure import exact_table, judge_again
from .targets import exact_weights


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Remapped(Mechanism):
    """A mechanism with every report replaced by the best guess of the truth.

    Attributes
    ----------
    guesses
        The replacement of each report of the source, in the order of its reports.
    loss
        The loss the guesses minimise.
    cost
        The expected loss under the prior: a Fraction if the loss is rational, else a float.
    exact
        True if every guess was decided in rational numbers. Otherwise guesses whose expected losses agree to about
        twelve digits counted as equal.
    optimal
        True if this is proved to be optimal among **all** mechanisms that are as private as the source.
    sentence
        The reason, in words.
    """

    guesses: tuple[Any, ...] = field(repr=False)
    loss: Loss
    cost: Fraction | float
    exact: bool
    optimal: bool
    sentence: str


def remap(mechanism: Mechanism, loss: object = "L0", prior: object = None) -> Remapped:
    """Replace each report by the guess with the least expected loss, given the report.

    ::

        guess(y) = argmin_g sum_x prior(x) P(y | x) loss(x, g)

    The new mechanism is the old one followed by this fixed map, so it is at least as private; the judge checks it
    again. Of guesses with the same expected loss the one nearest to the report is chosen, then the smaller one. A
    report that is impossible under the prior is kept if possible.

    For the truncated geometric mechanism and a loss that never falls as the error grows, the result is optimal: no
    mechanism with the same epsilon has a smaller expected loss under that prior. For other losses, and for other
    mechanisms, it is the best use of *these* reports, and another mechanism may do better.

    Parameters
    ----------
    mechanism
        Any exact mechanism with finitely many truths and reports.
    loss
        "L0", "L1", "L2", a :class:`~discreet.losses.Loss`, or a matrix with a row per truth and a column per guess.
    prior
        The probability of each truth; uniform if not given. Also counts, or a mapping from truths to weights.

    Returns
    -------
    Remapped
        A :class:`~discreet.Mechanism` of the family "remapped" with ``guesses``, ``optimal`` and ``sentence``.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan 2012, *Universally utility-maximizing privacy mechanisms*.

    Examples
    --------
    >>> import discreet as dc
    >>> m = remap(dc.geometric(3, alpha="1/2"), "L1", prior=["1/8", "3/8", "3/8", "1/8"])
    >>> m.guesses, m.cost, m.optimal
    ((1, 1, 2, 2), Fraction(13, 24), True)
    """
    channel, table = exact_table(mechanism, "remapping")
    loss_object = losses.resolve(loss).on(channel.inputs, channel.inputs)
    weights = exact_weights(prior_of_values(prior, channel.inputs), channel.shape[0])
    guess, exact = _best_guesses(channel, table, loss_object, weights)
    rows = []
    for i in range(channel.shape[0]):
        row = [0] * channel.shape[0]
        for y, weight in enumerate(table.row(i)):
            row[guess[y]] += weight
        rows.append(row)
    parts = judge_again(mechanism, mechanism.inputs, Table.from_rows(rows).reduced())
    optimal, sentence = _optimality(mechanism, loss_object)
    remapped = Channel(parts["inputs"], parts["outputs"], parts["kernel"])
    return Remapped(
        **parts,
        family="remapped",
        parameters={
            "source": mechanism.family,
            "loss": loss_object.name,
            "prior": "uniform" if prior is None else "given",
        },
        guesses=tuple(mechanism.inputs.value(g) for g in guess),
        loss=loss_object,
        cost=cost(remapped, loss_object, weights, exact=True) if exact else cost(remapped, loss_object, weights),
        exact=exact,
        optimal=optimal,
        sentence=sentence,
    )


def _optimality(mechanism: Mechanism, loss: Loss) -> tuple[bool, str]:
    geometric = _is_truncated_geometric(mechanism.kernel)
    if geometric and loss.nondecreasing:
        return True, (
            f"Optimal: no mechanism with epsilon = {text_up(mechanism.certificate.epsilon)} has a smaller expected "
            "loss under this prior (Ghosh, Roughgarden, Sundararajan: the source is the truncated geometric mechanism "
            "and the loss never falls as the error grows)."
        )
    reason = (
        f"the loss {loss.name} does not grow with the error alone"
        if geometric
        else f"the source is {mechanism.family}, not the truncated geometric mechanism"
    )
    return (
        False,
        f"The best use of these reports; another mechanism with the same epsilon may do better, since {reason}.",
    )


def _is_truncated_geometric(kernel: Kernel) -> bool:
    noise = kernel.noise
    if noise is None or noise.geometric_ratio is None:
        return False
    return None not in noise.truths and noise.clamp == noise.truths


# ------------------------------------------------------------------------------------------------ guessing


def _best_guesses(channel: Channel, table: Table, loss: Loss, weights: tuple[Fraction, ...]) -> tuple[list[int], bool]:
    """Return the index of the best guess for each report, and whether all were decided exactly.

    Floats rule guesses out, with an error bound; rational numbers decide among the rest.
    """
    possible, contenders = _screen(channel, table, loss, weights)
    distance = _report_to_guess(channel)
    decide = _Decider.of(channel, table, loss, weights)
    guesses = []
    for y in range(channel.shape[1]):
        best = np.arange(channel.shape[0])
        if possible[y]:
            best = np.flatnonzero(contenders[y])
            if len(best) > 1 and decide is not None:
                best = decide.least(y, best)
        guesses.append(int(best[np.argmin(distance[y, best])]))  # argmin takes the smaller of two nearest guesses
    return guesses, decide is not None


def _screen(channel: Channel, table: Table, loss: Loss, weights: tuple[Fraction, ...]) -> tuple[BoolArray, BoolArray]:
    """Return masks of the possible reports, and of the guesses that could be best for each, up to the error of floats.

    Posteriors are scaled so that the likeliest truth has weight one: no report is too rare for a float.
    """
    totals = np.array([math.log(t) for t in table.totals])
    prior = np.array([math.log(w.numerator) - math.log(w.denominator) if w else -math.inf for w in weights])
    logs = table.log_weights()[table.codes] + (prior - totals)[:, None]
    largest = logs.max(axis=0)
    possible = largest > -math.inf
    posterior = np.exp(logs - np.where(possible, largest, 0.0)).T
    values = loss.of(channel.inputs, channel.inputs)
    size = float(max(np.abs(totals).max(), np.abs(prior[prior > -math.inf]).max(), 1.0))
    unit = (len(weights) + 16 * size) * 2.0**-50
    costs, error = posterior @ values, unit * (posterior @ np.abs(values)) + 1e-300 * np.abs(values).max()
    return possible, costs - error <= (costs + error).min(axis=1, keepdims=True)


def _report_to_guess(channel: Channel) -> IntArray:
    """Return the squared distance of each guess from each report; zeros if they have no distance."""
    try:
        return losses.squared_distances(channel.outputs, channel.inputs)
    except Unsupported:
        return np.zeros(channel.shape[::-1], np.int64)


@dataclass(frozen=True, eq=False)
class _Decider:
    """An exact comparison of expected losses, in integers over common denominators."""

    table: Table
    #: The prior of each truth over its total, times a common denominator.
    scale: list[int]
    losses: list[int]
    codes: IntArray

    @classmethod
    def of(cls, channel: Channel, table: Table, loss: Loss, weights: tuple[Fraction, ...]) -> _Decider | None:
        try:
            values, codes = loss.exact_levels(channel.inputs, channel.inputs)
        except Unsupported:  # irrational distances
            return None
        shares = [w / t for w, t in zip(weights, table.totals, strict=True)]
        common, denominator = math.lcm(*(s.denominator for s in shares)), math.lcm(*(v.denominator for v in values))
        return cls(table, [int(s * common) for s in shares], [int(v * denominator) for v in values], codes)

    def least(self, y: int, guesses: IntArray) -> IntArray:
        """Return the guesses with the least expected loss for report y."""
        column = [s * self.table.palette[c] for s, c in zip(self.scale, self.table.codes[:, y].tolist(), strict=True)]
        costs = [
            sum(w * self.losses[c] for w, c in zip(column, self.codes[:, g].tolist(), strict=True)) for g in guesses
        ]
        least = min(costs)
        return guesses[[c == least for c in costs]]
