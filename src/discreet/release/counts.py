"""Releasing counts: reserve the budget, read, add noise, commit, publish, in this order and in no other.

The true counts live in one expression of :func:`_answer`, between the source and the noise. Whatever goes wrong before
the reservation costs nothing; whatever goes wrong after it stays spent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput, SourceFailed
from ..exact.bits import Bits, SecureBits
from .bundle import refuse_occupied
from .ledger import Ledger, Recorded
from .plan import Plan
from .planning import plan_release
from .released import Release, ReleasedTable
from .sources import Counting, Source, open_source, refuse_in_memory

IntArray = NDArray[np.int64]


def release_counts(
    questions: str | Sequence[str], *, data: str | Path | Source, unit: str, ledger: str | Path | Ledger,
    out: str | Path | None = None, **options: Any,
) -> Release:  # fmt: skip
    """Release private counts from a table.

    Parameters
    ----------
    questions, data, unit
        As for :func:`discreet.plan_release`, which takes all other options too: ``domain`` or ``groups``, ``epsilon``
        or ``error``, ``mechanism``, ``counts``, ``bound``, ``sizes``, ``max_groups``, ``split``, ``edition`` and so on.
    ledger
        The ledger that pays, made by ``discreet ledger init`` for this data set, unit and relation.
    out
        A folder to write the bundle into; it must not exist.

    Returns
    -------
    Release
        The noisy counts with their error, the guarantee and the ledger's receipt. The same question for the same
        edition returns the recorded answer and costs nothing.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> table, book = folder / "visits.csv", folder / "visits.ledger"
    >>> _ = table.write_text("person,site\\nann,1\\nbob,2\\nann,2\\n")
    >>> _ = dc.Ledger.create(book, dataset="visits", unit="person", epsilon=2)
    >>> ask = dict(data=table, unit="person", domain={"site": range(1, 4)}, epsilon=1, ledger=book)
    >>> first = dc.release_counts("SELECT site, COUNT(*) FROM visits GROUP BY site", **ask)
    >>> again = dc.release_counts("select site, count(*) from visits group by site", **ask)
    >>> len(first.rows()), first.rows() == again.rows(), str(dc.Ledger.open(book).left().epsilon)
    (3, True, '1')
    """
    refuse_in_memory(data)
    source = open_source(data) if isinstance(data, str | Path) else data
    plan = plan_release(questions, data=source, unit=unit, **options)
    book = ledger if isinstance(ledger, Ledger) else open_ledger(ledger, plan)
    return _release(plan, source, book, out, SecureBits())


def open_ledger(path: str | Path, plan: Plan) -> Ledger:
    """The ledger of a plan; if there is none, the error is the line that makes one."""
    return Ledger.open(
        path,
        hint={
            "dataset": plan.dataset,
            "unit": plan.protection.unit,
            "relation": plan.protection.relation,
            "epsilon": plan.cost.epsilon,
            "delta": plan.cost.delta,
        },
    )


def _release(plan: Plan, source: Source, book: Ledger, out: str | Path | None, bits: Bits) -> Release:
    """The one path of every release; tests give it bits from a seed."""
    book.check_terms(plan.dataset, plan.protection.unit, plan.protection.relation)
    if out is not None:
        refuse_occupied(out, plan.key if book.recorded(plan.key) else None)
    recorded = book.answer(
        plan.key, plan.request, plan.cost, draw=lambda: _silenced(plan, source, book.terms.key, bits)
    )
    release = recall(plan, recorded, book)
    if out is not None:
        release.save(out)
    return release


def _silenced(plan: Plan, source: Source, key: bytes, bits: Bits) -> bytes:
    """The answer; or, if anything fails on the way to it, an error that tells nothing about why."""
    try:
        return _answer(plan, source, key, bits)
    except Exception:  # its words, and those of what it was raised from, could quote a person's row
        pass
    raise SourceFailed(
        "the table could not be read to its end. What the engine said is withheld, because it could quote a row; the "
        "budget that was reserved stays spent. Check the file with the engine's own tools, where only you see it."
    )


def _answer(plan: Plan, source: Source, key: bytes, bits: Bits) -> bytes:
    """The noisy counts of every table, as the ledger keeps them. The true ones exist in this function only."""
    countings = [
        Counting(table.question, table.groups, plan.protection.unit, plan.protection.max_groups, key)
        for table in plan.tables
    ]
    noisy = [
        table.noise.draw(counts.reshape(-1), bits)
        for table, counts in zip(plan.tables, source.count(countings), strict=True)
    ]
    from .. import __version__

    published = [_published(plan, k, counts) for k, counts in enumerate(noisy)]
    return json.dumps({"version": __version__, "counts": published}, separators=(",", ":")).encode()


def _published(plan: Plan, k: int, noisy: IntArray) -> list[int | None]:
    """What may be seen: structural zeros are zero, withheld counts are not kept anywhere."""
    table = plan.tables[k]
    values: list[int | None] = noisy.tolist()
    if table.suppress_below is not None:
        values = [None if value is not None and value < table.suppress_below else value for value in values]
    measures = len(table.question.aggregates)
    for group in table.groups.zeros:
        values[group * measures : (group + 1) * measures] = [0] * measures
    return values


def recall(plan: Plan, recorded: Recorded, book: Ledger) -> Release:
    """A release from what the ledger recorded."""
    content = json.loads(recorded.answer)
    if len(content["counts"]) != len(plan.tables):
        raise InvalidInput(
            "the ledger's recorded answer does not fit this question; check it with: discreet ledger verify"
        )
    tables = [_table(plan, k, values) for k, values in enumerate(content["counts"])]
    receipt = {"ledger": book.terms.ledger, "entry": recorded.number, "head": recorded.head, "time": recorded.time}
    return Release(plan=plan, tables=tuple(tables), ledger=receipt, version=content["version"])


def _table(plan: Plan, k: int, values: Sequence[int | None]) -> ReleasedTable:
    table = plan.tables[k]
    shape = (table.groups.size, len(table.question.aggregates))
    counts = np.array([0 if value is None else value for value in values], dtype=np.int64)
    status = np.full(counts.size, "A", dtype="U1")
    status[[value is None for value in values]] = "Q"
    status = status.reshape(shape)
    status[sorted(table.groups.zeros)] = "M"
    return ReleasedTable(table, counts.reshape(shape), status, plan.level)
