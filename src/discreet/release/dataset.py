"""A data set that was declared once, and plans that are bound to it: what people hold when they ask many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Unpack, cast

from ..addresses import read_address
from ..datasets.columns import DeclaredColumn
from ..datasets.declaration import FIXED, Declaration, DeclaredTable
from ..datasets.editions import bind_edition, edition_file, refuse_other_file
from ..datasets.making import refuse_other_terms
from ..engines.sources import Data, Source, open_source
from ..errors import InvalidInput, WrongType, arg, call
from ..ledger.budget import Cost, amount_text
from ..ledger.ledger import Ledger, Recorded
from ..questions.domains import split_domain
from ..questions.question import Question, asked_table, read_question
from ..report import Json, Report, Result
from ..sources.encodings import UTF8, read_encoding
from ..sources.sql import quoted
from ..unit import read_unit_name
from .bundle.recorded import recorded_answer
from .bundle.released import Release
from .counts import Outlook, foresee, release_plan
from .plan.plan import Plan
from .plan.planning import plan_request
from .plan.request import Domain, RequestFields, read_request


class Budget(NamedTuple):
    """The budget of a data set: in total, spent, and left."""

    total: Cost
    spent: Cost
    left: Cost

    def __str__(self) -> str:
        return f"{amount_text(self.left)} left of {amount_text(self.total)}"


class Dataset:
    """A data set: who is protected, which values are public, which ledger pays. Making one reads nothing.

    Parameters
    ----------
    name
        The name of the data set, as its ledger has it.
    data
        The data: an address, or a table in memory.
    unit
        Whose data is protected: a column, or ``"row"``.
    unit_name
        What texts call it: ``"person"``, ``"household"``; None to call it by its column.
    columns
        The public values of columns: ``{"site": range(1, 7), "age": {"bands": [18, 30, 65]}}``.
    ledger
        The ledger that pays: its address, or the ledger itself.
    encoding
        The encoding of a CSV file: ``"latin-1"``, ``"windows-1252"``, ``"utf-16"``; UTF-8 where none is given.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "visits.csv").write_text("person,site\\nann,1\\nbob,2\\n")
    >>> book = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="person", epsilon=3)
    >>> visits = dc.Dataset(
    ...     name="visits", data=folder / "visits.csv", unit="person", columns={"site": range(1, 4)}, ledger=book
    ... )
    >>> plan = visits.plan(by=["site"], max_groups=1, epsilon=1)
    >>> plan.cells, plan.preview().verdict, len(plan.release().rows()), str(visits.budget.left.epsilon)
    (3, 'paid', 3, '2')
    """

    def __init__(
        self, *, name: str, data: Data, unit: str, unit_name: str | None = None,
        columns: Mapping[str, object] | None = None, ledger: str | Path | Ledger | None = None,
        encoding: str | None = None,
    ) -> None:  # fmt: skip
        declared = {key: DeclaredColumn.from_python(key, value) for key, value in (columns or {}).items()}
        in_files = isinstance(data, str | Path)
        book = None if ledger is None else ledger.name if isinstance(ledger, Ledger) else str(ledger)
        text = None if encoding is None else read_encoding(encoding)
        table = DeclaredTable(str(data) if in_files else "", encoding=text)
        called = None if unit_name is None else read_unit_name(unit_name)
        self.declaration = Declaration(name, unit, {name: table}, declared, book, unit_name=called)
        if encoding is not None:
            if not in_files:
                raise InvalidInput(
                    "only CSV files have an encoding.", "Leave it out for a table in memory.", argument="encoding"
                )
            self.declaration.refuse_encoding(name)
        self._memory = None if in_files else data
        self._book = ledger if isinstance(ledger, Ledger) else None
        self._data: str | None = None
        self._edition = ""

    @classmethod
    def open(cls, path: str | Path) -> Dataset:
        """Open the data set that a file declares; neither the data nor the ledger is opened."""
        return cls.of(Declaration.open(path))

    @classmethod
    def of(cls, declaration: Declaration) -> Dataset:
        """Return the data set of a declaration that was read."""
        made = cls.__new__(cls)
        made.declaration, made._memory, made._book, made._data, made._edition = declaration, None, None, None, ""
        return made

    def __repr__(self) -> str:
        return f"<Dataset {self.declaration.dataset!r} of {self.declaration.name}>"

    def with_data(self, data: Data, *, edition: str) -> Dataset:
        """Return the same people at another time: other data, under the name of its edition."""
        if not edition:
            raise InvalidInput(f"other data needs the name of its edition: {arg('edition', '2026-Q2')}.")
        made = type(self).of(self.declaration)
        made._book, made._edition = self._book, edition
        made._data, made._memory = (str(data), None) if isinstance(data, str | Path) else (None, data)
        return made

    def save(self, path: str | Path) -> Path:
        """Write the declaration to a new file; a table in memory has no place that a file could name."""
        if self._memory is not None or self._data is not None:
            raise InvalidInput("this data is not in the place that is declared.", "Declare its file.", argument="data")
        return self.declaration.save(path)

    @property
    def ledger_is_missing(self) -> bool:
        """Whether no ledger is declared, so that plans can be shown and not released."""
        return self._book is None and self.declaration.ledger_place is None

    @property
    def ledger(self) -> Ledger:
        """The ledger that pays, which must be of this data set and unit."""
        if self._book is None:
            place = self.declaration.ledger_place
            if place is None:
                made = call(
                    f"dc.Ledger.create(path, dataset={self.declaration.dataset!r}, unit=..., epsilon=total)",
                    "discreet ledger init",
                )
                raise InvalidInput(
                    f"{self.declaration.name} declares no ledger.", f"Declare one, made by {made}.", argument="ledger"
                )
            declared = self.declaration
            self._book = Ledger.open(place, hint={"dataset": declared.dataset, "unit": declared.unit})
        refuse_other_terms(self._book, self.declaration)
        return self._book

    @property
    def budget(self) -> Budget:
        """The budget: in total, spent and left."""
        book, terms = self.ledger, self.ledger.terms
        return Budget(Cost(terms.epsilon, terms.delta, terms.rho), book.spent(), book.left())

    # -------------------------------------------------------------------------------------------- asking

    def plan(
        self, questions: str | Sequence[str] | None = None, *, by: Sequence[str] = (), where: str | None = None,
        **fields: Unpack[RequestFields],
    ) -> BoundPlan:  # fmt: skip
        """Work out what a release would publish and cost; no row is read and nothing is spent.

        Parameters
        ----------
        questions
            SQL, or several of the same table.
        by, where
            Instead of SQL, where the data set has one table: the columns to group by, and a condition.
        fields
            ``epsilon``, ``max_groups`` and whatever else a :class:`discreet.ReleaseRequest` has; ``domain`` and
            ``bands`` replace what is declared of those columns.
        """
        declared = self.declaration
        for name in FIXED:
            if name in fields:
                raise declared.fixed(name)
        sql = self._sql(by, where) if questions is None else questions
        if questions is not None and (by or where is not None):
            raise InvalidInput("the question says what to group by.", f"Leave {arg('by')} and {arg('where')} out.")
        texts = [sql] if isinstance(sql, str) else list(sql)
        table, asked = self._read(texts)
        unit = declared.unit_of(table)
        given = dict(fields)
        overrides = self._fill(given, asked)
        given |= {"unit": unit, "unit_name": declared.unit_name}
        if given.get("sizes") is None and (declared.ledger is not None or self._book is not None):
            given["relation"] = self.ledger.terms.relation
        data, source = self._source(table)
        edition = given.get("edition") or self._edition
        if self._edition and edition != self._edition:
            raise InvalidInput(f"this data is the edition {self._edition!r}.", f"Leave {arg('edition')} out.")
        named = str(edition)
        own = None if source is not None and not source.has_own_name else read_address(cast(str, data)).dataset
        if own != declared.dataset:  # in memory, or a file of another name, which is an edition of its own
            given["dataset"] = declared.dataset
            edition = edition or own or ""
        given["edition"] = edition
        request = read_request(texts, **cast(RequestFields, given))
        plan = plan_request(request, cast(Data, data if source is None else source), asked)
        encoding = self._encoding(table, data)
        plan = replace(plan, encoding=encoding or UTF8)
        if self._edition:
            overrides = (f"data: {data}" if isinstance(data, str) else "data in memory", *overrides)
        place = data if isinstance(data, str) else None
        return BoundPlan(plan, self, table, source, place, overrides, encoding, named)

    def _sql(self, by: Sequence[str], where: str | None) -> str:
        names = [by] if isinstance(by, str) else list(by)
        if len(self.declaration.tables) > 1:
            raise InvalidInput("the data set has several tables.", "Ask in SQL, which names one.", argument="by")
        columns = ", ".join(map(quoted, names))
        table = quoted(next(iter(self.declaration.tables)))
        condition = "" if where is None else f" WHERE {where}"
        grouped = f" GROUP BY {columns}" if names else ""
        return f"SELECT {columns}{', ' if names else ''}COUNT(*) FROM {table}{condition}{grouped}"

    def _read(self, texts: Sequence[str]) -> tuple[str, list[Question]]:
        """Read questions to one table; return that table, as it is declared, and the questions."""
        declared = self.declaration
        units = {declared.unit_of(table) for table in declared.tables}
        if len(units) == 1:  # then a question can be read before its table is known
            questions = [read_question(text, unit=next(iter(units))) for text in texts]
            return self._table([question.table for question in questions]), questions
        table = self._table(list(map(asked_table, texts)))
        return table, [read_question(text, unit=declared.unit_of(table)) for text in texts]

    def _table(self, tables: Sequence[str]) -> str:
        """Return the one table that is named, as it is declared."""
        names = {name: self.declaration.table_named(name) for name in tables}
        for name, known in names.items():
            if known is None:
                raise self.declaration.no_table(name)
        if len(set(names.values())) != 1:
            raise InvalidInput("the questions ask several tables.", "Ask them apart.", argument="questions")
        return str(next(iter(names.values())))

    def _fill(self, fields: dict[str, Any], asked: Sequence[Question]) -> tuple[str, ...]:
        """Add what is declared of the columns that are grouped by; return what was given instead."""
        domain, bands = _by_column(fields.get("domain"), "domain"), _by_column(fields.get("bands"), "bands")
        discovered = fields.get("discover") or ()
        names = discovered.split(",") if isinstance(discovered, str) else discovered
        skipped = {str(name).strip().casefold() for name in names}
        given = {name.casefold() for name in (*domain, *bands)}
        overrides = tuple(
            f"{what} of {name}"
            for what, own in (("domain", domain), ("bands", bands))
            for name in own
            if self.declaration.column_named(name) is not None
        )
        written = {
            column.casefold(): expression.declared is not None
            for question in asked
            for column, expression in zip(question.by, question.bands, strict=False)
            if expression is not None
        }
        for name in dict.fromkeys(column.casefold() for question in asked for column in question.by):
            column = self.declaration.column_named(name)
            if column is None or name in given | skipped or fields.get("groups") is not None:
                continue
            if column.bands is not None and not written.get(name, False):
                bands[column.name] = column.bands if isinstance(column.bands, str) else column.edges.body
            elif column.bands is None and name not in written:
                domain[column.name] = column.domain(self.declaration.folder)
        for what, values in (("domain", domain), ("bands", bands)):
            if values:
                fields[what] = values
        return overrides

    def open_table(self, table: str) -> Source:
        """Open the data of a declared table, which is called as it is declared; no row is read."""
        data, source = self._source(table)
        return open_source(data) if source is None else source

    def _source(self, table: str) -> tuple[object, Source | None]:
        """Return the data, and its source if it is there, with the table called as it is declared."""
        if self._memory is not None:
            return self._memory, open_source(self._memory, self.declaration.dataset)
        data = self.declaration.data_of(table) if self._data is None else self._data
        address = read_address(data)
        if not address.may_be_opened:
            return data, None
        return data, open_source(address, encoding=self._encoding(table, data)).call_table(table)

    def _encoding(self, table: str, data: object) -> str | None:
        """Return the encoding that is declared of a table, if its data is a CSV file."""
        return self.declaration.encoding_of(table, data) if isinstance(data, str) else None


def _by_column(given: Domain | None, what: str) -> dict[str, object]:
    """Return domains or bands by column, from whatever form they were given in."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    texts = [given] if isinstance(given, str) else list(given)
    split = [split_domain(text, what) for text in texts]
    if len({name.casefold() for name, _ in split}) < len(split):
        raise InvalidInput(f"a column is given twice in {what}.", "Give it once.", argument=what)
    if what == "bands":
        return dict(split)
    from ..datasets.written_values import read_written_values

    return {name: read_written_values(name, body, Path()) for name, body in split}


