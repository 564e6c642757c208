"""The draft of all tables at once: which tables, the split of the budget, and the noise of each measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import ClassVar

from ....engines.base import Counting
from ....engines.margins.counting import CountingTables
from ....errors import InvalidInput, arg
from ....exact.arrays import IntArray
from ....mechanism import Mechanism
from ....privacy.bounds import concentrated_delta
from ....privacy.relations import RELATIONS
from ....questions.groups import ColumnValues, Groups
from ...marginals.signed import Columns, Margins
from ...marginals.split import coarse_parts, split_budget, split_for_geometric
from ...noise.cells import takes_sigma2
from ...protection import Protection
from ..draft import CellRequest, Draft
from ..table import TablePlan
from .plan import GAUSSIAN, GEOMETRIC, LAWS, MarginsTablePlan, SplitBudget
from .wanted import margins_of


@dataclass
class MarginsDraft(Draft):
    """All tables at once before their noise is chosen.

    Attributes
    ----------
    margins
        The tables.
    division
        The part of the budget of each measured set, as whole numbers.
    """

    margins: Margins = field(init=False)
    division: dict[Columns, int] = field(default_factory=dict)

    counts_once: ClassVar[bool] = True

    def refuse_misfits(self) -> None:
        """Refuse options that do not go with tables at once."""
        request, question = self.request, self.question
        reasons = {
            "groups": "lists whole groups, and tables at once need values for each column",
            "zeros": "names groups that cannot exist, whose noise tables at once could not share",
            "sizes": "gives the sizes of groups", "bound": "is for mechanisms that are tables",
            "error": "has no epsilon, which the split follows from",
            "max_rows": "counts rows, and each person has one record in tables at once",
            "properties": "asks for a design", "loss": "asks for a design", "totals": "names tables of its own",
            "quantile": "is found in one table", "split": "divides epsilon, which the tables share by computation",
            "discover": "finds groups in the data, and tables at once need declared ones",
        }  # fmt: skip
        for name, reason in reasons.items():
            value = getattr(request, name)
            if value is not None and value != () and not (name == "split" and value == (1,)):
                raise InvalidInput(f"{arg(name)} {reason}.", f"Leave it out with {arg('tables')}.", argument=name)
        if request.suppress_below is not None:
            raise InvalidInput(
                "tables that agree would undo what is withheld.", f"Leave {arg('suppress_below')} out.",
                argument="suppress_below",
            )  # fmt: skip
        if len(request.questions) > 1:
            raise InvalidInput("tables at once are one question.", "Release it alone.", argument="tables")
        if request.counts not in (None, "signed"):
            raise InvalidInput(
                "tables that agree are combined from unbiased counts, which may be negative.",
                f"Leave {arg('counts', request.counts)} out.",
                argument="counts",
            )
        if request.max_groups not in (None, 1):
            raise InvalidInput(
                "each person has one record in tables at once.", f"Leave {arg('max_groups')} out.",
                argument="max_groups",
            )  # fmt: skip
        if isinstance(request.mechanism, Mechanism) or request.mechanism.replace("-", "_") not in LAWS:
            raise InvalidInput(
                "the noise of tables at once follows from their parts of epsilon.",
                f"Give {arg('epsilon')}, and {arg('delta')} for discrete Gaussian noise.",
                argument="mechanism",
            )
        if question.tables:
            raise InvalidInput(
                "tables at once are of one table of people.", "Join the tables beforehand, into one table."
            )
        conditions = [one for one in question.aggregates if one.condition is not None]
        if len(question.aggregates) > 1 or conditions or question.levels:
            raise InvalidInput(
                "tables at once have one count, COUNT(*), by plain columns.", "Put a condition into WHERE."
            )
        self._refuse_own_lookups()

    def _refuse_own_lookups(self) -> None:
        """Refuse a column together with one that is looked up by it: most of their cells cannot exist."""
        by = {name.casefold() for name in self.question.by}
        for lookup in self.question.lookups:
            names = [column.name for column in lookup.columns if column.name.casefold() in by]
            if names and lookup.column.casefold() in by:
                raise InvalidInput(
                    f"{names[0]!r} is looked up by {lookup.column!r}, so most of their cells cannot exist.",
                    "Leave one of the two columns out.",
                    argument="tables",
                )

    # ---------------------------------------------------------------- groups

    @property
    def declarations(self) -> Sequence[Draft]:
        """A draft for each column, whose values are declared alone."""
        parts = []
        for column in self.question.by:
            part = _ColumnDraft(self.request, self.original, column=column)
            part.question, part.base, part.stored = self.question, self.base, self.stored
            part.bands = {name: bands for name, bands in self.bands.items() if name == column}
            parts.append(part)
        return parts

    def declare(self, groups: Sequence[Groups]) -> None:
        """Take the declared values of each column."""
        self.groups = ColumnValues.together(groups)
        self.margins = margins_of(self.request.tables or (), self.question.by, list(map(len, self.groups.values)))

    @property
    def declared_cells(self) -> int:
        return sum(map(self.margins.cells, self.margins.tables))

    def counting(self, protection: Protection) -> Counting:
        return CountingTables(
            self.base, self.groups, protection.unit, 1, b"", sets=self.margins.largest, per=protection.per
        )

    # ---------------------------------------------------------------- noise

    def measure(self, protection: Protection, sizes: IntArray | None) -> None:
        """Split the budget, by public numbers alone."""
        relation = RELATIONS[protection.relation]
        if self.is_gaussian:
            self.division = coarse_parts(self.margins, relation, split_budget(self.margins, relation))[0]
        else:
            self.division = split_for_geometric(self.margins, relation, float(self.request.epsilon or 1))

    @property
    def is_gaussian(self) -> bool:
        """True for discrete Gaussian noise, which is used where there is a delta."""
        return takes_sigma2(self.request.mechanism) or bool(self.request.delta)

    def tables(self, drafts: Sequence[Draft], protection: Protection, noise: CellRequest) -> Sequence[TablePlan]:
        epsilon, delta = self.request.epsilon, self.request.delta
        if epsilon is None:
            raise InvalidInput(f"say how much privacy the whole release has: {arg('epsilon', 1)}.", argument="epsilon")
        if self.is_gaussian and not delta:
            raise InvalidInput(
                f"discrete-gaussian needs a delta: {arg('delta', '1e-6')}, far below one over the number of people.",
                argument="delta",
            )
        assert isinstance(self.groups, ColumnValues)
        budget = _largest_rho(epsilon, delta) if self.is_gaussian else epsilon
        law = GAUSSIAN if self.is_gaussian else GEOMETRIC
        split = SplitBudget(law, budget, self.division)
        return [MarginsTablePlan.from_split(self.base, self.groups, self.margins, split, protection)]


@dataclass
class _ColumnDraft(Draft):
    """One column of tables at once, while its values are declared."""

    column: str = ""

    @property
    def declared_columns(self) -> tuple[str, ...]:
        return (self.column,)


def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, to six digits, of which this epsilon and delta follow."""
    low, high = 0.0, max(float(epsilon) ** 2, float(epsilon))
    for _ in range(60):
        middle = (low + high) / 2
        if concentrated_delta(Fraction(middle), epsilon) <= delta:
            low = middle
        else:
            high = middle
    if not low:
        raise InvalidInput(
            f"no sensible noise gives epsilon = {float(epsilon):g} with delta = {float(delta):g}.",
            "Ask for a larger delta or epsilon.",
            argument="delta",
        )
    return Fraction(Context(prec=6, rounding=ROUND_FLOOR).create_decimal(Decimal(low)))
