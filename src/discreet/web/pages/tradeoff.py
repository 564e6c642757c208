"""The page of trade-offs: what more truth costs, two mechanisms side by side, and epsilon from a wanted error."""

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
from ...mechanisms.building import build_for_counts
from ...optimise.families import FAMILIES
from ...optimise.improve.calibration import calibrate
from ...optimise.noise.tradeoff import noise_tradeoff
from ...report import Report, Result
from ...wording import rounded
from ..frame.answers import page, piece
from ..frame.rendering import refusal, render, report_body

#: Short names of the mechanisms that are compared.
COMPARED = [family.short for family in FAMILIES.offered("compare")]

#: The questions of the page, with the usual values of their fields.
QUESTIONS: dict[str, dict[str, str]] = {
    "curves": {"epsilons": "1, 2", "reaches": "3, 5", "kind": "optimal"},
    "match": {"first": COMPARED[0], "second": COMPARED[1], "n": "10", "by": "epsilon", "amount": "1"},
    "wanted": {"family": "geometric", "n": "10", "target": "mean_error", "amount": "1", "chance": "0.95"},
}

#: Kinds of bounded noise that are worked out at once.
KINDS = {"optimal": "the least delta", "sadeghi": "as the paper has it"}

#: What an error may be asked for.
TARGETS = {
    "mean_error": "mean absolute error at most",
    "truth": "the truth reported with probability at least",
    "within": "with the chance below, off by at most",
}

#: So many epsilons and reaches make a picture that can be read.
MOST_LINES = 8


class TradeoffPage:
    """``/trade-off`` and its three results."""

    def routes(self) -> list[Route]:
        return [Route("/trade-off", self.page), Route("/trade-off/{question}", self.result)]

    def page(self, request: Request) -> Response:
        """The three forms; the one of the address with what it holds."""
        asked = request.query_params.get("question", "curves")
        asked = asked if asked in QUESTIONS else "curves"
        fields = {
            name: _fields(request.query_params, name) if name == asked else dict(usual)
            for name, usual in QUESTIONS.items()
        }
        return page(
            request, "tradeoff.html", title="What privacy costs", eyebrow="Trade-off", here="/trade-off", charts=True,
            fields=fields, asked=asked, kinds=KINDS, targets=TARGETS,
            compared=COMPARED,
            calibrated=[one for one in FAMILIES.cli_names("calibrate") if not one.startswith("planar")],
            results={name: _shown(name, one) for name, one in fields.items()},
        )  # fmt: skip

    def result(self, request: Request) -> Response:
        """The answer to one question."""
        name = request.path_params["question"]
        if name not in QUESTIONS:
            return Response(status_code=404)
        fields = _fields(request.query_params, name)
        address = f"/trade-off?{urlencode({'question': name, **fields})}"
        return piece("as_it_is.html", address, content=_shown(name, fields))


def _fields(given: QueryParams, question: str) -> dict[str, str]:
    return {name: given.get(name, usual).strip()[:200] for name, usual in QUESTIONS[question].items()}


def _shown(question: str, fields: Mapping[str, str]) -> str:
    try:
        return _ANSWERS[question](fields)
    except DiscreetError as problem:
        return refusal(problem)


def _whole(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise InvalidInput.must_be(name, "a whole number, such as 10", text)
    return int(text)


def _several(text: str, name: str) -> list[str]:
    found = [one.strip() for one in text.split(",") if one.strip()]
    if not 0 < len(found) <= MOST_LINES:
        raise InvalidInput.must_be(name, f"1 to {MOST_LINES} numbers with commas between them", text)
    return found


def _curves(fields: Mapping[str, str]) -> str:
    """[S]'s curves with the knees."""
    epsilons, reaches = _several(fields["epsilons"], "epsilon"), _several(fields["reaches"], "reach")
    data = noise_tradeoff(epsilons, [_whole(one, "reach") for one in reaches], kind=fields["kind"])  # type: ignore[arg-type]
    return _body(data, "curves")


def _match(fields: Mapping[str, str]) -> str:
    """Two mechanisms at one epsilon, or at one error."""
    n, names = _whole(fields["n"], "n"), (fields["first"], fields["second"])
    if n > 100:
        raise InvalidInput.must_be("n", "at most 100 here", n)
    if fields["by"] == "epsilon":
        alpha = read_alpha(None, fields["amount"])
        made = {name: build_for_counts(FAMILIES.find(name, "compare", "a family"), n, alpha) for name in names}
        words = f"Both at epsilon {fields['amount']}."
    elif fields["by"] == "error":
        found = {name: _at_error(name, n, fields["amount"]) for name in names}
        made = {name: mechanism for name, (mechanism, _) in found.items()}
        said = ", ".join(f"{name} needs epsilon {rounded(epsilon)}" for name, (_, epsilon) in found.items())
        words = f"For a mean absolute error of at most {fields['amount']}, {said}."
    else:
        raise InvalidInput.must_be("by", "epsilon or error", fields["by"])
    return render("match.html", words=words, body=_body(compare(made), "match"))


def _at_error(name: str, n: int, error: str) -> tuple[Mechanism, float]:
    """A mechanism of a family with this mean absolute error of the worst count, and its epsilon."""
    family = FAMILIES.find(name, "compare", "a family")
    found = calibrate(
        lambda size, epsilon: build_for_counts(family, size, read_alpha(None, epsilon)), n, mean_error=error
    )
    return found.mechanism, float(found.epsilon)


def _wanted(fields: Mapping[str, str]) -> str:
    """The smallest epsilon with a wanted error."""
    n, target = _whole(fields["n"], "n"), fields["target"]
    if target not in TARGETS:
        raise InvalidInput.must_be("target", f"one of {', '.join(TARGETS)}", target)
    amount: Any = (fields["amount"], fields["chance"]) if target == "within" else fields["amount"]
    return _body(calibrate(fields["family"], n, **{target: amount}), "wanted")


def _body(result: Result, prefix: str) -> str:
    report: Report = result.report()
    return render("verdict_body.html", title=report.title, body=report_body(report, prefix))


_ANSWERS: dict[str, Callable[[Mapping[str, str]], str]] = {"curves": _curves, "match": _match, "wanted": _wanted}
