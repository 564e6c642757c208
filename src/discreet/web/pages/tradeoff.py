"""The page of trade-offs: what accuracy costs, two mechanisms compared, and epsilon for a target error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...comparison import compare
from ...errors import DiscreetError, InvalidInput
from ...exact.rationals import read_alpha
from ...mechanism import Mechanism
from ...mechanisms.build import build_for_counts
from ...optimise.families import FAMILIES
from ...optimise.improve.calibration import calibrate
from ...optimise.noise.tradeoff import noise_tradeoff
from ...report import Report, Result
from ...wording import rounded
from ..frame.answers import page, piece
from ..frame.fields import whole_number
from ..frame.rendering import refusal, render, report_body

#: Short names of the mechanisms to compare.
COMPARED_FAMILIES = [family.short for family in FAMILIES.offered("compare")]

#: Question of the page -> its fields with their defaults.
QUESTIONS: dict[str, dict[str, str]] = {
    "curves": {"epsilons": "1, 2", "reaches": "3, 5", "kind": "optimal"},
    "match": {"first": COMPARED_FAMILIES[0], "second": COMPARED_FAMILIES[1], "n": "10", "by": "epsilon", "amount": "1"},
    "wanted": {"family": "geometric", "n": "10", "target": "mean_error", "amount": "1", "chance": "0.95"},
}

#: Kind of bounded noise with a closed form -> title.
KINDS = {"optimal": "the least delta", "sadeghi": "as the paper has it"}

#: Target of a calibration -> title.
TARGETS = {
    "mean_error": "mean absolute error at most",
    "truth": "the truth reported with probability at least",
    "within": "with the chance below, off by at most",
}

#: Maximum number of epsilons, and of reaches, in one legible chart.
MAX_LINES = 8


class TradeoffPage:
    """``/trade-off`` and its three results."""

    def routes(self) -> list[Route]:
        return [Route("/trade-off", self.page), Route("/trade-off/{question}", self.result)]

    def page(self, request: Request) -> Response:
        """Show the three forms; the address fills in one of them."""
        question = request.query_params.get("question", "curves")
        question = question if question in QUESTIONS else "curves"
        fields = {
            name: _fields(request.query_params, name) if name == question else dict(usual)
            for name, usual in QUESTIONS.items()
        }
        return page(
            request, "tradeoff.html", title="What privacy costs", eyebrow="Trade-off", tab="/trade-off", charts=True,
            fields=fields, question=question, kinds=KINDS, targets=TARGETS,
            families=COMPARED_FAMILIES,
            calibrated=[one for one in FAMILIES.cli_names("calibrate") if not one.startswith("planar")],
            results={name: _answer(name, one) for name, one in fields.items()},
        )  # fmt: skip

    def result(self, request: Request) -> Response:
        """Return the answer to one question."""
        name = request.path_params["question"]
        if name not in QUESTIONS:
            return Response(status_code=404)
        fields = _fields(request.query_params, name)
        address = f"/trade-off?{urlencode({'question': name, **fields})}"
        return piece("as_it_is.html", address, content=_answer(name, fields))


def _fields(query: QueryParams, question: str) -> dict[str, str]:
    return {name: query.get(name, usual).strip()[:200] for name, usual in QUESTIONS[question].items()}


def _answer(question: str, fields: Mapping[str, str]) -> str:
    try:
        return _ANSWERS[question](fields)
    except DiscreetError as problem:
        return refusal(problem)


def _several(text: str, name: str) -> list[str]:
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not 0 < len(items) <= MAX_LINES:
        raise InvalidInput.must_be(name, f"1 to {MAX_LINES} numbers with commas between them", text)
    return items


def _curves(fields: Mapping[str, str]) -> str:
    """Render the curves of [S] with their knees."""
    epsilons, reaches = _several(fields["epsilons"], "epsilon"), _several(fields["reaches"], "reach")
    data = noise_tradeoff(epsilons, [whole_number("reach", reach) for reach in reaches], kind=fields["kind"])  # type: ignore[arg-type]
    return _body(data, "curves")


def _match(fields: Mapping[str, str]) -> str:
    """Compare two mechanisms at one epsilon, or at one error."""
    n, names = whole_number("n", fields["n"]), (fields["first"], fields["second"])
    if n > 100:
        raise InvalidInput.must_be("n", "at most 100 here", n)
    if fields["by"] == "epsilon":
        alpha = read_alpha(None, fields["amount"])
        mechanisms = {name: build_for_counts(FAMILIES.find(name, "compare", "a family"), n, alpha) for name in names}
        words = f"Both at epsilon {fields['amount']}."
    elif fields["by"] == "error":
        results = {name: _at_error(name, n, fields["amount"]) for name in names}
        mechanisms = {name: mechanism for name, (mechanism, _) in results.items()}
        needs = ", ".join(f"{name} needs epsilon {rounded(epsilon)}" for name, (_, epsilon) in results.items())
        words = f"For a mean absolute error of at most {fields['amount']}, {needs}."
    else:
        raise InvalidInput.must_be("by", "epsilon or error", fields["by"])
    return render("match.html", words=words, body=_body(compare(mechanisms), "match"))


def _at_error(name: str, n: int, error: str) -> tuple[Mechanism, float]:
    """Return the mechanism of a family with this mean absolute error of the worst count, and its epsilon."""
    family = FAMILIES.find(name, "compare", "a family")
    result = calibrate(
        lambda size, epsilon: build_for_counts(family, size, read_alpha(None, epsilon)), n, mean_error=error
    )
    return result.mechanism, float(result.epsilon)


def _epsilon(fields: Mapping[str, str]) -> str:
    """Find the smallest epsilon with a target error."""
    n, target = whole_number("n", fields["n"]), fields["target"]
    if target not in TARGETS:
        raise InvalidInput.must_be("target", f"one of {', '.join(TARGETS)}", target)
    amount: Any = (fields["amount"], fields["chance"]) if target == "within" else fields["amount"]
    return _body(calibrate(fields["family"], n, **{target: amount}), "wanted")


def _body(result: Result, prefix: str) -> str:
    report: Report = result.report()
    return render("verdict_body.html", title=report.title, body=report_body(report, prefix))


_ANSWERS: dict[str, Callable[[Mapping[str, str]], str]] = {"curves": _curves, "match": _match, "wanted": _epsilon}