class BoundPlan(Result):
    """A plan with its data and its ledger: what is shown, and then released. It has every attribute of its plan.

    Attributes
    ----------
    plan
        The plan, which an auditor can rebuild from its request.
    overrides
        What was given instead of what is declared.
    """

    def __init__(
        self, plan: Plan, dataset: Dataset, table: str, source: Source | None, data: str | None,
        overrides: tuple[str, ...], encoding: str | None = None, edition: str = "",
    ) -> None:  # fmt: skip
        self.plan, self.dataset_object, self.overrides = plan, dataset, overrides
        self.table, self._opened, self._place = table, source, data
        self._previewed: list[Recorded | None] = []  # the answer that the last preview saw, until a release takes it
        self._encoding, self._edition = encoding, edition  # as it was named: a file's own name binds no file

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.plan, name)

    def __reduce__(self) -> NoReturn:
        raise WrongType("a bound plan holds its data and its ledger, and is not pickled.", "Pickle its .plan.")

    @property
    def source(self) -> Source:
        """The data; it must be there."""
        if self._opened is None:
            self._opened = open_source(self._place, encoding=self._encoding).call_table(self.table)
        return self._opened

    @property
    def place(self) -> str | None:
        """The address of the data; None for a table in memory."""
        return self._place

    @property
    def is_open(self) -> bool:
        """Whether the data was there when it was planned for."""
        return self._opened is not None

    @property
    def origin(self) -> tuple[str, ...]:
        """Where it is declared, and what was given instead, in words."""
        declared = self.dataset_object.declaration
        instead = (f"given instead of what is declared: {one}" for one in self.overrides)
        return (*([f"declared in {declared.name}"] if declared.path is not None else []), *instead)

    def preview(self, out: str | Path | None = None) -> Outlook:
        """Return what the ledger would decide now; nothing is spent."""
        book = self._checked_ledger()
        recorded = self._recorded_answer(self.plan, book)
        self._previewed = [recorded]
        return foresee(self.plan, self.source, book, out, lambda *_: recorded)

    def release(self, out: str | Path | None = None) -> Release:
        """Release the counts: reserve, count, add noise, commit, and write the bundle to a new folder if one is named.

        The schema is read again, and everything is rehearsed, immediately before the budget is reserved.
        """
        book = self._checked_ledger()
        recorded = self._previewed.pop() if self._previewed else self._recorded_answer(self.plan, book)
        return release_plan(self.plan, self.source, book, out, lambda: self._bind_edition(book), lambda *_: recorded)

    @property
    def _editions(self) -> tuple[str, ...]:
        """The editions whose file this is: the one that was named, and the one that the answer is recorded for."""
        return () if self._place is None else tuple(dict.fromkeys((self._edition, self.plan.edition)))

    def _is_unbound(self, book: Ledger) -> bool:
        """Return whether an edition was named and the ledger does not say of which file it is."""
        return bool(self._place and self._edition) and edition_file(book, self.table, self._edition) is None

    def _bind_edition(self, book: Ledger) -> None:
        """Have the ledger keep which file the edition is, if it is a file."""
        if self._is_unbound(book):
            self._recorded_answer(self.plan, book)  # refuses what was recorded since the last look, of whatever file
        for edition in self._editions:
            bind_edition(book, self.table, edition, str(self._place))

    def _checked_ledger(self) -> Ledger:
        """Return the ledger, if the edition is not bound to another file there."""
        book = self.dataset_object.ledger
        for edition in self._editions:
            refuse_other_file(book, self.table, edition, str(self._place))
        return book

    def _recorded_answer(self, plan: Plan, book: Ledger) -> Recorded | None:
        """Return the recorded answer; one that may be of another file is refused."""
        recorded = recorded_answer(plan, book)
        if recorded is not None and self._is_unbound(book):
            raise InvalidInput(
                f"the edition {plan.edition!r} was answered before, and the ledger does not say from which file.",
                f"Name a new edition: {arg('edition', 'NAME')}.",
            )
        return recorded

    def to_json(self) -> dict[str, Json]:
        """The plan for programs, with the declaration and what replaces parts of it."""
        return {**self.plan.to_json(), "declared_in": self.dataset_object.declaration.name,
                "overrides": list(self.overrides)}  # fmt: skip

    def report(self, guarantee: bool = True, outlook: Outlook | None = None) -> Report:
        """The plan for people, with the ledger's decision: the one that is given, or that of this moment."""
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
