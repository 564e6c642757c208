"""Releases from the records of a ledger: for a question that is asked again, and for an audit."""

from __future__ import annotations

from ...errors import InvalidInput
from ...ledger.ledger import Ledger, RecordedAnswer
from ...strict_json import read_json
from ..plan.plan import Plan
from .released import Release


def recorded_answer(plan: Plan, book: Ledger) -> RecordedAnswer | None:
    """Return the recorded answer to the question of a plan for any order of its groups, or None.

    Older versions recorded an answer under the request with its declared order; this finds those too.
    """
    record = book.recorded(plan.key)
    return book.recorded(plan.declared_key) if record is None and plan.declared_key != plan.key else record


def release_from_record(plan: Plan, record: RecordedAnswer, book: Ledger) -> Release:
    """Rebuild a release from its record: each count goes to the group with its values."""
    content = read_json(record.answer, "the recorded answer")
    requests = record.request.get("tables", [])
    if not len(content["counts"]) == len(plan.tables) == len(requests):
        raise InvalidInput(
            "the ledger's recorded answer does not fit this question.", "Check it with: discreet ledger verify"
        )
    parts = [name for name in content if name != "version"]
    tables = [
        table.from_record({name: content[name][k] for name in parts}, requests[k], plan.level, plan.edition)
        for k, table in enumerate(plan.tables)
    ]
    return Release(
        plan, tuple(tables), _receipt(record, book), content["version"], fresh=record.fresh, paid=record.paid,
        budget=book.terms.budget,
    )  # fmt: skip


def _receipt(record: RecordedAnswer, book: Ledger) -> dict[str, object]:
    """Return the ledger's receipt for a record."""
    return {"ledger": book.terms.ledger, "entry": record.number, "head": record.head, "time": record.time}
