"""The pages of a release: from the columns of a table to the bundle. No page has a true count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...engines.sources import open_source
from ...errors import DiscreetError, InvalidInput
from ...ledger.budget import amount_text
from ...optimise.families import FAMILIES
from ...release.auditing.bundles import open_bundle
from ...release.counts import Outlook, foresee, open_ledger, release_counts
from ...release.plan.plan import Plan
from ...release.plan.planning import plan_request
from ...release.plan.request import ReleaseRequest, read_request
from ...report import Picture
from ..frame.answers import page, piece
from ..frame.rendering import chart, refusal, report_body
from .release_form import NAME, WAYS, ReleaseForm

#: So many columns have a place in the form.
MOST_COLUMNS = 300

#: Files of a bundle, by their endings.
MEDIA_TYPES = {".html": "text/html", ".json": "application/json", ".csv": "text/csv"}

#: A bundle's own page has its style inside, and nothing else.
BUNDLE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; sandbox"
)


@dataclass(frozen=True)
class Reviewed:
    """A plan with what its ledger says to it."""

    form: ReleaseForm
    request: ReleaseRequest
    plan: Plan
    outlook: Outlook | None


class ReleasePage:
    """``/release``, the form, the plan, the second look, the release, and the bundles.

    Parameters
    ----------
    data, ledgers
        What this server was started with: the name that is shown -> where it is.
    out
        The folder that bundles are written into.
    """

    def __init__(self, data: Mapping[str, str], ledgers: Mapping[str, str], out: Path) -> None:
        self._data, self._ledgers, self._out = data, ledgers, out
        self._turn = Lock()

    def routes(self) -> list[Route]:
        return [
            Route("/release", self.start),
            Route("/release/new", self.form),
            Route("/release/plan", self.plan, methods=["POST"]),
            Route("/release/review", self.review, methods=["POST"]),
            Route("/release/run", self.run, methods=["POST"]),
            Route("/release/bundles/{name}.zip", self.archive),
            Route("/release/bundles/{name}", self.released),
            Route("/release/bundles/{name}/{file}", self.bundle),
        ]

    # ---------------------------------------------------------------- choosing

    def start(self, request: Request) -> Response:
        """The data that can be asked, and what was released here."""
        return page(
            request, "release_start.html", title="Release counts", eyebrow="Release", here="/release",
            tables=[(name, *_tables(where)) for name, where in self._data.items()], bundles=self._bundles(),
        )  # fmt: skip

    def form(self, request: Request) -> Response:
        """The form for one table: its columns and their kinds, without a row."""
        name, table = request.query_params.get("data", ""), request.query_params.get("table", "")
        try:
            columns = open_source(self._known(name, self._data, "data")).table(table)
        except (DiscreetError, KeyError) as problem:
            lines = (str(problem),) if isinstance(problem, DiscreetError) else ("Choose a table from the list.",)
            return page(
                request, "message.html", title="This table cannot be opened", eyebrow="Release", here="/release",
                status=404, lines=lines,
            )  # fmt: skip
        return page(
            request, "release.html", title=f"Count {table}", eyebrow="Release", here="/release", charts=True,
            data=name, table=table, columns=dict(list(columns.items())[:MOST_COLUMNS]), ledgers=list(self._ledgers),
            mechanisms=FAMILIES.written("release"), ways=WAYS, folder=self._free_name(table),
        )  # fmt: skip

    # ---------------------------------------------------------------- planning

    async def plan(self, request: Request) -> Response:
        """The plan of the form as it stands, or what is missing."""
        form = await _form(request)
        try:
            found = await run_in_threadpool(self._reviewed, form)
        except DiscreetError as problem:
            return piece("release_plan.html", form=form, problem=refusal(problem), found=None)
        return piece("release_plan.html", form=form, problem=None, **self._content(found))

    async def review(self, request: Request) -> Response:
        """The second look: what is about to be spent."""
        form = await _form(request)
        try:
            found = await run_in_threadpool(self._reviewed, form)
            if found.outlook is None:
                raise InvalidInput("no ledger was chosen.", "Choose the one that pays.", argument="ledger")
            if found.outlook.verdict == "refused":
                raise InvalidInput(
                    f"the budget does not pay for this: {found.outlook}.",
                    "Ask with a smaller epsilon.",
                    argument="epsilon",
                )
            self._place(form)
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))
        return piece("release_review.html", **self._content(found))

    def _reviewed(self, form: ReleaseForm) -> Reviewed:
        data = self._known(form.data, self._data, "data")
        request = read_request(form.sql, **form.fields)
        source = open_source(data)
        plan = plan_request(request, source)
        outlook = None
        if form.ledger:
            book = open_ledger(self._known(form.ledger, self._ledgers, "ledger"), plan)
            outlook = foresee(plan, source, book)
        return Reviewed(form, request, plan, outlook)

    def _content(self, found: Reviewed) -> dict[str, Any]:
        form, plan = found.form, found.plan
        data, ledger = self._data[form.data], self._ledgers.get(form.ledger, "")
        widths = {"noise": max(expected.half_width for expected in plan.expected)}
        error = Picture("noise by size", {"half_widths": widths, "level": float(plan.level)}, ERROR)
        left = None if found.outlook is None else amount_text(found.outlook.left)
        refused = found.outlook is not None and found.outlook.verdict == "refused"
        # by the name that the page has for it, not by its place on the disk
        decision = str(found.outlook or "").replace(ledger, form.ledger) if ledger else ""
        return {
            "found": found, "plan": plan, "body": report_body(plan.report()), "error": chart(error), "left": left,
            "refused": refused, "decision": decision, "cost": amount_text(plan.cost, up=True),
            "command": form.command(data, ledger), "python": form.python(data, ledger),
            "file": form.request_file(data, ledger),
        }  # fmt: skip

    # ---------------------------------------------------------------- releasing

    async def run(self, request: Request) -> Response:
        """Spend, count, and write the bundle; only what was looked at."""
        async with request.form() as given:
            form, key = ReleaseForm.read(given), str(given.get("key", ""))
        try:
            name = await run_in_threadpool(self._run, form, key)
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))
        return Response(status_code=204, headers={"HX-Redirect": f"/release/bundles/{name}"})

    def _run(self, form: ReleaseForm, key: str) -> str:
        with self._turn:  # whoever confirms twice at once gets the recorded answer, and pays once
            return self._run_alone(form, key)

    def _run_alone(self, form: ReleaseForm, key: str) -> str:
        found = self._reviewed(form)
        if found.plan.key != key:
            raise InvalidInput("the form was changed after you looked at the plan.", "Look at it again, then release.")
        folder = self._place(form)
        self._out.mkdir(parents=True, exist_ok=True)
        release_counts(
            found.request, data=self._data[form.data], ledger=self._known(form.ledger, self._ledgers, "ledger"),
            out=folder,
        )  # fmt: skip
        return folder.name

    # ---------------------------------------------------------------- bundles

    def released(self, request: Request) -> Response:
        """What a bundle holds, re-checked on the way."""
        folder = self._folder(request.path_params["name"])
        if folder is None:
            return page(
                request, "message.html", title="There is no such bundle", eyebrow="Release", here="/release",
                status=404, lines=("The page of releases lists them.",),
            )  # fmt: skip
        report = open_bundle(folder).report()
        return page(
            request, "released.html", title=report.title, eyebrow=f"Released as {folder.name}", here="/release",
            charts=True, name=folder.name, body=report_body(report),
        )  # fmt: skip

    def bundle(self, request: Request) -> Response:
        """A file of a bundle; its page by itself."""
        folder, file = self._folder(request.path_params["name"]), request.path_params["file"]
        if folder is None or file not in {one.name for one in folder.iterdir() if one.is_file()}:
            return Response(status_code=404)
        kind = MEDIA_TYPES.get(Path(file).suffix, "text/plain")
        headers = {"Content-Security-Policy": BUNDLE_POLICY}
        return Response((folder / file).read_bytes(), media_type=kind, headers=headers)

    def archive(self, request: Request) -> Response:
        """A bundle as one file."""
        folder = self._folder(request.path_params["name"])
        if folder is None:
            return Response(status_code=404)
        packed = BytesIO()
        with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
            for file in sorted(folder.iterdir()):
                archive.write(file, f"{folder.name}/{file.name}")
        headers = {"Content-Disposition": f'attachment; filename="{folder.name}.zip"'}
        return Response(packed.getvalue(), media_type="application/zip", headers=headers)

    def _bundles(self) -> list[str]:
        if not self._out.is_dir():
            return []
        return sorted(one.name for one in self._out.iterdir() if self._folder(one.name) is not None)

    def _folder(self, name: str) -> Path | None:
        folder = self._out / name
        return folder if NAME.fullmatch(name) and (folder / "release.json").is_file() else None

    def _free_name(self, table: str) -> str:
        """A name for the next bundle of a table."""
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", table).strip("._-") or "counts"
        return next(name for k in range(1, 10**6) if not (self._out / (name := f"{stem}_{k}")).exists())

    def _place(self, form: ReleaseForm) -> Path:
        if not NAME.fullmatch(form.folder):
            raise InvalidInput.must_be("out", "a name of letters, digits, - and _", form.folder)
        return self._out / form.folder

    def _known(self, name: str, known: Mapping[str, str], what: str) -> str:
        if name not in known:
            raise InvalidInput(
                f"this server was not started with that {what}.", f"Start it with `discreet serve --{what} ...`.",
                argument=what,
            )  # fmt: skip
        return known[name]


ERROR = "How much the noise matters: its half-width as a share of the true count."


async def _form(request: Request) -> ReleaseForm:
    async with request.form() as form:
        return ReleaseForm.read(form)


def _tables(where: str) -> tuple[list[str], str]:
    """The tables of some data, or why they cannot be listed."""
    try:
        return open_source(where).tables(), ""
    except DiscreetError as problem:
        return [], refusal(problem)
