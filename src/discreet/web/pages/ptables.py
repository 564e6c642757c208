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
from ..frame.jobs import Jobs, Step
from ..frame.rendering import render, report_body
from ..frame.searches import Searches

#: Layouts of files -> their endings.
ENDINGS = {"ptable": ".csv", "sas": ".csv", "cellkey": ".yaml", "ons": ".csv", "superstar": ".pert"}


@dataclass(frozen=True)
class PTableFields:
    """The fields of the form, as text: what the address of the page holds.

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
    def read(given: QueryParams) -> PTableFields:
        """The fields of an address."""
        usual = asdict(PTableFields(stay="0.5"))
        return PTableFields(**{name: given.get(name, text).strip()[:60] for name, text in usual.items()})

    @property
    def query(self) -> str:
        """The fields as the query of an address."""
        return urlencode(asdict(self))

    @property
    def address(self) -> str:
        """The address of the page with these fields."""
        return f"/design/p-table?{self.query}"

    @property
    def given(self) -> dict[str, str]:
        """Those that are not empty."""
        return {name: text for name, text in asdict(self).items() if text}

    @property
    def command(self) -> str:
        """The same on the command line."""
        words = [word for name, text in self.given.items() for word in (f"--{name}", text)]
        return shlex.join(["discreet", "design", "--ptable", *words, "-o", "table.csv"])

    @property
    def python(self) -> str:
        """The same in Python."""
        given = self.given
        first = [f"{given.pop('epsilon', '')!r}", given.pop("reach", "")]
        options = [f"{name}={int(text) if name in ('keys', 'js') else text!r}" for name, text in given.items()]
        return f"import discreet as dc\n\ntable = dc.design_ptable({', '.join([*first, *options])})\n"

    def design(self, say: SimpleQueue[str] | None = None) -> PTable:
        """The table that is asked for."""
        if not self.reach or not self.epsilon:
            raise InvalidInput("a p-table needs an epsilon and a largest noise.", argument="epsilon")
        return design_ptable(
            self.epsilon, _whole("reach", self.reach), stay=self.stay or None, variance=self.variance or None,
            js=_whole("js", self.js or "0"), keys=_whole("keys", self.keys or "65536"),
            progress=None if say is None else say.put,
        )  # fmt: skip


def _whole(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise InvalidInput.must_be(name, "a whole number", text)
    return int(text)


def work_out(fields: PTableFields) -> Iterator[Step]:
    """The table, with what the search says on its way."""
    said: SimpleQueue[str] = SimpleQueue()
    found: list[PTable | DiscreetError] = []

    def search() -> None:
        try:
            found.append(fields.design(said))
        except DiscreetError as problem:
            found.append(problem)

    searching = Thread(target=search, daemon=True)
    searching.start()
    yield 0, 1, "Looking for the best table", None
    while searching.is_alive() or not found:
        try:
            yield 0, 1, said.get(timeout=0.2), None
        except Empty:
            continue
    if isinstance(found[0], DiscreetError):
        raise found[0]
    yield 1, 1, "Done", found[0]


class PTablePage:
    """``/design/p-table`` with its pieces and files."""

    def __init__(self, jobs: Jobs) -> None:
        self._searches: Searches[PTableFields, PTable] = Searches(
            jobs, "/design/p-table/job", PTableFields.read, work_out, self._shown, lambda fields: fields.address
        )

    def routes(self) -> list[Route]:
        return [
            Route("/design/p-table", self.page),
            Route("/design/p-table/file/{layout}", self.file),
            *self._searches.routes(),
        ]

    def page(self, request: Request) -> Response:
        """The form and, if it was found before, the table."""
        fields = PTableFields.read(request.query_params)
        shown = self._shown(fields) if self._searches.get(fields) else None
        return page(
            request, "ptable.html", title="Design a p-table", eyebrow="Design", here="/design", charts=True,
            fields=fields, shown=shown, asked=bool(request.query_params),
        )  # fmt: skip

    def file(self, request: Request) -> Response:
        """The table as a file in one of the layouts."""
        table, layout = self._searches.get(PTableFields.read(request.query_params)), request.path_params["layout"]
        if table is None or layout not in ENDINGS:
            return Response(status_code=404)
        with TemporaryDirectory(prefix="discreet-") as folder:
            try:
                written = table.write(Path(folder) / f"{layout}{ENDINGS[layout]}", layout)
            except DiscreetError as problem:
                return Response(str(problem), 409, media_type="text/plain")
            headers = {"Content-Disposition": f'attachment; filename="{written.name}"'}
            return Response(written.read_bytes(), media_type="text/plain", headers=headers)

    def _shown(self, fields: PTableFields) -> str:
        table = self._searches.get(fields)
        assert table is not None  # it was found
        body = report_body(DesignedTable(table).report())
        return render("ptable_result.html", fields=fields, body=body, layouts=list(ENDINGS))
