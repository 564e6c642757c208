"""The pages of a release: from the columns of a table to the bundle. No page has a true count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import DiscreetError, InvalidInput
from ...ledger.budget import amount_text
from ...ledger.ledger import Ledger
from ...optimise.families import FAMILIES
from ...release.bundle.open import open_bundle
from ...release.bundle.released import Release
from ...release.counts import Outlook
from ...report import Picture
from ..frame.answers import page, piece
from ..frame.rendering import chart, refusal, report_body
from .release_data import AvailableData, PlannedRelease, budget_text, without_ledger
from .release_form import NAME, WAYS, ReleaseForm

#: Files of a bundle, by their endings.
MEDIA_TYPES = {".html": "text/html", ".json": "application/json", ".csv": "text/csv"}

#: A bundle's own page has its style inside, and nothing else.
BUNDLE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; sandbox"
)


@dataclass(frozen=True)
class Reviewed:
    """A planned release with what its ledger would decide."""

    form: ReleaseForm
    planned: PlannedRelease
    outlook: Outlook | None


class ReleasePage:
    """``/release``, the form, the plan, the second look, the release, and the bundles.

    Parameters
    ----------
    data
        What can be asked: the name that is shown -> the data.
    ledgers
        The ledgers that this server was started with: the name that is shown -> where it is.
    out
        The folder that bundles are written into.
    """

    def __init__(self, data: Mapping[str, AvailableData], ledgers: Mapping[str, str], out: Path) -> None:
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
            tables=[(name, *_tables(data)) for name, data in self._data.items()], bundles=self._bundles(),
        )  # fmt: skip

    def form(self, request: Request) -> Response:
        """The form for one table: its columns and their kinds, without a row."""
        name, table = request.query_params.get("data", ""), request.query_params.get("table", "")
        try:
            offer = self._known(name).offer(table)
        except (DiscreetError, KeyError) as problem:
            lines = (str(problem),) if isinstance(problem, DiscreetError) else ("Choose a table from the list.",)
            return page(
                request, "message.html", title="This table cannot be opened", eyebrow="Release", here="/release",
                status=404, lines=lines,
            )  # fmt: skip
        return page(
            request, "release.html", title=f"Count {offer.table}", eyebrow="Release", here="/release", charts=True,
            data=name, offer=offer, mechanisms=FAMILIES.cli_names("release"), ways=WAYS,
            folder=self._free_name(offer.table), problem=None if offer.problem is None else refusal(offer.problem),
        )  # fmt: skip

    # ---------------------------------------------------------------- planning

    async def plan(self, request: Request) -> Response:
        """The plan of the form as it stands, or what is missing."""
        form = await _form(request)
        try:
            reviewed = await run_in_threadpool(self._reviewed, form)
        except DiscreetError as problem:
            return piece("release_plan.html", form=form, problem=_refusal(problem, form))
        return piece("release_plan.html", form=form, problem=None, **_content(reviewed))

    async def review(self, request: Request) -> Response:
        """The second look: what is about to be spent."""
        form = await _form(request)
        try:
            reviewed = await run_in_threadpool(self._reviewed, form, self._place(form))
            if reviewed.outlook is None:
                raise without_ledger()
            if reviewed.outlook.verdict == "refused":
                raise InvalidInput(
                    f"the budget does not pay for this: {reviewed.outlook}.",
                    "Ask with a smaller epsilon.",
                    argument="epsilon",
                )
        except DiscreetError as problem:
            return piece("as_it_is.html", content=_refusal(problem, form))
        return piece("release_review.html", **_content(reviewed))

    def _reviewed(self, form: ReleaseForm, out: Path | None = None) -> Reviewed:
        planned = self._known(form.data).planned(form)
        return Reviewed(form, planned, planned.preview(out))

    # ---------------------------------------------------------------- releasing

    async def run(self, request: Request) -> Response:
        """Spend, count, and write the bundle; only what was looked at."""
        async with request.form() as given:
            form, key = ReleaseForm.read(given), str(given.get("key", ""))
        try:
            name = await run_in_threadpool(self._run, form, key)
        except DiscreetError as problem:
            return piece("as_it_is.html", content=_refusal(problem, form))
        return Response(status_code=204, headers={"HX-Redirect": f"/release/bundles/{name}"})

    def _run(self, form: ReleaseForm, key: str) -> str:
        with self._turn:  # whoever confirms twice at once gets the recorded answer, and pays once
            planned = self._known(form.data).planned(form)
            if planned.confirmation != key:
                raise InvalidInput(
                    "the form or the dataset was changed after you looked at the plan.",
                    "Look at it again, then release.",
                )
            folder = self._place(form)
            self._out.mkdir(parents=True, exist_ok=True)
            planned.release(folder)
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
        release = open_bundle(folder)
        report = release.report()
        return page(
            request, "released.html", title=report.title, eyebrow=f"Released as {folder.name}", here="/release",
            charts=True, name=folder.name, notes=report.notes, body=report_body(replace(report, notes=())),
            budget=self._budget(release),
        )  # fmt: skip

    def _budget(self, release: Release) -> str:
        """What is left in the ledger that paid for a release; empty if this server does not have it."""
        for name, place in self._ledgers.items():
            try:
                book = Ledger.open(place)
                if book.terms.ledger == release.ledger["ledger"]:
                    return budget_text(book, name)
            except DiscreetError:
                continue  # its own page says why
        return ""

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

    def _known(self, name: str) -> AvailableData:
        if name not in self._data:
            raise InvalidInput(
                "this server was not started with that data.",
                "Start it with `discreet serve --dataset FILE.toml`, or `--data`.",
                argument="data",
            )
        return self._data[name]


ERROR = "How much the noise matters: its half-width as a share of the true count."


def _content(reviewed: Reviewed) -> dict[str, Any]:
    """What the pieces of a planned release show."""
    planned, outlook = reviewed.planned, reviewed.outlook
    plan = planned.plan
    widths = {"noise": max(expected.half_width for expected in plan.expected)}
    error = Picture("noise by size", {"half_widths": widths, "level": float(plan.level)}, ERROR)
    replaced = tuple(f"given instead of what is declared: {one}" for one in planned.overrides)
    return {
        "planned": planned, "plan": plan, "outlook": outlook, "warnings": (*plan.notes, *replaced),
        "body": report_body(plan.report()), "error": chart(error),
        "left": None if outlook is None else amount_text(outlook.left),
        "refused": outlook is not None and outlook.verdict == "refused",
        "cost": amount_text(plan.cost if outlook is None else plan.cost.as_counted_by(outlook.left), up=True),
    }  # fmt: skip


async def _form(request: Request) -> ReleaseForm:
    async with request.form() as form:
        return ReleaseForm.read(form)


def _refusal(problem: DiscreetError, form: ReleaseForm) -> str:
    """An error in the words of this form, which calls the unit by its name."""
    return refusal(problem, max_groups=f"Groups per {form.unit_word}")


def _tables(data: AvailableData) -> tuple[list[str], str]:
    """The tables of some data, or why they cannot be listed."""
    try:
        return data.tables(), ""
    except DiscreetError as problem:
        return [], refusal(problem)
