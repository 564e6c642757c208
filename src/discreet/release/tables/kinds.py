"""The list of all kinds of tables. A new kind has a file of its own and two entries here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...questions.groups import Groups
from ...questions.question import Question
from ..protection import Protection
from .discovered import DiscoveredDraft, DiscoveredTablePlan
from .draft import Draft
from .levelled import LevelledDraft, LevelledTablePlan
from .plain import PlainDraft, PlainTablePlan
from .sparse.plan import SparseDraft, SparseTablePlan
from .table import Entry, TablePlan

if TYPE_CHECKING:
    from ..plan.request import ReleaseRequest

#: The kinds of tables; an entry of a request belongs to the first one that it describes.
KINDS: tuple[type[PlainTablePlan], ...] = (DiscoveredTablePlan, LevelledTablePlan, SparseTablePlan, PlainTablePlan)


def draft_of(request: ReleaseRequest, question: Question) -> Draft:
    """Return the draft of a question, of the kind that its request asks for."""
    if request.discover:
        return DiscoveredDraft(request, question)
    if question.levels or request.totals is not None:
        return LevelledDraft(request, question)
    return PlainDraft(request, question) if request.suppress_below is None else SparseDraft(request, question)


def table_from_json(entry: Entry, question: Question, groups: Groups, protection: Protection) -> TablePlan:
    """Rebuild the table that an entry of a request describes, checking it again."""
    kind = next(kind for kind in KINDS if kind.describes(entry, question))
    return kind.from_json(entry, question, groups, protection)
