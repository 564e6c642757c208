"""The list of all kinds of tables. A new kind has a file of its own and two entries here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InvalidInput
from ...questions.groups import Groups
from ...questions.question import Question
from ..protection import Protection
from ..tables.discovered import DiscoveredDraft, DiscoveredTablePlan
from ..tables.draft import Draft
from ..tables.histogram import HistogramTablePlan
from ..tables.levelled import LevelledDraft, LevelledTablePlan
from ..tables.margins.draft import MarginsDraft
from ..tables.margins.plan import MarginsTablePlan
from ..tables.plain import PlainDraft, PlainTablePlan
from ..tables.sparse.plan import SparseDraft, SparseTablePlan
from ..tables.table import Entry, TablePlan

if TYPE_CHECKING:
    from .request import ReleaseRequest

#: The kinds of tables; an entry of a request belongs to the first one that it describes.
KINDS: tuple[type[PlainTablePlan | MarginsTablePlan], ...] = (
    MarginsTablePlan, HistogramTablePlan, DiscoveredTablePlan, LevelledTablePlan, SparseTablePlan, PlainTablePlan,
)  # fmt: skip


def draft_of(request: ReleaseRequest, question: Question) -> Draft:
    """Return the draft of a question, of the kind that its request asks for."""
    if request.tables is not None or question.asks_separate_tables:
        return MarginsDraft(request, question)
    if request.discover:
        return DiscoveredDraft(request, question)
    if question.levels or request.totals is not None:
        return LevelledDraft(request, question)
    return PlainDraft(request, question) if request.suppress_below is None else SparseDraft(request, question)


def table_from_json(entry: Entry, question: Question, groups: Groups, protection: Protection) -> TablePlan:
    """Rebuild the table that an entry of a request describes, checking it again."""
    if question.asks_separate_tables:
        raise InvalidInput("GROUPING SETS of this request has no set of all columns.", argument="request")
    kind = next(kind for kind in KINDS if kind.describes(entry, question))
    return kind.from_json(entry, question, groups, protection)
