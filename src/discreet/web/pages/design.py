"""The page on which a mechanism is designed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args
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
from ...mechanisms.build import build_for_counts
from ...optimise.design.chooser import cost_of
from ...optimise.design.closed import closed_form
from ...optimise.design.design import design, read_request
from ...optimise.design.report import report_of_design
from ...optimise.families import FAMILIES
from ...optimise.improve.priors import NAMES as PRIORS
from ...optimise.improve.priors import named_prior
from ...properties import PROPERTIES
from ...report import Depth, Part, Picture, Report, Terms, TextTable
from ...wording import rounded
from ..frame.answers import page, piece
from ..frame.jobs import Jobs, Step
from ..frame.rendering import chart, refusal, render, report_body
from ..frame.searches import Searches

#: The losses that the page offers -> their descriptions.
LOSSES = {
    "L0": "how often the report is wrong",
    "L1": "how far off it is, on average",
    "L2": "the square of how far off it is, on average",
}

#: Number of other mechanisms that a design is compared with.
MAX_PEERS = 3

#: Largest n of a design on the page.
MAX_COUNT = 400

#: Largest n for which the page draws every probability.
MAX_DRAWN_COUNT = 100


@dataclass(frozen=True)
class DesignFields:
    """The fields of the form, as text; the address of the page holds them.

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
    def read(query: QueryParams) -> DesignFields:
        """Read the fields of an address; unknown ones are ignored, missing ones have their default."""
        usual = asdict(DesignFields())
        texts = {name: query.get(name, text).strip()[:200] for name, text in usual.items() if isinstance(text, str)}
        codes = [code.strip()[:60] for one in query.getlist("properties") for code in one.split(",")]
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
        """The arguments of ``dc.design``."""
        if not self.n.isascii() or not self.n.isdigit():
            raise InvalidInput.must_be("n", "a whole number, such as 10", self.n)
        if int(self.n[:9]) > MAX_COUNT:
            raise InvalidInput.must_be(
                "n", f"at most {MAX_COUNT} on a page", self.n[:9], "The command line and Python take more."
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
        """The same design on the command line."""
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
        """The same design in Python."""
        arguments = [self.n, f"epsilon={self.epsilon!r}", f"loss={self.loss!r}"]
        if self.properties:
            arguments.append(f"properties={list(self.properties)!r}")
        if self.delta not in ("", "0"):
            arguments.append(f"delta={self.delta!r}")
        lines = ["import discreet as dc", ""]
        if self.prior == "worst case":
            arguments.append("worst_case=True")
        elif self.prior != "uniform":
            weights = ", ".join(f'"{weight}"' for weight in named_prior(self.prior, int(self.n)) or ())
            lines.append(f"prior = [{weights}]")
            arguments.append("prior=prior")
        return "\n".join([*lines, f"m = dc.design({', '.join(arguments)})", 'm.save("mechanism.json")', ""])


@dataclass(frozen=True)
class DesignResult:
    """A mechanism, and what the best one costs without each of its properties."""

    mechanism: Mechanism
    costs_without: Mapping[str, Fraction]


def search_steps(fields: DesignFields) -> Iterator[Step]:
    """Design the mechanism, then the one without each property, step by step."""
    options = fields.options
    n, codes = options.pop("n"), options.pop("properties")
    total = 1 + len(codes)
    yield 0, total, "Looking for the best mechanism", None
    mechanism = design(n, properties=codes, **options)
    costs = {}
    for done, code in enumerate(codes, 1):
        yield done, total, f"Looking at what {code} costs", None
        kept = [other for other in codes if other != code]
        costs[code] = cost_of(design(n, properties=kept, **options))
    yield total, total, "Done", DesignResult(mechanism, costs)


@lru_cache(maxsize=16)
def closed_form_design(fields: DesignFields) -> DesignResult | None:
    """Return the design and the costs of its properties if closed forms give all of them, else None."""
    codes = fields.options["properties"]
    if not all(_has_closed_form(fields, [one for one in codes if one != dropped]) for dropped in (None, *codes)):
        return None
    *_, (_, _, _, result) = search_steps(fields)
    assert isinstance(result, DesignResult)
    return result


def _has_closed_form(fields: DesignFields, codes: list[str]) -> bool:
    options = fields.options | {"properties": codes}
    return closed_form(read_request(options.pop("n"), alpha=None, **options)[0]) is not None


class DesignPage:
    """``/design`` with its pieces and files."""

    def __init__(self, jobs: Jobs) -> None:
        self._searches: Searches[DesignFields, DesignResult] = Searches(
            jobs, "/design/job", DesignFields.read, search_steps, self._result_html, lambda fields: fields.address
        )

    def routes(self) -> list[Route]:
        return [
            Route("/design", self.page),
            Route("/design/result", self.result),
            Route("/design/beside", self.comparison),
            Route("/design/file/{kind}", self.file),
            *self._searches.routes(),
        ]

    def page(self, request: Request) -> Response:
        """Show the form and, if a closed form or an earlier search gives it, the design."""
        fields = DesignFields.read(request.query_params)
        return page(
            request, "design.html", title="Design a mechanism", eyebrow="Design", tab="/design", charts=True,
            fields=fields, losses=LOSSES, properties=PROPERTIES, priors=[*PRIORS, "worst case"],
            result=self._result_html(fields), words=epsilon_in_words(fields.epsilon),
        )  # fmt: skip

    def result(self, request: Request) -> Response:
        """Return the design of the fields, or the offer to search for it."""
        fields = DesignFields.read(request.query_params)
        words = epsilon_in_words(fields.epsilon)
        return piece("design_piece.html", fields.address, content=self._result_html(fields), words=words)

    def comparison(self, request: Request) -> Response:
        """Compare costs and properties with other mechanisms; requested once the sliders rest."""
        fields = DesignFields.read(request.query_params)
        try:
            result = self._find(fields)
            if result is None:
                return Response(status_code=404)
            report = compare(_with_peers(result, fields)).report()
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))
        tables, terms = _only(TextTable, report, ("everywhere", "pages")), _only(Terms, report)
        return piece(
            "design_comparison.html", tables=report_body(tables, "beside"), terms=report_body(terms, "meaning")
        )

    def file(self, request: Request) -> Response:
        """Return the mechanism as a file, the Python that makes it, or its table of probabilities."""
        fields = DesignFields.read(request.query_params)
        kind = request.path_params["kind"]
        if kind == "design.py":
            return _download(fields.python, kind)
        result = self._find(fields)
        if result is None or kind not in _FILES:
            return Response(status_code=404)
        return _download(_FILES[kind](result.mechanism), kind)

    def _find(self, fields: DesignFields) -> DesignResult | None:
        return self._searches.get(fields) or closed_form_design(fields)

    def _result_html(self, fields: DesignFields) -> str:
        try:
            result = self._find(fields)
        except DiscreetError as problem:
            return refusal(problem)
        if result is None:
            return render("design_offer.html", fields=fields)
        try:
            return render("design_result.html", fields=fields, **_content(result, fields))
        except DiscreetError as problem:
            return refusal(problem)


