"""A cross table of a data frame in one call: a dataset in memory, its plan and its release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..engines.arrow.foreign import not_a_table
from ..engines.arrow.tables import ArrowStream, table_in_memory
from ..errors import InvalidInput, InWords, UnreadableFile, WrongType, arg
from ..exact.rationals import Number
from ..ledger.ledger import Ledger
from ..ledger.stores.open import open_store
from ..lists import read_list
from ..questions.question import find_column
from .bundle.cross_frames import CrossTable
from .dataset import Dataset, counting_sql

#: Packages whose columns and arrays are no declaration of public values.
_FRAME_PACKAGES = ("pandas", "polars", "pyarrow", "numpy")


def crosstab(
    frame: ArrowStream,
    rows: str | Sequence[str],
    columns: str | Sequence[str] = (),
    *,
    unit: str,
    ledger: str | Path | Ledger,
    epsilon: Number | None = None,
    domain: Mapping[str, object] | None = None,
    bands: Mapping[str, object] | None = None,
    discover: str | Sequence[str] | None = None,
    delta: Number = 0,
    max_groups: int | None = None,
    margins: bool = False,
    where: str | None = None,
    edition: str = "",
    dataset: str | None = None,
    unit_name: str | None = None,
    out: str | Path | None = None,
    because: str | None = None,
    **fields: Any,
) -> CrossTable:
    """Release private counts of a data frame as a cross table, as ``pandas.crosstab`` counts it.

    Parameters
    ----------
    frame
        A DataFrame of pandas or polars, or a table of pyarrow, with a row for each record.
    rows, columns
        The columns to count by: the name of one, or a list of them. Without ``columns`` there is one column of counts.
    unit
        Whose data is protected: the column that names the person, or ``"row"`` where each row is another person.
    ledger
        The ledger that pays: its file, its address, or the ledger itself. ``dc.Ledger.create`` makes one.
    epsilon, delta
        The privacy of the table. ``delta`` is needed with ``discover``.
    domain
        The public values of each column, which you type: ``{"site": range(1, 7), "age": {"bands": [18, 30, 65]}}``. A
        final ``...`` counts all other values, None the missing ones. Columns, categories and unique values of a frame
        are refused, since they come from people's rows.
    bands
        The edges of columns that are counted in bands, ``{"age": [18, 30, 65]}``.
    discover
        Instead of ``domain`` for these columns: their values are discovered in the data, and named only if enough
        people have them.
    max_groups
        The maximum number of cells in which one person is counted; required unless each row is a person.
    margins
        True for totals of rows, of columns and of all, which add up and are paid from the same epsilon.
    where
        A condition in SQL on the rows that are counted, ``"year = 1"``. A frame that you filter yourself looks like the
        same data, and the same question about it gets the recorded answer.
    edition
        Your name for the state of the data. The same question for the same edition has one answer.
    dataset, unit_name
        The name of the data set (by default the ledger's), and the noun for the unit: ``"person"``.
    out
        A folder to write the bundle into, to publish; it must not exist.
    because
        Your reason, which the ledger keeps and nobody publishes.
    fields
        Further fields of a :class:`discreet.ReleaseRequest`: ``error``, ``mechanism``, ``counts``,
        ``level``, ``title``.

    Returns
    -------
    CrossTable
        Whole counts as a frame (``.to_pandas()``, ``.to_polars()``), their intervals (``.intervals()``), and the
        :class:`discreet.Release` behind them (``.release``).

    Examples
    --------
    >>> import discreet as dc, pandas, pathlib, tempfile
    >>> book = pathlib.Path(tempfile.mkdtemp()) / "visits.ledger"
    >>> ledger = dc.Ledger.create(book, dataset="visits", unit="person", epsilon=3)
    >>> visits = pandas.DataFrame({"person": ["ann", "bob", "eve"], "site": [1, 2, 2], "sex": ["f", "m", "f"]})
    >>> table = dc.crosstab(
    ...     visits, "site", "sex", domain={"site": [1, 2, 3], "sex": ["f", "m"]}, margins=True,
    ...     unit="person", max_groups=1, epsilon=1, ledger=ledger,
    ... )
    >>> frame = table.to_pandas()
    >>> list(frame.index), list(frame.columns), bool(frame.loc["Total", "Total"] == frame["Total"].iloc[:-1].sum())
    ([1, 2, 3, 'Total'], ['f', 'm', 'Total'], True)
    """
    table = table_in_memory(frame)
    if table is None:
        raise _not_a_frame(frame)
    down, across = _names(rows, "rows"), _names(columns, "columns")
    by = [*down, *across]
    if not down or len({name.casefold() for name in by}) < len(by):
        raise InvalidInput.must_be("rows", "a column, or several that differ from the columns across", by)
    declared, edges = _typed(domain, "domain"), _typed(bands, "bands")
    names_to_discover = _names(discover or (), "discover")
    known = (*declared, *edges, *names_to_discover)
    _refuse_unknown(by, known, [*table.names(), *table.index_names()])
    _refuse_undeclared(by, known)
    _refuse_fields(fields)
    book = _open_ledger(ledger, dataset, unit)
    data = Dataset(
        name=book.terms.dataset if dataset is None else dataset,
        data=frame, unit=unit, unit_name=unit_name, columns=declared, ledger=book,
    )  # fmt: skip
    totals: list[Sequence[str]] = [] if not margins else [down, across, ()] if across else [()]
    fields |= {"epsilon": epsilon, "delta": delta, "max_groups": max_groups, "edition": edition}
    fields |= {"bands": edges} if edges else {}
    fields |= {"discover": names_to_discover} if names_to_discover else {}
    plan = data.plan(counting_sql(data.declaration.dataset, by, where, totals), **fields)
    return CrossTable(plan.release(out, because=because), len(down))


def _names(value: object, argument: str) -> list[str]:
    """Read one name of a column, or several."""
    names = [value] if isinstance(value, str) else read_list(value, argument, "columns")
    package = _frame_package(value)
    if package or not all(isinstance(name, str) for name in names):
        given = InWords(f"a {type(value).__name__} of {package}") if package else value
        raise WrongType.must_be(argument, "the name of a column, or a list of names", given)
    return names


def _typed(values: Mapping[str, object] | None, argument: str) -> dict[str, object]:
    """Return declared values by column; refuse those that a library made, which come from people's rows."""
    if values is None:
        return {}
    if not isinstance(values, Mapping) or _frame_package(values):
        raise WrongType.must_be(
            argument, "a mapping from columns to values", InWords(f"a {type(values).__name__}"),
            f"Write {argument}={_EXAMPLES[argument]}.",
        )  # fmt: skip
    for column, content in values.items():
        parts = [content, *content.values()] if isinstance(content, Mapping) else [content]
        items = [item for part in parts if isinstance(part, Iterable) and not isinstance(part, str) for item in part]
        made = next((one for one in (*parts, *items) if _frame_package(one)), None)
        if made is not None:
            raise WrongType(
                f"the values of {column!r} come from {_frame_package(made)}, where they can depend on people's rows.",
                f"Type them: {argument}={_EXAMPLES[argument]}.",
                argument=argument,
            )
    return dict(values)


#: Examples of declared values, as Python has them.
_EXAMPLES = {
    "domain": '{"site": [1, 2, 3], "health": ["good", "poor"]}',
    "bands": '{"age": [18, 30, 65]}',
}


def _frame_package(value: object) -> str:
    """Return the library of data that an object belongs to; empty for plain Python."""
    package = type(value).__module__.partition(".")[0]
    return package if package in _FRAME_PACKAGES else ""


def _refuse_unknown(by: Sequence[str], declared: Iterable[str], names: Sequence[object]) -> None:
    """Refuse a column that the frame does not have; the plan refuses those of which values are declared."""
    known = {name.casefold() for name in declared}
    for name in by:
        if name.casefold() not in known:
            find_column(name, (one for one in names if isinstance(one, str)))


def _refuse_undeclared(by: Sequence[str], declared: Iterable[str]) -> None:
    """Refuse a column without declared values: neither rows nor categories of the frame declare them."""
    known = {name.casefold() for name in declared}
    missing = [name for name in by if name.casefold() not in known]
    if missing:
        name = missing[0]
        raise InvalidInput(
            f"the values of {name!r} are not declared; neither the rows nor the categories of the frame declare them.",
            f'Type them, domain={{{name!r}: ["a", "b"]}}, or have them discovered: {arg("discover", name)}, '
            f"{arg('delta', 1e-6)}.",
            argument="domain",
        )


#: Fields of a request that a cross table does not take -> what to do instead.
_NOT_TAKEN = {
    **dict.fromkeys(("totals", "split"), "margins=True adds totals."),
    **dict.fromkeys(("groups", "zeros", "sizes", "quantile"), "Use dc.release_counts."),
    "relation": "The ledger states it.",
}


def _refuse_fields(fields: Mapping[str, object]) -> None:
    for name, instead in _NOT_TAKEN.items():
        if name in fields:
            raise InvalidInput(f"a cross table takes no {name}.", instead, argument=name)


def _open_ledger(ledger: object, dataset: str | None, unit: str) -> Ledger:
    """Open the ledger; if there is none, the error is the line that makes it."""
    if isinstance(ledger, Ledger):
        return ledger
    if not isinstance(ledger, str | Path) or not str(ledger):
        raise WrongType.must_be("ledger", "the file or the address of a ledger, or the ledger", ledger)
    if not open_store(ledger).exists():
        name = Path(ledger).stem if dataset is None else dataset
        raise UnreadableFile(
            f"there is no ledger {ledger}.",
            "Make it once, with a budget for everything that will ever be released from the data:\n"
            f"  dc.Ledger.create({str(ledger)!r}, dataset={name!r}, unit={unit!r}, epsilon=3)",
            argument="ledger",
        )
    return Ledger.open(ledger)


def _not_a_frame(frame: object) -> WrongType:
    """Return the error for anything that is not a table in memory."""
    if isinstance(frame, str | Path):
        return WrongType.must_be(
            "frame", "a DataFrame of pandas or polars, or a table of pyarrow", frame,
            "Read it first, or release from the file: dc.release_counts(..., data=FILE).",
        )  # fmt: skip
    return not_a_table(frame, "frame", "a DataFrame of pandas or polars, or a table of pyarrow")
