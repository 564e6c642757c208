"""The page on which a mechanism is designed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...checking import check
from ...comparison import compare
from ...errors import DiscreetError, InvalidInput
from ...exact.rationals import read_alpha
from ...explanation import explain, fold
from ...mechanism import Mechanism
from ...mechanisms.building import build_for_counts
from ...optimise.design.chooser import cost_of
from ...optimise.design.closed import closed_form
from ...optimise.design.describing import report_of_design
from ...optimise.design.designing import design, read_request
from ...optimise.families import FAMILIES
from ...optimise.improve.priors import NAMES as PRIORS
from ...optimise.improve.priors import named_prior
from ...properties import PROPERTIES
from ...report import Picture, Report, Table, Terms
from ...wording import rounded
from ..frame.answers import page, piece
from ..frame.jobs import Jobs, Step
from ..frame.rendering import chart, refusal, render, report_body
from ..frame.searches import Searches

#: The losses that the page offers, and what each is.
LOSSES = {
    "L0": "how often the report is wrong",
    "L1": "how far off it is, on average",
    "L2": "the square of how far off it is, on average",
}

#: So many of the mechanisms that are compared, the first ones, stand beside a design.
BESIDE = 3

#: The largest count that is designed for on a page.
MOST_COUNT = 400

#: Up to this n the page draws every probability.
MOST_DRAWN = 100


@dataclass(frozen=True)
class DesignFields:
    """The fields of the form, as text: what the address of the page holds.

    >>> DesignFields(n="8", properties=("WH",)).address
    '/design?n=8&epsilon=1&loss=L0&properties=WH&prior=uniform&delta=0'
    """

    n: str = "10"
    epsilon: str = "1"
    loss: str = "L0"
    properties: tuple[str, ...] = ()
    prior: str = "uniform"
    delta: str = "0"

    @staticmethod
    def read(given: QueryParams) -> DesignFields:
        """The fields of an address; unknown ones are ignored, those left out have their usual value."""
        usual = asdict(DesignFields())
        texts = {name: given.get(name, text).strip()[:200] for name, text in usual.items() if isinstance(text, str)}
        codes = [code.strip()[:60] for one in given.getlist("properties") for code in one.split(",")]
        return DesignFields(**texts, properties=tuple(dict.fromkeys(filter(None, codes))))

    @property
    def address(self) -> str:
        """The address of the page with these fields."""
        return f"/design?{self.query}"

    @property
    def query(self) -> str:
        """The fields as the query of an address."""
        return urlencode(asdict(self) | {"properties": list(self.properties)}, doseq=True)

    @property
    def options(self) -> dict[str, Any]:
        """What ``dc.design`` is called with."""
        if not self.n.isascii() or not self.n.isdigit():
            raise InvalidInput.must_be("n", "a whole number, such as 10", self.n)
        if int(self.n[:9]) > MOST_COUNT:
            raise InvalidInput.must_be(
                "n", f"at most {MOST_COUNT} on a page", self.n[:9], "The command line and Python take more."
            )
        worst = self.prior == "worst case"
        weights = None if worst or self.prior == "uniform" else named_prior(self.prior, int(self.n))
        if weights is None and self.prior not in ("uniform", "worst case"):
            raise InvalidInput.must_be("prior", f"one of {', '.join([*PRIORS, 'worst case'])}", self.prior)
        return {
            "n": int(self.n), "epsilon": self.epsilon, "delta": self.delta or "0", "loss": self.loss,
            "properties": list(self.properties), "prior": weights, "worst_case": worst,
        }  # fmt: skip

    @property
    def command(self) -> str:
        """The same on the command line."""
        words = ["discreet", "design", "-n", self.n, "--epsilon", self.epsilon, "--loss", self.loss]
        if self.properties:
            words += ["--properties", ",".join(self.properties)]
        if self.delta not in ("", "0"):
            words += ["--delta", self.delta]
        if self.prior == "worst case":
            words.append("--worst-case")
        elif self.prior != "uniform":
            words += ["--prior", self.prior]
        return shlex.join([*words, "-o", "mechanism.json"])

    @property
    def python(self) -> str:
        """The same in Python."""
        given = [self.n, f"epsilon={self.epsilon!r}", f"loss={self.loss!r}"]
        if self.properties:
            given.append(f"properties={list(self.properties)!r}")
        if self.delta not in ("", "0"):
            given.append(f"delta={self.delta!r}")
        lines = ["import discreet as dc", ""]
        if self.prior == "worst case":
            given.append("worst_case=True")
        elif self.prior != "uniform":
            weights = ", ".join(f'"{weight}"' for weight in named_prior(self.prior, int(self.n)) or ())
            lines.append(f"prior = [{weights}]")
            given.append("prior=prior")
        return "\n".join([*lines, f"m = dc.design({', '.join(given)})", 'm.save("mechanism.json")', ""])


@dataclass(frozen=True)
class Designed:
    """A mechanism that was found, and what it would cost without each of its properties, where that is known."""

    mechanism: Mechanism
    without: Mapping[str, Fraction]


def work_out(fields: DesignFields) -> Iterator[Step]:
    """The design, and then the same without each property, step by step."""
    options = fields.options
    n, codes = options.pop("n"), options.pop("properties")
    total = 1 + len(codes)
    yield 0, total, "Looking for the best mechanism", None
    mechanism = design(n, properties=codes, **options)
    without = {}
    for done, code in enumerate(codes, 1):
        yield done, total, f"Looking at what {code} costs", None
        others = [one for one in codes if one != code]
        without[code] = cost_of(design(n, properties=others, **options))
    yield total, total, "Done", Designed(mechanism, without)


@lru_cache(maxsize=16)
def at_once(fields: DesignFields) -> Designed | None:
    """The design and what its properties cost, where theorems give all of it; None where a linear program is needed."""
    codes = fields.options["properties"]
    if not all(_has_closed_form(fields, [one for one in codes if one != left_out]) for left_out in (None, *codes)):
        return None
    *_, (_, _, _, found) = work_out(fields)
    assert isinstance(found, Designed)
    return found


def _has_closed_form(fields: DesignFields, codes: list[str]) -> bool:
    options = fields.options | {"properties": codes}
    return closed_form(read_request(options.pop("n"), alpha=None, **options)[0]) is not None


class DesignPage:
    """``/design`` with its pieces and files."""

    def __init__(self, jobs: Jobs) -> None:
        self._searches: Searches[DesignFields, Designed] = Searches(
            jobs, "/design/job", DesignFields.read, work_out, self._shown, lambda fields: fields.address
        )

    def routes(self) -> list[Route]:
        return [
            Route("/design", self.page),
            Route("/design/result", self.result),
            Route("/design/beside", self.beside),
            Route("/design/file/{kind}", self.file),
            *self._searches.routes(),
        ]

    def page(self, request: Request) -> Response:
        """The form and, where it is known at once, the design."""
        fields = DesignFields.read(request.query_params)
        return page(
            request, "design.html", title="Design a mechanism", eyebrow="Design", here="/design", charts=True,
            fields=fields, losses=LOSSES, properties=PROPERTIES, priors=[*PRIORS, "worst case"],
            result=self._shown(fields), words=epsilon_in_words(fields.epsilon),
        )  # fmt: skip

    def result(self, request: Request) -> Response:
        """The design of the fields as they stand, or the offer to look for it."""
        fields = DesignFields.read(request.query_params)
        words = epsilon_in_words(fields.epsilon)
        return piece("design_piece.html", fields.address, content=self._shown(fields), words=words)

    def beside(self, request: Request) -> Response:
        """Costs and properties beside other mechanisms; asked for when nobody drags any more."""
        fields = DesignFields.read(request.query_params)
        try:
            found = self._known(fields)
            if found is None:
                return Response(status_code=404)
            compared = compare(_beside(found, fields)).report()
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))
        tables, terms = report_body(_tables_alone(compared), "beside"), report_body(_terms_alone(compared), "meaning")
        return piece("design_beside.html", beside=tables, meaning=terms)

    def file(self, request: Request) -> Response:
        """The mechanism as a file, the Python that makes it, or its table of probabilities."""
        fields = DesignFields.read(request.query_params)
        kind = request.path_params["kind"]
        if kind == "design.py":
            return _download(fields.python, kind)
        found = self._known(fields)
        if found is None or kind not in _FILES:
            return Response(status_code=404)
        return _download(_FILES[kind](found.mechanism), kind)

    def _known(self, fields: DesignFields) -> Designed | None:
        return self._searches.get(fields) or at_once(fields)

    def _shown(self, fields: DesignFields) -> str:
        try:
            found = self._known(fields)
        except DiscreetError as problem:
            return refusal(problem)
        if found is None:
            return render("design_offer.html", fields=fields)
        try:
            return render("design_result.html", fields=fields, **_content(found, fields))
        except DiscreetError as problem:
            return refusal(problem)


def _content(found: Designed, fields: DesignFields) -> dict[str, Any]:
    """What the page shows of a design."""
    mechanism, n = found.mechanism, int(fields.n)
    drawn = n <= MOST_DRAWN
    report = report_of_design(mechanism)
    return {
        "facts": (*report.facts, *explain(mechanism).report().facts[1:]),
        "explained": report_body(replace(explain(mechanism).report(), facts=()), "explained"),
        "heat": chart(Picture("probabilities", {"mechanism": mechanism}, HEAT)) if drawn else None,
        "error": chart(Picture("error", {"mechanisms": _beside(found, fields), "measure": fields.loss}, ERROR)),
        "checks": [(code, result, _price(found, code)) for code, result in check(mechanism).items()] if drawn else [],
        "exact": report_body(_folded(report), "exact"),
    }


def _beside(found: Designed, fields: DesignFields) -> dict[str, Mechanism]:
    """The design and the mechanisms beside it, at the same epsilon."""
    alpha = read_alpha(None, fields.epsilon)
    others = FAMILIES.offered("compare")[:BESIDE]
    made = {family.short: build_for_counts(family, int(fields.n), alpha) for family in others}
    return {"this design": found.mechanism} | made


def epsilon_in_words(epsilon: str) -> str:
    """Alpha and the odds that go with an epsilon.

    >>> epsilon_in_words("1")
    'alpha = 0.368: a report changes the odds of any statement about a person at most 2.72 times.'
    """
    try:
        alpha = float(read_alpha(None, epsilon))
    except DiscreetError:
        return "Smaller protects more."
    odds = fold(1 / alpha)
    return f"alpha = {alpha:.3g}: a report changes the odds of any statement about a person at most {odds} times."


def _tables_alone(report: Report) -> Report:
    """The tables of a report, each under its heading."""
    tables = [(one, tuple(part for part in one.parts if isinstance(part, Table))) for one in report.sections]
    sections = tuple(replace(one, parts=parts) for one, parts in tables if parts and one.depth != "folded")
    return replace(report, facts=(), sections=sections, notes=())


def _terms_alone(report: Report) -> Report:
    """What a report explains."""
    terms = [(one, tuple(part for part in one.parts if isinstance(part, Terms))) for one in report.sections]
    return replace(
        report, facts=(), sections=tuple(replace(one, parts=parts) for one, parts in terms if parts), notes=()
    )


def _folded(report: Report) -> Report:
    """What a report folds away, open."""
    sections = tuple(replace(one, depth="pages") for one in report.sections if one.depth == "folded")
    return replace(report, facts=(), sections=sections, notes=())


HEAT = "A row for each true count: the probability of every report. What gives most away is framed."
ERROR = "The error for each true count, beside other mechanisms at the same epsilon."


def _price(found: Designed, code: str) -> str:
    """What a property that was asked for costs, in words; empty for others."""
    if code not in found.without:
        return ""
    extra = cost_of(found.mechanism) - found.without[code]
    return "free" if extra <= 0 else f"costs {rounded(float(extra))}"


def _table(mechanism: Mechanism) -> str:
    """The probabilities as exact fractions, a row for each true count."""
    size = mechanism.inputs.size
    assert size is not None  # designs are for the counts 0..n
    lines = (",".join(str(mechanism.probability(i, j)) for j in range(size)) for i in range(size))
    return "\n".join(lines) + "\n"


def _saved(mechanism: Mechanism) -> str:
    return json.dumps(mechanism.to_json(), indent=1) + "\n"


_FILES: dict[str, Callable[[Mechanism], str]] = {"mechanism.json": _saved, "probabilities.csv": _table}


def _download(text: str, name: str) -> Response:
    kind = {"json": "application/json", "csv": "text/csv", "py": "text/x-python"}[name.rpartition(".")[2]]
    return Response(text, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