def _content(result: DesignResult, fields: DesignFields) -> dict[str, Any]:
    """Return the parts of a design that the page shows."""
    mechanism, n = result.mechanism, int(fields.n)
    is_drawn = n <= MAX_DRAWN_COUNT
    report, peers = report_of_design(mechanism), _with_peers(result, fields)
    checks = check(mechanism).items() if is_drawn else ()
    return {
        "facts": (*report.facts, *explain(mechanism).report().facts[1:]),
        "explained": report_body(replace(explain(mechanism).report(), facts=()), "explained"),
        "heat": chart(Picture("probabilities", {"mechanism": mechanism}, HEATMAP_CAPTION)) if is_drawn else None,
        "error": chart(Picture("error", {"mechanisms": peers, "measure": fields.loss}, ERROR_CAPTION)),
        "checks": [(code, finding, _cost_text(result, code)) for code, finding in checks],
        "exact": report_body(_folded(report), "exact"),
    }


def _with_peers(result: DesignResult, fields: DesignFields) -> dict[str, Mechanism]:
    """Return the design and other mechanisms at the same epsilon."""
    alpha = read_alpha(None, fields.epsilon)
    families = FAMILIES.offered("compare")[:MAX_PEERS]
    peers = {family.short: build_for_counts(family, int(fields.n), alpha) for family in families}
    return {"this design": result.mechanism} | peers


def epsilon_in_words(epsilon: str) -> str:
    """Describe an epsilon by its alpha and odds.

    >>> epsilon_in_words("1")
    'alpha = 0.368: a report changes the odds of any statement about a person at most 2.72 times.'
    """
    try:
        alpha = float(read_alpha(None, epsilon))
    except DiscreetError:
        return "Smaller protects more."
    odds = fold(1 / alpha)
    return f"alpha = {alpha:.3g}: a report changes the odds of any statement about a person at most {odds} times."


def _only(kind: type[Part], report: Report, depths: Sequence[Depth] = get_args(Depth)) -> Report:
    """Keep only the parts of one kind, in sections of these depths."""
    kept = [replace(s, parts=tuple(p for p in s.parts if isinstance(p, kind))) for s in report.sections]
    return replace(report, facts=(), sections=tuple(s for s in kept if s.parts and s.depth in depths), notes=())


def _folded(report: Report) -> Report:
    """Keep only the folded sections of a report, unfolded."""
    sections = tuple(replace(one, depth="pages") for one in report.sections if one.depth == "folded")
    return replace(report, facts=(), sections=sections, notes=())


HEATMAP_CAPTION = "A row for each true count: the probability of every report. The pair that reveals most is framed."
ERROR_CAPTION = "The error for each true count, compared with other mechanisms at the same epsilon."


def _cost_text(result: DesignResult, code: str) -> str:
    """Return the cost of a required property in words, or nothing for other properties."""
    if code not in result.costs_without:
        return ""
    extra = cost_of(result.mechanism) - result.costs_without[code]
    return "free" if extra <= 0 else f"costs {rounded(float(extra))}"


def _table(mechanism: Mechanism) -> str:
    """Return the probabilities as exact fractions, a row for each true count."""
    size = mechanism.inputs.size
    assert size is not None  # designs are for the counts 0..n
    lines = (",".join(str(mechanism.probability(i, j)) for j in range(size)) for i in range(size))
    return "\n".join(lines) + "\n"


def _json(mechanism: Mechanism) -> str:
    return json.dumps(mechanism.to_json(), indent=1) + "\n"


_FILES: dict[str, Callable[[Mechanism], str]] = {"mechanism.json": _json, "probabilities.csv": _table}


def _download(text: str, name: str) -> Response:
    kind = {"json": "application/json", "csv": "text/csv", "py": "text/x-python"}[name.rpartition(".")[2]]
    return Response(text, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
