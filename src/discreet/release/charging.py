"""The account of a plan: the ledger that its unit, relation and periods belong to, and the names that it keeps."""

from __future__ import annotations

from ..errors import InvalidInput, arg
from ..ledger.bindings import bind_unit_name, bind_value, bound_value, refuse_other_unit_name
from ..ledger.ledger import Ledger, RecordedAnswer
from ..periods import Per
from ..questions.joins.clauses import periods_of_tables
from .plan.plan import Plan


def refuse_other_account(plan: Plan, book: Ledger) -> None:
    """Refuse a ledger of other people, of another unit or granularity, or by another date column."""
    protection = plan.protection
    book.check_terms(plan.dataset, protection.unit, protection.relation, protection.granularity)
    refuse_other_unit_name(book, protection.unit_name)
    _refuse_other_dates(plan, book)


def bind_account(plan: Plan, book: Ledger) -> None:
    """Keep the name of the unit and the date column of each table, if this release is the first to give them."""
    bind_unit_name(book, plan.protection.unit_name)
    if (per := plan.protection.per) is not None:
        for table, column in _date_columns(plan, per):
            bind_value(book, _dates_of(book, table), column, f"rows of {table} are dated by {column}")
        _refuse_other_dates(plan, book)


def uncharged_periods(plan: Plan, record: RecordedAnswer, book: Ledger) -> bool:
    """Return True if the ledger did not charge every period that the plan of a recorded answer reads."""
    if plan.protection.per is None:
        return False
    charges = [
        entry.reservation.periods
        for entry in book.entries()
        if entry.reservation.key == record.key and entry.committed is not None
    ]
    return any(
        charged is not None and (plan.periods is None or not set(plan.periods) <= set(charged)) for charged in charges
    )


def _refuse_other_dates(plan: Plan, book: Ledger) -> None:
    """Refuse another date column than that of the first release: its periods would be others by the same names."""
    if (per := plan.protection.per) is None:
        return
    for table, asked in _date_columns(plan, per):
        column = bound_value(book, _dates_of(book, table))
        if column is not None and column != asked:
            raise InvalidInput(
                f"{book.name} has the periods of {table} by {column}, and this request by {asked}.",
                f"Date the rows by the same column: {arg('per', f'{per.granularity}:{column}')}.",
                argument="per",
            )


def _date_columns(plan: Plan, per: Per) -> list[tuple[str, str]]:
    """Return all tables of a plan, joined ones too, each with the column that dates its rows."""
    tables = [periods_of_tables(table.question, per).items() for table in plan.tables]
    return sorted({(name, one.column) for items in tables for name, one in items})


def _dates_of(book: Ledger, table: str) -> tuple[str, ...]:
    return ("period column", book.terms.dataset, table)
