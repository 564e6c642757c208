"""What a ledger recorded, as a release: for whoever asks again, and for an audit."""

from __future__ import annotations

from ...errors import InvalidInput
from ...ledger.ledger import Ledger, RecordedAnswer
from ...strict_json import read_json
from ..plan.plan import Plan
from .released import Release


def recorded_answer(plan: Plan, book: Ledger) -> RecordedAnswer | None:
    """The recorded answer to the question of a plan, in whatever order its groups were declared; None if there is none.

    Older programs recorded an answer under the request as it was declared; that one is looked for too.
    """
    found = book.recorded(plan.key)
    return book.recorded(plan.declared_key) if found is None and plan.declared_key != plan.key else found


def recall(plan: Plan, recorded: RecordedAnswer, book: Ledger) -> Release:
    """A release from what the ledger recorded: each count goes to the group that has its values."""
    content = read_json(recorded.answer, "the recorded answer")
    asked = recorded.request.get("tables", [])
    if not len(content["counts"]) == len(plan.tables) == len(asked):
        raise InvalidInput(
            "the ledger's recorded answer does not fit this question.", "Check it with: discreet ledger verify"
        )
    parts = [name for name in content if name != "version"]
    tables = [
        table.recall({name: content[name][k] for name in parts}, asked[k], plan.level, plan.edition)
        for k, table in enumerate(plan.tables)
    ]
    return Release(
        plan, tuple(tables), _receipt(recorded, book), content["version"], fresh=recorded.fresh, paid=recorded.paid
    )


def _receipt(recorded: RecordedAnswer, book: Ledger) -> dict[str, object]:
    return {"ledger": book.terms.ledger, "entry": recorded.number, "head": recorded.head, "time": recorded.time}
