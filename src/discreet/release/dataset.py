"""A declared data set, and plans bound to its data and ledger, for releasing many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Unpack, cast

from ..addresses import read_address
from ..datasets.columns import DeclaredColumn
from ..datasets.create import refuse_other_terms
from ..datasets.declaration import FIXED, Declaration, DeclaredTable, read_lookups
from ..datasets.joins import joined_tables, related_tables, tables_behind
from ..datasets.lookups import PublicTables
from ..datasets.publication import Publication
from ..engines.sources import Data, Source, open_source, open_tables, open_tables_in_memory
from ..errors import InvalidInput, InWords, WrongType, arg, call, named
from ..exact.rationals import Number
from ..ledger.budget import Cost, amount_text
from ..ledger.ledger import Ledger
from ..lists import read_list
from ..periods import Per
from ..questions.domains import split_domain
from ..questions.question import Question, read_question, table_of_question
from ..questions.readings import undeclared_notes
from ..questions.select import read_where
from ..sources.encodings import UTF8, read_encoding
from ..sources.sql import quoted
from ..unit import read_unit_name
from ..wording import listed
from .acceptance import Accept
from .bound_plan import BoundPlan
from .contributions import Contributions, ContributionsPlan, contributions_of, refuse_other_fields
from .plan.fields import read_quantiles
from .plan.planning import plan_request
from .plan.quantile_planning import add_quantiles
from .plan.request import Domain, RequestFields, read_request
from .tables.margins.wanted import columns_of_tables, read_tables


class Budget(NamedTuple):
    """The budget of a data set: total, spent and left."""

    total: Cost
    spent: Cost
    left: Cost

    def __str__(self) -> str:
        return f"{amount_text(self.left)} left of {amount_text(self.total)}"


class Dataset:
    """A data set: its privacy unit, its public values, its ledger. Making one reads nothing.

    Parameters
    ----------
    name
        The name of the data set, as its ledger has it.
    data
        The data: an address, or a table in memory. Several tables of the same people, which questions may join, are a
        mapping from names to tables in memory; several files are declared in a dataset file.
    unit
        Whose data is protected: a column, or ``"row"``. Of several tables, the column of each by its name if they
        differ; the first is the one that the ledger has.
    unit_name
        The noun for it in texts: ``"person"``, ``"household"``; by default the name of its column.
    per
        The period that is part of the unit, by a date column: ``"month:visit_date"`` protects each month of each
        person by itself.
    columns
        The public values of columns: ``{"site": range(1, 7), "age": {"bands": [18, 30, 65]}}``.
    ledger
        The ledger that pays: its address, or the ledger itself.
    lookups
        Public look-ups by name: ``{"regions": {"data": "regions.csv", "key": "county"}}``. Questions may group by the
        columns of the file, and have conditions on them.
    encoding
        The encoding of a CSV file: ``"latin-1"``, ``"windows-1252"``, ``"utf-16"``; by default UTF-8.
    title, publisher, source, contact
        Statements for readers of every release from the data set, unless the request has its own.

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
        self, *, name: str, data: Data | Mapping[str, Data], unit: str | Mapping[str, str],
        unit_name: str | None = None, per: str | Per | None = None,
        columns: Mapping[str, object] | None = None, ledger: str | Path | Ledger | None = None,
        lookups: Mapping[str, Mapping[str, str]] | None = None, encoding: str | None = None, title: str = "",
        publisher: str = "", source: str = "", contact: str = "",
    ) -> None:  # fmt: skip
        if columns is not None and not isinstance(columns, Mapping):
            raise WrongType.must_be(
                "columns", "a mapping from columns to their public values", InWords(type(columns).__name__)
            )
        declared_columns = {key: DeclaredColumn.from_python(key, value) for key, value in (columns or {}).items()}
        in_files = isinstance(data, str | Path)
        ledger_name = None if ledger is None else ledger.name if isinstance(ledger, Ledger) else str(ledger)
        text = None if encoding is None else read_encoding(encoding)
        if isinstance(data, Mapping) and not data:
            raise InvalidInput("the data has no table.", "Give at least one, by its name.", argument="data")
        ledger_unit = unit if isinstance(unit, str) else next(iter(unit.values()), "")
        tables = {name: DeclaredTable(str(data) if in_files else "", encoding=text)}
        if isinstance(data, Mapping):
            own = dict.fromkeys(data, ledger_unit) if isinstance(unit, str) else dict(unit)
            if set(own) != set(data):
                raise InvalidInput(
                    f"the tables are {listed(sorted(data), 'and')}, and the units are of {listed(sorted(own), 'and')}.",
                    "Name the column of each table that names people.",
                    argument="unit",
                )
            tables = {table: DeclaredTable("", None if own[table] == ledger_unit else own[table]) for table in data}
        elif not isinstance(unit, str):
            raise WrongType.must_be("unit", "a column, or row", unit)
        noun = None if unit_name is None else read_unit_name(unit_name)
        self.declaration = Declaration(
            name, ledger_unit, tables, declared_columns, ledger_name, unit_name=noun,
            publication=Publication(title, publisher, source, contact), lookups=read_lookups(lookups or {}, "lookups"),
            per=None if per is None else Per.read(per),
        )  # fmt: skip
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
        """Open a dataset file; neither the data nor the ledger is opened."""
        return cls.of(Declaration.open(path))

    @classmethod
    def of(cls, declaration: Declaration) -> Dataset:
        """Return the data set of a declaration."""
        dataset = cls.__new__(cls)
        dataset.declaration, dataset._edition = declaration, ""
        dataset._memory = dataset._book = dataset._data = None
        return dataset

    def __repr__(self) -> str:
        place = "" if self.declaration.path is None else f" of {self.declaration.name}"
        return f"<Dataset {self.declaration.dataset!r}{place}>"

    def with_data(self, data: Data, *, edition: str) -> Dataset:
        """Return the data set with other data: the same people at another time, which ``edition`` names."""
        if not edition:
            raise InvalidInput(f"other data needs the name of its edition: {arg('edition', '2026-Q2')}.")
        dataset = type(self).of(self.declaration)
        dataset._book, dataset._edition = self._book, edition
        dataset._data, dataset._memory = (str(data), None) if isinstance(data, str | Path) else (None, data)
        return dataset

    def save(self, path: str | Path) -> Path:
        """Write the declaration to a new file; refused for a table in memory, which has no address."""
        if self._memory is not None or self._data is not None:
            raise InvalidInput("this data is not in the place that is declared.", "Declare its file.", argument="data")
        return self.declaration.save(path)

    @property
    def ledger_is_missing(self) -> bool:
        """Whether no ledger is declared: plans can be shown, but not released."""
        return self._book is None and self.declaration.ledger_address is None

    @property
    def ledger(self) -> Ledger:
        """The ledger that pays; refused if it belongs to another data set or unit."""
        if self._book is None:
            place = self.declaration.ledger_address
            if place is None:
                how = call(
                    f"dc.Ledger.create(path, dataset={self.declaration.dataset!r}, unit=..., epsilon=total)",
                    "discreet ledger init",
                )
                raise InvalidInput(
                    f"{self.declaration.name} declares no ledger.", f"Declare one, made by {how}.", argument="ledger"
                )
            declared = self.declaration
            self._book = Ledger.open(
                place, hint={"dataset": declared.dataset, "unit": declared.unit, "per": declared.granularity}
            )
        refuse_other_terms(self._book, self.declaration)
        return self._book

    @property
    def budget(self) -> Budget:
        """The budget: total, spent and left."""
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
            Instead of SQL, for a data set with one table: the columns to group by, and a condition.
        fields
            ``epsilon``, ``max_groups`` and the other fields of a :class:`discreet.ReleaseRequest`; ``domain`` and
            ``bands`` replace the declarations of those columns.
        """
        declaration = self.declaration
        for name in FIXED:
            if name in fields:
                raise declaration.fixed_field_error(name)
        sql = self._sql(by, where) if questions is None else questions
        if questions is not None and (by or where is not None):
            raise InvalidInput("the question says what to group by.", f"Leave {arg('by')} and {arg('where')} out.")
        texts = [sql] if isinstance(sql, str) else list(sql)
        table, parsed = self._parse(texts)
        unit = declaration.unit_of(table)
        request_fields = dict(fields)
        joined = joined_tables(declaration, table, parsed, self._data)
        parsed = add_quantiles(parsed, read_quantiles(request_fields.get("quantile") or ()))
        overrides = self._add_declared_values(request_fields, parsed)
        request_fields = {**declaration.publication.to_json(), **request_fields}
        request_fields |= {"unit": unit, "unit_name": declaration.unit_name}
        if (per := declaration.per_of(table)) is not None:
            request_fields["per"] = per
        if request_fields.get("sizes") is None and (declaration.ledger is not None or self._book is not None):
            request_fields["relation"] = self.ledger.terms.relation
        data, source = self._source(table, joined)
        edition = request_fields.get("edition") or self._edition
        if self._edition and edition != self._edition:
            raise InvalidInput(f"this data is the edition {self._edition!r}.", f"Leave {arg('edition')} out.")
        named_edition = str(edition)
        file_dataset = None if source is not None and not source.has_own_name else read_address(cast(str, data)).dataset
        if file_dataset != declaration.dataset:  # in memory, or a file of another name, which becomes the edition
            request_fields["dataset"] = declaration.dataset
            edition = edition or file_dataset or ""
        request_fields["edition"] = edition
        request = read_request(texts, **cast(RequestFields, request_fields))
        public = PublicTables(declaration, self._data)
        behind = tables_behind(declaration, table, source, self._data)
        plan = plan_request(
            request, cast(Data, data if source is None else source), parsed, self._declaring, public,
            related_tables(declaration, [*joined, *behind], source),
        )  # fmt: skip
        encoding = self._encoding(table, data)
        asked = {
            name.casefold(): values
            for name, values in _by_column(cast(Domain, request_fields.get("domain")), "domain").items()
        }
        values_of = partial(declaration.values_of, asked=asked)
        notes = [note for one in plan.tables for note in undeclared_notes(one.question, values_of)]
        plan = replace(plan, encoding=encoding or UTF8, notes=tuple(dict.fromkeys((*plan.notes, *notes))))
        if self._edition:
            overrides = (f"data: {data}" if isinstance(data, str) else "data in memory", *overrides)
        place = data if isinstance(data, str) else None
        places = {} if place is None else {name: declaration.data_of(name) for name in (*joined, *behind)}
        return BoundPlan(plan, self, table, source, place, overrides, encoding, named_edition, places)

    def plan_tables(
        self, columns: str | Sequence[str] = (), *, order: int | None = None, where: str | None = None,
        **fields: Unpack[RequestFields],
    ) -> BoundPlan:  # fmt: skip
        """Plan all tables of some columns at once: they share epsilon, and agree wherever they overlap.

        Parameters
        ----------
        columns
            The columns; by default those that ``tables`` names. All have declared values.
        order
            The largest number of columns of a table, 2 by default: all tables of up to that number, and the total.
        where
            A condition in SQL on the rows that are counted.
        fields
            ``epsilon``, ``delta`` (with one, the noise is discrete Gaussian) and the other fields of a
            :class:`discreet.ReleaseRequest`. ``tables`` names tables instead of ``order``, or in addition:
            ``["sex*age", "age*job=3"]`` or ``[["sex", "age"]]``, with public weights of those that matter more.

        Examples
        --------
        >>> import discreet as dc, pandas as pd
        >>> frame = pd.DataFrame({"person": [1, 2], "sex": ["f", "m"], "age": [30, 41], "job": ["cook", "smith"]})
        >>> data = dc.Dataset(
        ...     name="people", data=frame, unit="person",
        ...     columns={"sex": ["f", "m"], "age": range(100), "job": ["cook", "smith", ...]},
        ... )
        >>> plan = data.plan_tables(["sex", "age", "job"], order=2, epsilon=1, delta="1e-6")
        >>> plan.cells, len(plan.lead.margins.tables)
        (612, 7)
        """
        given = fields.get("tables")
        listed_tables = () if given is None else read_tables(given)
        wanted = (
            *((str(2 if order is None else order),) if order is not None or given is None else ()),
            *listed_tables,
        )
        names = columns or columns_of_tables(listed_tables)
        return self.plan(by=names, where=where, **cast(RequestFields, {**fields, "tables": wanted}))

    def plan_contributions(
        self, question: str, *, of: str = "groups", top: int = 10, leave_out: Number = Fraction(1, 20),
        **fields: Unpack[RequestFields],
    ) -> ContributionsPlan:  # fmt: skip
        """Work out what a histogram of contributions costs, and its error; no row is read and nothing is spent.

        The parameters are those of :func:`discreet.contributions`, without what is declared.
        """
        refuse_other_fields(fields)
        options: RequestFields = {**fields, "max_groups": 1}
        bound = self.plan(question, **options)
        return contributions_of(bound, of=of, top=top, leave_out=leave_out)

    def contributions(
        self, question: str, *, of: str = "groups", top: int = 10, leave_out: Number = Fraction(1, 20),
        out: str | Path | None = None, because: str | None = None, accept: Accept | None = None,
        **fields: Unpack[RequestFields],
    ) -> Contributions:  # fmt: skip
        """Count privately how many groups or rows people have, paid from the ledger of the data set.

        The parameters are those of :func:`discreet.contributions`, without what is declared.
        """
        planned = self.plan_contributions(question, of=of, top=top, leave_out=leave_out, **fields)
        return planned.release(out, because=because, accept=accept)

    def _sql(self, by: Sequence[str], where: str | None) -> str:
        names = [by] if isinstance(by, str) else read_list(by, "by", "columns")
        if not all(isinstance(name, str) for name in names):
            raise WrongType.must_be("by", "a list of columns", by)
        if len(self.declaration.tables) > 1:
            raise InvalidInput("the data set has several tables.", "Ask in SQL, which names one.", argument="by")
        return counting_sql(next(iter(self.declaration.tables)), names, where)

    def _declaring(self, column: str) -> str:
        """Return the advice on how to declare a column: in the file, if there is one."""
        if self.declaration.path is None:
            return f"Add it to {named('columns')}, or {arg('domain', [f'{column}=...'])} for this question."
        command = f"discreet dataset add-column {self.declaration.path} --domain {column}=..."
        return f"Run {command} first, or add {arg('domain', [f'{column}=...'])} for this question."

    def _parse(self, texts: Sequence[str]) -> tuple[str, list[Question]]:
        """Parse questions about one table; return its declared name, and the questions."""
        declaration = self.declaration
        units = {declaration.unit_of(table) for table in declaration.tables}
        if len(units) == 1:  # then questions can be parsed before their table is known
            questions = [read_question(text, unit=next(iter(units))) for text in texts]
            return self._table([question.table for question in questions]), questions
        table = self._table(list(map(table_of_question, texts)))
        return table, [read_question(text, unit=declaration.unit_of(table)) for text in texts]

    def _table(self, tables: Sequence[str]) -> str:
        """Return the declared name of the one table that the questions use."""
        declared_names = {name: self.declaration.find_table(name) for name in tables}
        for name, declared_name in declared_names.items():
            if declared_name is None:
                raise self.declaration.no_table(name)
        if len(set(declared_names.values())) != 1:
            raise InvalidInput("the questions ask several tables.", "Ask them apart.", argument="questions")
        return str(next(iter(declared_names.values())))

    def _add_declared_values(self, fields: dict[str, Any], questions: Sequence[Question]) -> tuple[str, ...]:
        """Add the declared domains and bands of the group columns; return the replaced declarations in words."""
        domain, bands = _by_column(fields.get("domain"), "domain"), _by_column(fields.get("bands"), "bands")
        discover = fields.get("discover") or ()
        names = discover.split(",") if isinstance(discover, str) else discover
        discovered_columns = {str(name).strip().casefold() for name in names}
        replaced_columns = {name.casefold() for name in (*domain, *bands)}
        overrides = tuple(
            f"{what} of {name}"
            for what, columns in (("domain", domain), ("bands", bands))
            for name in columns
            if self.declaration.find_column(name) is not None
        )
        has_edges = {
            column.casefold(): expression.declared is not None
            for question in questions
            for column, expression in zip(question.by, question.bands, strict=False)
            if expression is not None
        }
        for name in dict.fromkeys(column.casefold() for question in questions for column in question.by):
            column = self.declaration.find_column(name)
            if column is None or name in replaced_columns | discovered_columns or fields.get("groups") is not None:
                continue
            if column.bands is not None and not has_edges.get(name, False):
                bands[column.name] = column.bands if isinstance(column.bands, str) else column.edges.body
            elif column.bands is None and name not in has_edges:
                domain[column.name] = column.domain(self.declaration.folder)
        for what, values in (("domain", domain), ("bands", bands)):
            if values:
                fields[what] = values
        return overrides

    def open_table(self, table: str) -> Source:
        """Open the data of a declared table under its declared name; no row is read."""
        data, source = self._source(table)
        return open_source(data) if source is None else source

    def _source(self, table: str, joined: Sequence[str] = ()) -> tuple[object, Source | None]:
        """Return the data, and its source if it exists, with the declared names of the table and those joined to it."""
        if isinstance(self._memory, Mapping):
            return self._memory, open_tables_in_memory(self._memory, self.declaration.dataset)
        if self._memory is not None:
            return self._memory, open_source(self._memory, self.declaration.dataset)
        data = self.declaration.data_of(table) if self._data is None else self._data
        address = read_address(data)
        if not address.may_be_opened:
            return data, None
        if joined:
            places = {name: self.declaration.data_of(name) for name in (table, *joined)}
            return data, open_tables(
                {name: (place, self._encoding(name, place)) for name, place in places.items()}
            )  # fmt: skip
        return data, open_source(address, encoding=self._encoding(table, data)).call_table(table)

    def _encoding(self, table: str, data: object) -> str | None:
        """Return the declared encoding of a table, if its data is a CSV file."""
        return self.declaration.encoding_of(table, data) if isinstance(data, str) else None


def counting_sql(table: str, by: Sequence[str], where: str | None = None, totals: Sequence[Sequence[str]] = ()) -> str:
    """Return the SQL that counts a table by some columns, and by each of the parts of them in ``totals``.

    >>> counting_sql("visits", ["site"])
    'SELECT "site", COUNT(*) FROM "visits" GROUP BY "site"'
    >>> counting_sql("visits", ["site"], totals=[[]])
    'SELECT "site", COUNT(*) FROM "visits" GROUP BY GROUPING SETS (("site"), ())'
    """
    columns = ", ".join(map(quoted, by))
    condition = "" if where is None else f" WHERE {read_where(where)}"
    sets = ", ".join(f"({', '.join(map(quoted, level))})" for level in (by, *totals))
    group_by = f" GROUP BY {f'GROUPING SETS ({sets})' if totals else columns}" if by else ""
    return f"SELECT {columns}{', ' if by else ''}COUNT(*) FROM {quoted(table)}{condition}{group_by}"


def _by_column(values: Domain | None, what: str) -> dict[str, object]:
    """Return domains or bands by column, from a mapping or from texts."""
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return dict(values)
    texts = [values] if isinstance(values, str) else list(values)
    split = [split_domain(text, what) for text in texts]
    if len({name.casefold() for name, _ in split}) < len(split):
        raise InvalidInput(f"a column is given twice in {what}.", "Give it once.", argument=what)
    if what == "bands":
        return dict(split)
    from ..datasets.toml_domains import read_toml_domain

    return {name: read_toml_domain(name, body, Path()) for name, body in split}
