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
from ..frame.answers import page, piece
from ..frame.jobs import Job, Jobs, Step
from ..frame.rendering import refusal, render, report_body

#: Layouts of files -> their endings.
ENDINGS = {"ptable": ".csv", "sas": ".csv", "cellkey": ".yaml", "ons": ".csv", "superstar": ".pert"}

#: So many tables are kept, so that their files can be downloaded.
MOST_FOUND = 20


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
        self._jobs = jobs
        self._found: dict[PTableFields, PTable] = {}

    def routes(self) -> list[Route]:
        return [
            Route("/design/p-table", self.page),
            Route("/design/p-table/job", self.start, methods=["POST"]),
            Route("/design/p-table/job/{name}", self.watch),
            Route("/design/p-table/job/{name}/cancel", self.cancel, methods=["POST"]),
            Route("/design/p-table/file/{layout}", self.file),
        ]

    def page(self, request: Request) -> Response:
        """The form and, if it was found before, the table."""
        fields = PTableFields.read(request.query_params)
        shown = self._shown(fields) if fields in self._found else None
        return page(
            request, "ptable.html", title="Design a p-table", eyebrow="Design", here="/design", charts=True,
            fields=fields, shown=shown, asked=bool(request.query_params),
        )  # fmt: skip

    def start(self, request: Request) -> Response:
        """Begin to look for the table."""
        fields = PTableFields.read(request.query_params)
        try:
            return self._job(self._jobs.start(work_out, fields, request.state.session.cookie))
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))

    def watch(self, request: Request) -> Response:
        """How far it is."""
        return self._job(self._jobs.find(request.path_params["name"]))

    def cancel(self, request: Request) -> Response:
        """Stop it."""
        return self._job(self._jobs.cancel(request.path_params["name"]))

    def file(self, request: Request) -> Response:
        """The table as a file in one of the layouts."""
        table, layout = self._found.get(PTableFields.read(request.query_params)), request.path_params["layout"]
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
        body = report_body(DesignedTable(self._found[fields]).report())
        return render("ptable_result.html", fields=fields, body=body, layouts=list(ENDINGS))

    def _job(self, job: Job | None) -> Response:
        if job is None:
            forgotten = InvalidInput("this work is no longer known.", "Start again.")
            return piece("as_it_is.html", content=refusal(forgotten))
        if job.problem is not None:
            return piece("as_it_is.html", content=refusal(job.problem))
        if job.found is None:
            return piece("waiting.html", job=job, at="/design/p-table/job")
        while len(self._found) >= MOST_FOUND:
            del self._found[next(iter(self._found))]
        self._found[job.asked] = job.found
        return piece("as_it_is.html", f"/design/p-table?{job.asked.query}", content=self._shown(job.asked))
