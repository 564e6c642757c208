"""The pages of ledgers: what was asked, when, at what cost, and what is left."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import DiscreetError
from ...ledger.ledger import Ledger, verify_store
from ...ledger.statement import LedgerStatement
from ...ledger.stores.opening import open_store
from ..frame.answers import page
from ..frame.rendering import refusal, report_body


class LedgersPage:
    """``/ledgers`` and ``/ledgers/NUMBER``.

    Parameters
    ----------
    ledgers
        The ledgers that this server was started with: the name that is shown -> where it is.
    """

    def __init__(self, ledgers: dict[str, str]) -> None:
        self._ledgers = ledgers

    def routes(self) -> list[Route]:
        return [Route("/ledgers", self.list), Route("/ledgers/{number}", self.page)]

    def list(self, request: Request) -> Response:
        """All of them, with what is left in each."""
        entries = [(number, name, *_statement(where)) for number, (name, where) in enumerate(self._ledgers.items(), 1)]
        return page(request, "ledgers.html", title="Budgets", eyebrow="Ledgers", here="/ledgers", entries=entries)

    def page(self, request: Request) -> Response:
        """One of them: its budget, its entries, and whether its chain holds."""
        written = request.path_params["number"]
        number = int(written) if re.fullmatch(r"[1-9][0-9]{0,3}", written) else 0
        if not 1 <= number <= len(self._ledgers):
            return page(
                request, "message.html", title="There is no such ledger", eyebrow="Ledgers", here="/ledgers",
                status=404, lines=("`discreet serve --ledger FILE` opens one.",),
            )  # fmt: skip
        name, where = list(self._ledgers.items())[number - 1]
        statement, problem = _statement(where)
        body = problem if statement is None else report_body(statement.report())
        title = name if statement is None else f"The budget of {statement.terms.dataset}"
        chain = None if statement is None else report_body(verify_store(open_store(where)).report(), "chain")
        return page(
            request, "ledger.html", title=title, eyebrow=f"Ledger {name}", here="/ledgers", body=body, chain=chain
        )  # fmt: skip


def _statement(where: str) -> tuple[LedgerStatement | None, str]:
    """The statement of a ledger, or why there is none."""
    try:
        return Ledger.open(where).statement(), ""
    except DiscreetError as problem:
        return None, refusal(problem)
