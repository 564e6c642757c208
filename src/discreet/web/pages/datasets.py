"""The pages of declared datasets: the declaration, whether it fits its data, and what is left of the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...datasets.create import check_dataset
from ...datasets.declaration import Declaration
from ...errors import DiscreetError
from ...release.dataset import Dataset
from ...unit import Unit
from ..frame.answers import page
from ..frame.fields import numbered
from ..frame.rendering import field_name, refusal, report_body
from .release_data import budget_text


@dataclass(frozen=True)
class Card:
    """A dataset on the home page: its page and name, whom it protects, and its budget."""

    address: str
    name: str
    protection: str = ""
    budget: str = ""


class DatasetsPage:
    """``/datasets/NUMBER``.

    Parameters
    ----------
    datasets
        The datasets of this server: shown name -> file.
    """

    def __init__(self, datasets: Mapping[str, str]) -> None:
        self._datasets = datasets

    def routes(self) -> list[Route]:
        return [Route("/datasets/{number}", self.page)]

    def cards(self) -> list[Card]:
        """Return a card for each dataset; if one cannot be read, its page says why."""
        return [_card(f"/datasets/{k}", name, file) for k, (name, file) in enumerate(self._datasets.items(), 1)]

    def page(self, request: Request) -> Response:
        """Show a dataset as ``discreet dataset show`` and ``discreet dataset check`` describe it."""
        entry = numbered(self._datasets, request.path_params["number"])
        if entry is None:
            return page(
                request, "message.html", title="There is no such data set", eyebrow="Data sets", tab="/",
                status=404, lines=("`discreet serve --dataset FILE.toml` opens one.",),
            )  # fmt: skip
        name, file = entry
        try:
            declaration = Declaration.open(file)
        except DiscreetError as problem:
            return page(
                request, "dataset.html", title=name, eyebrow="Data set", tab="/", status=409, name="",
                body=refusal(problem),
            )  # fmt: skip
        try:
            problems = check_dataset(declaration)
        except DiscreetError as problem:
            problems = (problem.written(field_name),)
        return page(
            request, "dataset.html", title=f"The data set {declaration.dataset}", eyebrow=f"Data set in {name}",
            tab="/", name=name, tables=list(declaration.tables),
            unit=Unit(declaration.unit, declaration.unit_name, declaration.per),
            budget=_budget(declaration), problems=problems, body=report_body(declaration.report()),
        )  # fmt: skip


def _card(address: str, name: str, file: str) -> Card:
    try:
        declaration = Declaration.open(file)
    except DiscreetError:
        return Card(address, name, "cannot be read")
    unit = Unit(declaration.unit, declaration.unit_name, declaration.per)
    return Card(address, name, f"Protects {unit.protected}.", _budget(declaration))


def _budget(declaration: Declaration) -> str:
    """Return what is left of the budget, or nothing if that is unknown; the page says why."""
    try:
        return budget_text(Dataset.of(declaration).ledger, str(declaration.ledger))
    except DiscreetError:
        return ""
