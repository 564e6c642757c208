"""The pages of ledgers: past questions with their dates and costs, and the budget that is left."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import DiscreetError
from ...ledger.books import verify_store
from ...ledger.ledger import Ledger
from ...ledger.statement import LedgerStatement
from ...ledger.stores.open import open_store
from ..frame.answers import page
from ..frame.fields import numbered
from ..frame.rendering import refusal, report_body


class LedgersPage:
    """``/ledgers`` and ``/ledgers/NUMBER``.

    Parameters
    ----------
    ledgers
        The ledgers of this server: shown name -> address.
    """

    def __init__(self, ledgers: dict[str, str]) -> None:
        self._ledgers = ledgers

    def routes(self) -> list[Route]:
        return [Route("/ledgers", self.list), Route("/ledgers/{number}", self.page)]

    def list(self, request: Request) -> Response:
        """List all ledgers with the budget left in each."""
        entries = [(k, name, *_statement(address)) for k, (name, address) in enumerate(self._ledgers.items(), 1)]
        return page(request, "ledgers.html", title="Budgets", eyebrow="Ledgers", tab="/ledgers", entries=entries)

    def page(self, request: Request) -> Response:
        """Show a ledger: its budget, its entries, and whether its chain verifies."""
        entry = numbered(self._ledgers, request.path_params["number"])
        if entry is None:
            return page(
                request, "message.html", title="There is no such ledger", eyebrow="Ledgers", tab="/ledgers",
                status=404, lines=("`discreet serve --ledger FILE` opens one.",),
            )  # fmt: skip
        name, address = entry
        statement, problem = _statement(address)
        body = problem if statement is None else report_body(statement.report())
        title = name if statement is None else f"The budget of {statement.terms.dataset}"
        chain = None if statement is None else report_body(verify_store(open_store(address)).report(), "chain")
        return page(
            request, "ledger.html", title=title, eyebrow=f"Ledger {name}", tab="/ledgers", body=body, chain=chain
        )  # fmt: skip


def _statement(address: str) -> tuple[LedgerStatement | None, str]:
    """Return the statement of a ledger, or the reason why it cannot be opened."""
    try:
        return Ledger.open(address).statement(), ""
    except DiscreetError as problem:
        return None, refusal(problem)
