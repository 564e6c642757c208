"""The noise that a request asks for: by epsilon, by error, or as a mechanism has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...errors import InvalidInput, arg
from ...exact.arrays import IntArray
from ...exact.rationals import claimed, text_up
from ...ledger.budget import Cost
from ...mechanism import Mechanism
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
        What was asked.
    sizes
        The public size of each cell, where sizes were given.
    """

    request: ReleaseRequest
    sizes: IntArray | None

    def tables(self, drafts: Sequence[Draft]) -> Sequence[TablePlan]:
        """The tables with the noise that was asked for."""
        asked = self.request
        if isinstance(asked.mechanism, Mechanism):
            if asked.error is not None:
                raise InvalidInput("a saved mechanism has its error already.", f"Leave {arg('error')} out.")
            return [draft.table(self.cells()) for draft in drafts]
        if asked.epsilon is not None and asked.error is not None:
            raise InvalidInput(f"give {arg('epsilon')} or {arg('error')}, not both: one follows from the other.")
        gaussian = takes_sigma2(asked.mechanism)
        if asked.error is not None:
            if gaussian:
                noise = self.cells(sigma2=sigma2_for(asked.error, asked.level))
            else:
                noise = self.cells(epsilon=epsilon_for(asked.mechanism, asked.error, asked.level))
            return [draft.table(noise) for draft in drafts]
        if asked.epsilon is None:
            raise InvalidInput(
                f"say how much noise: {arg('epsilon')} (the privacy of the whole release) or {arg('error')} (how far "
                "off a count "
                "may be)."
            )
        if gaussian:
            if not asked.delta:
                raise InvalidInput(
                    f"discrete-gaussian needs a delta: {arg('delta', '1e-6')}, far below one over the number of people."
                )
            most = asked.epsilon**2 / 8
            return weakest_noise(
                lambda rho: [draft.gaussian(self, rho) for draft in drafts], asked.epsilon, asked.delta, most
            )
        if not asked.delta:
            return [draft.pure(self, asked.epsilon) for draft in drafts]
        return weakest_noise(
            lambda scale: [draft.pure(self, scale) for draft in drafts], asked.epsilon, asked.delta, asked.epsilon
        )

    def stated_cost(self, tables: Sequence[TablePlan]) -> tuple[Fraction | None, Fraction]:
        """The epsilon and delta to hold the noise against: those asked for, or those a ready mechanism has itself."""
        asked = self.request
        if not isinstance(asked.mechanism, Mechanism) or asked.delta:
            return asked.epsilon, asked.delta
        certificate = asked.mechanism.certificate
        if asked.epsilon is None and certificate.delta:
            times = sum(table.sensitivity for table in tables)
            return times * Fraction(certificate.epsilon), times * Fraction(certificate.delta)
        if asked.epsilon is not None and (certificate.delta or math.isinf(certificate.epsilon)):
            return asked.epsilon, claimed(composition(tables).delta(asked.epsilon))
        return asked.epsilon, asked.delta

    def overpayment_note(self, tables: Sequence[TablePlan], cost: Cost) -> list[str]:
        """A note where a ready mechanism has less epsilon than was asked for, and so would be paid for."""
        asked = self.request
        if not isinstance(asked.mechanism, Mechanism) or asked.epsilon is None or cost.delta:
            return []
        least = composition(tables).epsilon(Fraction(0))
        if not least < 0.999 * float(asked.epsilon):
            return []
        return [
            f"this mechanism has epsilon {text_up(least)} here, and {text_up(float(asked.epsilon))} is charged; ask "
            "for no epsilon to be charged what it has."
        ]

    def signed(self, epsilon: Fraction | None = None, sigma2: Fraction | None = None) -> CellNoise:
        """The noise of a level with totals: unbiased, whatever is the default."""
        return cell_noise(self._family, epsilon=epsilon, sigma2=sigma2, output="signed")

    def cells(self, epsilon: Fraction | None = None, sigma2: Fraction | None = None) -> CellNoise:
        """The noise of the cells of a table, in the form of counts that was asked for."""
        output = self.request.counts
        noise = cell_noise(
            self._family, epsilon=epsilon, sigma2=sigma2, bound=self.request.bound, sizes=self.sizes, output=output
        )
        # people expect counts that are not negative; whoever adds many small ones up asks for signed ones
        unsaid = output is None and noise.output == "signed"
        return replace(noise, output="clamped", low=0) if unsaid else noise

    @property
    def _family(self) -> str | Mechanism | TableFamily:
        """The mechanism that was named or given, or how to design one for a largest count and an epsilon."""
        if not self.request.designed:
            return self.request.mechanism
        from ...optimise.design.designing import design  # which takes a second to load

        properties, loss = self.request.properties or (), self.request.loss or "L0"
        return lambda n, epsilon: design(n, epsilon=epsilon, properties=properties, loss=loss)
