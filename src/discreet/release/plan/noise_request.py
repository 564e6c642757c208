"""The noise that a request asks for: by epsilon, by error, or as a mechanism has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...errors import InvalidInput, arg, named
from ...exact.arrays import IntArray
from ...exact.rationals import claimed, text_up
from ...ledger.budget import Cost
from ...mechanism import Mechanism
from ...privacy.certificate import Certificate
from ..noise.cells import CellNoise, TableFamily, cell_noise, takes_sigma2
from ..noise.targets import epsilon_for, sigma2_for
from ..pricing import composition, weakest_noise
from ..tables.draft import Draft
from ..tables.table import TablePlan
from .request import ReleaseRequest


@dataclass(frozen=True)
class NoiseRequest:
    """The noise of a request.

    Attributes
    ----------
    request
        The request of the release.
    sizes
        The public size of each cell, where sizes were given.
    """

    request: ReleaseRequest
    sizes: IntArray | None

    def tables(self, drafts: Sequence[Draft]) -> Sequence[TablePlan]:
        """Return the tables with the noise of the request."""
        request = self.request
        if isinstance(request.mechanism, Mechanism):
            if request.error is not None:
                raise InvalidInput("a saved mechanism has its error already.", f"Leave {arg('error')} out.")
            return [draft.table(self.cells()) for draft in drafts]
        if request.epsilon is not None and request.error is not None:
            raise InvalidInput(f"give {arg('epsilon')} or {arg('error')}, not both: one follows from the other.")
        gaussian = takes_sigma2(request.mechanism)
        if request.error is not None:
            if gaussian:
                noise = self.cells(sigma2=sigma2_for(request.error, request.level))
            else:
                noise = self.cells(epsilon=epsilon_for(request.mechanism, request.error, request.level))
            return [draft.table(noise) for draft in drafts]
        if request.epsilon is None:
            raise InvalidInput(
                f"say how much noise: {arg('epsilon')} (the privacy of the whole release) or {arg('error')} (how far "
                "off a count "
                "may be)."
            )
        if gaussian:
            if not request.delta:
                raise InvalidInput(
                    f"discrete-gaussian needs a delta: {arg('delta', '1e-6')}, far below one over the number of people."
                )
            most = request.epsilon**2 / 8
            return weakest_noise(
                lambda rho: [draft.gaussian(self, rho) for draft in drafts], request.epsilon, request.delta, most
            )
        if not request.delta:
            return [draft.pure(self, request.epsilon) for draft in drafts]
        return weakest_noise(
            lambda scale: [draft.pure(self, scale) for draft in drafts], request.epsilon, request.delta, request.epsilon
        )

    def stated_cost(self, tables: Sequence[TablePlan]) -> tuple[Fraction | None, Fraction]:
        """Return the epsilon and delta that the noise must satisfy: as requested, or those of a saved mechanism."""
        request = self.request
        if not isinstance(request.mechanism, Mechanism) or request.delta:
            return request.epsilon, request.delta
        certificate = request.mechanism.certificate
        if request.epsilon is None and certificate.delta:
            times = sum(table.sensitivity for table in tables)
            epsilon = times * Fraction(certificate.epsilon)
            if all(change.by_one for table in tables for _, change in table.changes):
                return epsilon, _below_one(times * Fraction(certificate.delta), certificate)
            # larger steps lose more than as many deltas
            return epsilon, _below_one(claimed(composition(tables).delta(epsilon)), certificate)
        if request.epsilon is not None and (certificate.delta or math.isinf(certificate.epsilon)):
            return request.epsilon, _below_one(claimed(composition(tables).delta(request.epsilon)), certificate)
        return request.epsilon, request.delta

    def overpayment_note(self, tables: Sequence[TablePlan], cost: Cost) -> list[str]:
        """Return a note if the requested epsilon, which is charged, exceeds what a saved mechanism needs."""
        request = self.request
        if not isinstance(request.mechanism, Mechanism) or request.epsilon is None or cost.delta:
            return []
        least = composition(tables).epsilon(Fraction(0))
        if not least < 0.999 * float(request.epsilon):
            return []
        return [
            f"this mechanism has epsilon {text_up(least)} here, and {text_up(float(request.epsilon))} is charged; ask "
            "for no epsilon to be charged what it has."
        ]

    def signed(self, epsilon: Fraction | None = None, sigma2: Fraction | None = None) -> CellNoise:
        """Return unbiased noise, for the levels of a table with totals; the default form of counts is ignored."""
        return cell_noise(self._family, epsilon=epsilon, sigma2=sigma2, output="signed")

    def cells(self, epsilon: Fraction | None = None, sigma2: Fraction | None = None) -> CellNoise:
        """Return the noise of the cells of a table, in the requested form of counts."""
        output = self.request.counts
        noise = cell_noise(
            self._family, epsilon=epsilon, sigma2=sigma2, bound=self.request.bound, sizes=self.sizes, output=output
        )
        # readers expect counts of at least 0; a request for adding up many small counts says counts="signed"
        clamp_by_default = output is None and noise.output == "signed"
        return replace(noise, output="clamped", low=0) if clamp_by_default else noise

    @property
    def _family(self) -> str | Mechanism | TableFamily:
        """The mechanism of the request, or a function that designs one for a largest count and an epsilon."""
        if not self.request.designed:
            return self.request.mechanism
        from ...optimise.design.design import design  # takes a second to load

        properties, loss = self.request.properties or (), self.request.loss or "L0"
        return lambda n, epsilon: design(n, epsilon=epsilon, properties=properties, loss=loss)


def _below_one(delta: Fraction, certificate: Certificate) -> Fraction:
    """Return the delta of a release by a saved mechanism; refuse one that guarantees nothing."""
    if delta >= 1:
        raise InvalidInput(
            "this release would guarantee nothing: its delta would reach 1.",
            f"The delta of the mechanism is {text_up(certificate.delta)}, and it counts for every step that one person "
            f"moves: lower {named('max_groups')} or {named('max_rows')}, or take a mechanism with a smaller delta.",
            argument="mechanism",
        )
    return delta
