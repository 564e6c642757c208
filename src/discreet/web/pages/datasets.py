"""The pages of declared data sets: what is declared, whether it fits, and what is left of the budget."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...datasets.declaration import Declaration
from ...datasets.making import check_dataset
from ...errors import DiscreetError
from ...release.dataset import Dataset
from ...unit import Unit
from ..frame.answers import page
from ..frame.rendering import field_name, refusal, report_body
from .release_data import budget_text


@dataclass(frozen=True)
class Card:
    """What the home page shows of a data set: its page and its name, whom it protects, and its budget."""

    address: str
    name: str
    protected: str = ""
    budget: str = ""


class DatasetsPage:
    """``/datasets/NUMBER``.

    Parameters
    ----------
    datasets
        The files that this server was started with: the name that is shown -> where it is.
    """

    def __init__(self, datasets: Mapping[str, str]) -> None:
        self._datasets = datasets

    def routes(self) -> list[Route]:
        return [Route("/datasets/{number}", self.page)]

    def cards(self) -> list[Card]:
        """Return a card for each data set; one that cannot be read says why on its page."""
        return [_card(f"/datasets/{k}", name, file) for k, (name, file) in enumerate(self._datasets.items(), 1)]

    def page(self, request: Request) -> Response:
        """One data set, as ``discreet dataset show`` and ``discreet dataset check`` describe it."""
        written = request.path_params["number"]
        number = int(written) if re.fullmatch(r"[1-9][0-9]{0,3}", written) else 0
        if not 1 <= number <= len(self._datasets):
            return page(
                request, "message.html", title="There is no such data set", eyebrow="Data sets", here="/",
                status=404, lines=("`discreet serve --dataset FILE.toml` opens one.",),
            )  # fmt: skip
        name, file = list(self._datasets.items())[number - 1]
        try:
            declared = Declaration.open(file)
        except DiscreetError as problem:
            return page(
                request,
                "dataset.html",
                title=name,
                eyebrow="Data set",
                here="/",
                status=409,
                name="",
                body=refusal(problem),
            )
        try:
            problems = check_dataset(declared)
        except DiscreetError as problem:
            problems = (problem.written(field_name),)
        return page(
            request, "dataset.html", title=f"The data set {declared.dataset}", eyebrow=f"Data set in {name}", here="/",
            name=name, tables=list(declared.tables), unit=Unit(declared.unit, declared.unit_name),
            budget=_budget(declared), problems=problems, body=report_body(declared.report()),
        )  # fmt: skip


def _card(address: str, name: str, file: str) -> Card:
    try:
        declared = Declaration.open(file)
    except DiscreetError:
        return Card(address, name, "cannot be read")
    return Card(address, name, f"Protects {Unit(declared.unit, declared.unit_name).protected}.", _budget(declared))


def _budget(declared: Declaration) -> str:
    """Return what is left of the budget; empty where that is not known, of which the page says why."""
    try:
        return budget_text(Dataset.of(declared).ledger, str(declared.ledger))
    except DiscreetError:
        return ""
