"""The page on which a p-table is designed: bounded noise for counts of any size, as statistical offices use it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import DiscreetError, InvalidInput
from ...optimise.noise.ptable import DesignedTable, design_ptable
from ...ptables.table import PTable
from ..frame.answers import page
from ..frame.fields import whole_number
from ..frame.jobs import Jobs, Step
from ..frame.rendering import render, report_body
from ..frame.searches import Searches

#: Layout of a file -> its extension.
ENDINGS = {"ptable": ".csv", "sas": ".csv", "cellkey": ".yaml", "ons": ".csv", "superstar": ".pert"}


@dataclass(frozen=True)
class PTableFields:
    """The fields of the form, as text; the address of the page holds them.

    >>> PTableFields(stay="0.5").command
    'discreet design --ptable --epsilon 2 --reach 3 --keys 256 --stay 0.5 -o table.csv'
    """

    epsilon: str = "2"
    reach: str = "3"
    keys: str = "256"
    stay: str = ""
    variance: str = ""
    js: str = ""

    @staticmethod
    def read(query: QueryParams) -> PTableFields:
        """Read the fields of an address."""
        usual = asdict(PTableFields(stay="0.5"))
        return PTableFields(**{name: query.get(name, text).strip()[:60] for name, text in usual.items()})

    @property
    def query(self) -> str:
        """The fields as the query of an address."""
        return urlencode(asdict(self))

    @property
    def address(self) -> str:
        """The address of the page with these fields."""
        return f"/design/p-table?{self.query}"

    @property
    def nonempty(self) -> dict[str, str]:
        """The fields that are not empty."""
        return {name: text for name, text in asdict(self).items() if text}

    @property
    def command(self) -> str:
        """The same design on the command line."""
        words = [word for name, text in self.nonempty.items() for word in (f"--{name}", text)]
        return shlex.join(["discreet", "design", "--ptable", *words, "-o", "table.csv"])

    @property
    def python(self) -> str:
        """The same design in Python."""
        fields = self.nonempty
        first = [f"{fields.pop('epsilon', '')!r}", fields.pop("reach", "")]
        options = [f"{name}={int(text) if name in ('keys', 'js') else text!r}" for name, text in fields.items()]
        return f"import discreet as dc\n\ntable = dc.design_ptable({', '.join([*first, *options])})\n"

    def design(self, on_message: SimpleQueue[str] | None = None) -> PTable:
        """Design the table; ``on_message`` receives the progress messages."""
        if not self.reach or not self.epsilon:
            raise InvalidInput("a p-table needs an epsilon and a largest noise.", argument="epsilon")
        return design_ptable(
            self.epsilon, whole_number("reach", self.reach), stay=self.stay or None, variance=self.variance or None,
            js=whole_number("js", self.js or "0"), keys=whole_number("keys", self.keys or "65536"),
            progress=None if on_message is None else on_message.put,
        )  # fmt: skip


def search_steps(fields: PTableFields) -> Iterator[Step]:
    """Design the table, with the progress messages of the search as steps."""
    messages: SimpleQueue[str] = SimpleQueue()
    outcome: list[PTable | DiscreetError] = []

    def search() -> None:
        try:
            outcome.append(fields.design(messages))
        except DiscreetError as problem:
            outcome.append(problem)

    thread = Thread(target=search, daemon=True)
    thread.start()
    yield 0, 1, "Looking for the best table", None
    while thread.is_alive() or not outcome:
        try:
            yield 0, 1, messages.get(timeout=0.2), None
        except Empty:
            continue
    if isinstance(outcome[0], DiscreetError):
        raise outcome[0]
    yield 1, 1, "Done", outcome[0]


class PTablePage:
    """``/design/p-table`` with its pieces and files."""

    def __init__(self, jobs: Jobs) -> None:
        self._searches: Searches[PTableFields, PTable] = Searches(
            jobs,
            "/design/p-table/job",
            PTableFields.read,
            search_steps,
            self._result_html,
            lambda fields: fields.address,
        )

    def routes(self) -> list[Route]:
        return [
            Route("/design/p-table", self.page),
            Route("/design/p-table/file/{layout}", self.file),
            *self._searches.routes(),
        ]

    def page(self, request: Request) -> Response:
        """Show the form and, if an earlier search found it, the table."""
        fields = PTableFields.read(request.query_params)
        result = self._result_html(fields) if self._searches.get(fields) else None
        return page(
            request, "ptable.html", title="Design a p-table", eyebrow="Design", tab="/design", charts=True,
            fields=fields, result=result, has_query=bool(request.query_params),
        )  # fmt: skip

    def file(self, request: Request) -> Response:
        """Return the table as a file in one of the layouts."""
        table, layout = self._searches.get(PTableFields.read(request.query_params)), request.path_params["layout"]
        if table is None or layout not in ENDINGS:
            return Response(status_code=404)
        with TemporaryDirectory(prefix="discreet-") as folder:
            try:
                path = table.write(Path(folder) / f"{layout}{ENDINGS[layout]}", layout)
            except DiscreetError as problem:
                return Response(str(problem), 409, media_type="text/plain")
            headers = {"Content-Disposition": f'attachment; filename="{path.name}"'}
            return Response(path.read_bytes(), media_type="text/plain", headers=headers)

    def _result_html(self, fields: PTableFields) -> str:
        table = self._searches.get(fields)
        assert table is not None  # only a finished search is shown
        body = report_body(DesignedTable(table).report())
        return render("ptable_result.html", fields=fields, body=body, layouts=list(ENDINGS))
