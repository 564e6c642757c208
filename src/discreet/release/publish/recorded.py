"""What a ledger recorded, as a release: for whoever asks again, and for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...ledger.ledger import Ledger, Recorded
from ...questions.groups import Groups
from ...questions.orders import places_in
from ...strict_json import read_json
from ..levels.shape import Shape
from ..plan.plan import Plan, TablePlan
from .levelled import LevelledTable
from .released import Release
from .tables import IMPOSSIBLE, NORMAL, ReleasedTable


def recorded_answer(plan: Plan, book: Ledger) -> Recorded | None:
    """The recorded answer to the question of a plan, in whatever order its groups were declared; None if there is none.

    Older programs recorded an answer under the request as it was declared; that one is looked for too.
    """
    found = book.recorded(plan.key)
    return book.recorded(plan.declared_key) if found is None and plan.declared_key != plan.key else found


def recall(plan: Plan, recorded: Recorded, book: Ledger) -> Release:
    """A release from what the ledger recorded: each count goes to the group that has its values."""
    content = read_json(recorded.answer, "the recorded answer")
    asked = recorded.request.get("tables", [])
    if not len(content["counts"]) == len(plan.tables) == len(asked):
        raise InvalidInput(
            "the ledger's recorded answer does not fit this question.", "Check it with: discreet ledger verify"
        )
    if plan.open:
        found = Groups.from_json(content["groups"][0])
        table = replace(plan.tables[0], groups=found)
        shape = (found.size, len(table.question.aggregates))
        counts = np.array(content["counts"][0], dtype=np.int64).reshape(shape)
        released = ReleasedTable(table, counts, np.full(shape, "A"), plan.level, plan.edition)
        return Release(plan, (released,), _receipt(recorded, book), content["version"], recorded.fresh, recorded.paid)
    tables = [
        _table(plan, k, values, Groups.from_json(said["groups"]))
        for k, (values, said) in enumerate(zip(content["counts"], asked, strict=True))
    ]
    return Release(
        plan, tuple(tables), _receipt(recorded, book), content["version"], fresh=recorded.fresh, paid=recorded.paid
    )


def _receipt(recorded: Recorded, book: Ledger) -> dict[str, object]:
    return {"ledger": book.terms.ledger, "entry": recorded.number, "head": recorded.head, "time": recorded.time}


def _table(plan: Plan, k: int, values: Sequence[int | None], recorded: Groups) -> ReleasedTable:
    """The counts that were recorded for groups in some order, as those of the plan's groups in theirs."""
    table = plan.tables[k]
    if table.levels:
        return _levelled(plan, k, values, recorded)
    shape = (table.groups.size, len(table.question.aggregates))
    counts = np.array([0 if value is None else value for value in values], dtype=np.int64).reshape(shape)
    withheld = np.array([value is None for value in values], dtype=bool).reshape(shape)
    if recorded != table.groups:
        places = places_in(table.groups, recorded)
        counts, withheld = counts[places], withheld[places]
    status = np.where(withheld, "Q", "A").astype("U1")
    status[sorted(table.groups.zeros)] = "M"
    return ReleasedTable(table, counts, status, plan.level, plan.edition)


def _levelled(plan: Plan, k: int, values: Sequence[int | None], recorded: Groups) -> LevelledTable:
    """The same for a table with totals, level after level."""
    table = plan.tables[k]
    shape, said = table.combination.shape, Shape(recorded, table.question.levels)
    counts = np.array(values, dtype=np.int64).reshape(-1, len(table.question.aggregates))
    if len(counts) != sum(said.sizes):
        raise InvalidInput(
            "the ledger's recorded answer does not fit this question.", "Check it with: discreet ledger verify"
        )
    kept = np.split(counts, np.cumsum(said.sizes)[:-1].tolist())
    levels = [own[places_in(*pair)] for own, *pair in zip(kept, shape.nodes, said.nodes, strict=True)]
    return LevelledTable(table, np.concatenate(levels), level_status(table), plan.level, plan.edition)


def level_status(table: TablePlan) -> NDArray[np.str_]:
    """The flag of each count of a table with totals: of those that cannot exist, and all others."""
    live = np.concatenate(table.combination.shape.live_nodes)
    flags = np.where(live, NORMAL, IMPOSSIBLE).astype("U1")
    return np.repeat(flags[:, None], len(table.question.aggregates), axis=1)
