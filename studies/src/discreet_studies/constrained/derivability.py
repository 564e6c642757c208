"""Which mechanisms are GM followed by something else ([C] section IV-D, after Gupte and Sundararajan)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.optimise.design.chooser import cost_of
from discreet.optimise.design.design import design
from discreet.optimise.improve.structure import derivable
from discreet.properties import Property, Rows
from discreet.wording import listed, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .charts import grid
from .named import WEAK_ALONE, WEAK_WITH_COLUMNS, designed, entry, fractions, named, raw

#: Differences of costs up to this count as zero.
NOTHING = 1e-9

#: A cell of the chart names up to this many n.
MOST_NAMED = 2

_COLUMNS = {"GM": "GM", "WM (WH)": "WH", "WM (WH, RM, CM)": "WM", "EM": "EM", "UM": "UM"}


def derivable_property(alpha: Fraction) -> Property:
    """Return derivability from GM as a property: the three-entry condition, linear in the probabilities.

    With alpha = p/q: ``(q^2 + p^2) P[i, j] >= p q (P[i-1, j] + P[i+1, j])`` inside; the ends are privacy itself.
    """
    p, q = alpha.numerator, alpha.denominator

    def build(truths: int, reports: int) -> Rows:
        i, j = np.divmod(np.arange(reports, (truths - 1) * reports), reports)
        places = np.stack([(i + k) * reports + j for k in (-1, 0, 1)], axis=1)
        return Rows(places, np.array([-p * q, q * q + p * p, -p * q]), ">=")

    sentence = f"It can be had by post-processing the geometric mechanism with alpha = {alpha}."
    return Property("derivable", "derivable", sentence, "[C] section IV-D", build, ordered=True)


def from_geometric(setting: Setting) -> ExhibitResult:
    """Return which of the named mechanisms are derivable from GM, over n and alpha."""
    sizes = setting.pick((2, 4, 8), (2, 3, 4, 6, 8, 12, 16, 20))
    alphas = fractions(["1/2", "2/3", "7/10", "3/4", "9/10", "10/11", "99/100"])
    settings = [(n, alpha) for n in sizes for alpha in alphas]
    rows: list[Row] = []
    violations: dict[str, list[Fraction]] = {name: [] for name in _COLUMNS}
    by_place: dict[tuple[str, int, Fraction], bool] = {}
    for n, alpha in setting.progress(settings, "derivability"):
        for name, short in _COLUMNS.items():
            mechanism = named(short, n, alpha)
            answer = derivable(mechanism, alpha=alpha)
            by_place[name, n, alpha] = answer.holds
            violations[name].append(answer.violation)
            rows.append(
                {
                    "mechanism": name, "n": n, "alpha": str(alpha), "derivable": answer.holds,
                    "text": "yes" if answer.holds else "no", "share": float(answer.holds),
                    "violation": significant(answer.violation),
                    "is_GM": raw(mechanism) == raw(named("GM", n, alpha)),
                }
            )  # fmt: skip
    claims = (_fair(by_place, settings), *_weak(setting, by_place, settings), _unconstrained(setting))
    share: list[Row] = []
    for name in _COLUMNS:
        for alpha in alphas:
            yes = sum(by_place[name, n, alpha] for n in sizes)
            words = "all n" if yes == len(sizes) else "no n" if not yes else _which_n(by_place, name, sizes, alpha)
            share.append({"mechanism": name, "alpha": str(alpha), "share": yes / len(sizes), "text": words})
    chart = grid(
        share, x="alpha", y="mechanism", colour="share", text="text", x_title="alpha", y_title="",
        title="EM cannot be had from GM by post-processing; WM often can",
        sentences=(f"For which n of {listed([str(n) for n in sizes])} each mechanism can be derived from GM with the "
                   "same alpha.",),
        step=(70, 30),
    )  # fmt: skip
    return ExhibitResult({"": chart}, {"": share, "settings": rows}, claims)


def _which_n(
    by_place: dict[tuple[str, int, Fraction], bool], name: str, sizes: tuple[int, ...], alpha: Fraction
) -> str:
    yes = [n for n in sizes if by_place[name, n, alpha]]
    if yes == [n for n in sizes if n >= yes[0]]:
        return f"n >= {yes[0]}"
    return f"n = {', '.join(map(str, yes))}" if len(yes) <= MOST_NAMED else f"{len(yes)} of {len(sizes)} n"


def _fair(by_place: dict[tuple[str, int, Fraction], bool], settings: list[tuple[int, Fraction]]) -> Claim:
    """Judge EM at the very three entries that the paper names."""
    exact = []
    for n, alpha in settings:
        em = named("EM", n, alpha)
        zero, one, two = (entry(em, truth, 2) for truth in (0, 1, 2))
        left, right = one - alpha * zero, alpha * (two - alpha * one)
        y = two
        exact.append(left == y * alpha * (1 - alpha) and right == y * alpha * (1 - alpha**2) and left < right)
    some = sum(by_place["EM", n, alpha] for n, alpha in settings)
    return Claim(
        "section IV-D: EM is not derivable", "[C] section IV-D",
        "EM cannot be derived from GM for any n > 1: report 2 violates the condition at truths 0, 1 and 2, where it "
        "would need 1 >= 1 + a.",
        f"The two sides are y a (1-a) and y a (1-a^2) exactly in {sum(exact)} of {len(settings)} settings; EM is "
        f"derivable in {some}.",
        judge(all(exact) and some == 0),
    )  # fmt: skip


def _weak(
    setting: Setting, by_place: dict[tuple[str, int, Fraction], bool], settings: list[tuple[int, Fraction]]
) -> tuple[Claim, ...]:
    """Judge WM: where it can be derived, and whether another best mechanism can where it cannot."""
    claims = []
    for name, codes in {"WM (WH)": WEAK_ALONE, "WM (WH, RM, CM)": WEAK_WITH_COLUMNS}.items():
        geometric = [place for place in settings if raw(designed(*place, codes)) == raw(named("GM", *place))]
        derived = [place for place in settings if by_place[name, *place]]
        others = [place for place in derived if place not in geometric]
        tried = [place for place in settings if place not in derived and place[0] <= setting.pick(4, 8)]
        costs = [_extra_cost(n, alpha, codes) for n, alpha in tried]
        dearer = [extra for extra in costs if extra > NOTHING]
        claims.append(
            Claim(
                f"section IV-D: {name} is not derivable", "[C] section IV-D",
                f"{name} cannot be derived from GM for n > 1.",
                f"Derivable in {len(derived)} of {len(settings)} settings: in {len(geometric)} because it is GM, and "
                f"in {len(others)} others{_places(others)}. "
                f"Of {len(tried)} settings where the one made here is not, another mechanism with the same properties "
                f"and the same cost is derivable in {len(tried) - len(dearer)}"
                + (f"; in the {len(dearer)} others it costs at least {rounded(min(dearer))} more." if dearer else "."),
                judge(not derived),
                "" if not derived else _reason(codes, bool(dearer)),
            )
        )  # fmt: skip
    return tuple(claims)


def _reason(codes: tuple[str, ...], some_are_not: bool) -> str:
    """Explain why WM can be derived after all."""
    is_geometric = "from n = 2a/(1-a) on" if codes == WEAK_ALONE else "for alpha <= 1/2"
    rest = (
        "It holds for larger n and alpha only; the table says where."
        if some_are_not
        else "Elsewhere several mechanisms are best, and one of them can be derived wherever it was tried, if not the "
        "one that a solver finds first."
    )
    return f"WM is GM {is_geometric}. {rest}"


def _places(places: list[tuple[int, Fraction]]) -> str:
    return f": n, alpha = {listed([f'({n}, {alpha})' for n, alpha in places])}" if places else ""


def _extra_cost(n: int, alpha: Fraction, codes: tuple[str, ...]) -> float:
    """Return how much more the best derivable mechanism with these properties costs than the best of all, at least."""
    best = cost_of(designed(n, alpha, codes))
    within = design(n, alpha=alpha, properties=[*codes, derivable_property(alpha)])
    return 0.0 if cost_of(within) == best else float(within.certificate.details["least"]) - float(best)


def _unconstrained(setting: Setting) -> Claim:
    """Judge that without properties the best mechanisms are all derivable (Ghosh et al.)."""
    settings = [(loss, n) for loss in ("L1", "L2", "L0_1") for n in setting.pick((4, 7), (3, 4, 5, 7, 10))]
    alphas = fractions(["1/2", "62/100", "9/10"])
    holds = [derivable(designed(n, alpha, (), loss), alpha=alpha).holds for loss, n in settings for alpha in alphas]
    return Claim(
        "section II-B: unconstrained optima are derivable", "[C] sections II-B and IV-D, after Ghosh et al.",
        "GM is the basis of the best mechanisms without properties: they can be derived from it.",
        f"True of {sum(holds)} of {len(holds)} best mechanisms (L1, L2 and L0_1).",
        judge(all(holds)),
    )  # fmt: skip
