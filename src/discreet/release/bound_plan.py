"""A plan bound to the data and the ledger of a declared data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..datasets.editions import bind_edition, edition_file, refuse_other_file
from ..engines.sources import Source, open_source
from ..errors import InvalidInput, WrongType, arg
from ..ledger.ledger import Ledger, RecordedAnswer
from ..report import Json, Report, Result
from .acceptance import Accept
from .bundle.recorded import recorded_answer
from .bundle.released import Release
from .counts import LedgerDecision, preview_release, release_plan
from .made_up import MadeUpSizes
from .plan.plan import Plan
from .simulate import SimulatedRelease, simulate_release

if TYPE_CHECKING:
    from .dataset import Dataset


class BoundPlan(Result):
    """A plan with its data and its ledger, to preview and to release. It has every attribute of its plan.

    Attributes
    ----------
    plan
        The plan, which an auditor can rebuild from its request.
    overrides
        The declarations that the request replaces, in words.
    """

    def __init__(
        self, plan: Plan, dataset: Dataset, table: str, source: Source | None, data: str | None,
        overrides: tuple[str, ...], encoding: str | None = None, edition: str = "",
        joined: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.plan, self.dataset_object, self.overrides = plan, dataset, overrides
        self.table, self._opened, self._place = table, source, data
        #: Recorded answer of the last preview, until a release takes it.
        self._preview_answer: list[RecordedAnswer | None] = []
        self._joined = dict(joined or {})
        self._encoding, self._edition = encoding, edition  # as the user named it; a file's name binds no file

    def with_plan(self, plan: Plan) -> BoundPlan:
        """Return another plan bound to the same data and ledger."""
        return BoundPlan(
            plan, self.dataset_object, self.table, self._opened, self._place, self.overrides, self._encoding,
            self._edition, self._joined,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.plan, name)

    def __reduce__(self) -> NoReturn:
        raise WrongType("a bound plan holds its data and its ledger, and is not pickled.", "Pickle its .plan.")

    @property
    def source(self) -> Source:
        """The data; an error if it does not exist."""
        if self._opened is None:
            self._opened = open_source(self._place, encoding=self._encoding).call_table(self.table)
        return self._opened

    @property
    def place(self) -> str | None:
        """Address of the data; None for a table in memory."""
        return self._place

    @property
    def is_open(self) -> bool:
        """Whether the data existed when the plan was made."""
        return self._opened is not None

    @property
    def origin(self) -> tuple[str, ...]:
        """The dataset file, and the declarations that the request replaces, in words."""
        declaration = self.dataset_object.declaration
        replacements = (f"given instead of what is declared: {one}" for one in self.overrides)
        return (*([f"declared in {declaration.name}"] if declaration.path is not None else []), *replacements)

    def preview(self, out: str | Path | None = None) -> LedgerDecision:
        """Return the ledger's decision about this plan; nothing is spent."""
        book = self.checked_ledger()
        recorded = self._recorded_answer(self.plan, book)
        self._preview_answer = [recorded]
        return preview_release(self.plan, self.source, book, out, lambda *_: recorded)

    def simulate(self, sizes: MadeUpSizes | None = None, *, seed: int = 0) -> SimulatedRelease:
        """Return the table that would be published for made-up counts; see :func:`discreet.simulate_release`.

        Neither the data nor the ledger is opened.
        """
        return simulate_release(self.plan, sizes, seed=seed)

    def release(
        self, out: str | Path | None = None, *, because: str | None = None, accept: Accept | None = None
    ) -> Release:
        """Release the counts: reserve, count, add noise, commit, and write the bundle to a new folder if one is named.

        The ledger keeps the reason ``because`` with your user name or database role; neither is ever published.
        The schema is read again, and the release is rehearsed, immediately before the budget is reserved. ``accept`` is
        a TOML file with acceptance criteria, or their mapping; a plan that does not meet them costs nothing.
        """
        book = self.checked_ledger()
        recorded = self._preview_answer.pop() if self._preview_answer else self._recorded_answer(self.plan, book)
        return release_plan(
            self.plan, self.source, book, out, lambda: self.bind_edition(book), lambda *_: recorded, because, accept
        )

    @property
    def _editions(self) -> tuple[str, ...]:
        """Editions to bind to this file: the one that the user named, and the one of the recorded answer."""
        return () if self._place is None else tuple(dict.fromkeys((self._edition, self.plan.edition)))

    @property
    def _places(self) -> dict[str, str]:
        """The address of each table that is read."""
        return {self.table: str(self._place), **self._joined}

    def _is_unbound(self, book: Ledger) -> bool:
        """Return whether the user named an edition that the ledger binds to no file."""
        return bool(self._place and self._edition) and edition_file(book, self.table, self._edition) is None

    def bind_edition(self, book: Ledger) -> None:
        """Bind the edition to its file in the ledger, if the data is a file."""
        if self._is_unbound(book):
            self._recorded_answer(self.plan, book)  # refuses an answer that was recorded since, from an unknown file
        for edition in self._editions:
            for table, place in self._places.items():
                bind_edition(book, table, edition, place)

    def checked_ledger(self) -> Ledger:
        """Return the ledger; refuse an edition that it binds to another file."""
        book = self.dataset_object.ledger
        for edition in self._editions:
            for table, place in self._places.items():
                refuse_other_file(book, table, edition, place)
        return book

    def _recorded_answer(self, plan: Plan, book: Ledger) -> RecordedAnswer | None:
        """Return the recorded answer; refuse one that may be of another file."""
        recorded = recorded_answer(plan, book)
        if recorded is not None and self._is_unbound(book):
            raise InvalidInput(
                f"the edition {plan.edition!r} was answered before, and the ledger does not say from which file.",
                f"Name a new edition: {arg('edition', 'NAME')}.",
            )
        return recorded

    def to_json(self) -> dict[str, Json]:
        """Return the plan for programs, with its dataset file and the declarations that it replaces."""
        return {**self.plan.to_json(), "declared_in": self.dataset_object.declaration.name,
                "overrides": list(self.overrides)}  # fmt: skip

    def report(self, guarantee: bool = True, outlook: LedgerDecision | None = None) -> Report:
        """Report the plan for people, with the ledger's decision: ``outlook``, or by default the present one."""
        report = self.plan.report(guarantee)
        notes = self.origin
        if self._opened is None:
            return replace(
                report, notes=(*report.notes, *notes, "the data is not there: its columns could not be checked")
            )
        if self.dataset_object.ledger_is_missing:
            return replace(report, notes=(*report.notes, *notes, "no ledger is declared: a release needs one"))
        sections = (outlook or self.preview()).report().sections
        return replace(report, sections=(*report.sections, *sections), notes=(*report.notes, *notes))

    def _headline(self) -> str:
        return f"{self.plan.cells:,} counts of {self.plan.dataset}, cost {self.plan.cost}"

    def __str__(self) -> str:
        return self.describe()
