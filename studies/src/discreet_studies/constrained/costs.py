"""Figures 8 and 9 of [C]: what weak honesty and the named mechanisms cost under L0."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from discreet.optimise.design.chooser import cost_of
from discreet.optimise.design.closed import fair_diagonal, weakly_honest_cost
from discreet.plots import beside
from discreet.wording import listed, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .charts import PANEL, lines
from .named import IN_WORDS, designed, fractions, named, rescaled, weakly_honest_from

#: The nine meaningful requests of section V-A: what is asked for besides weak honesty.
NINE: tuple[tuple[str, ...], ...] = (
    (), ("RH",), ("RM",), ("CH",), ("CM",), ("RH", "CH"), ("RH", "CM"), ("RM", "CH"), ("RM", "CM"),
)  # fmt: skip
ROWS_ONLY, WITH_COLUMNS = NINE[:3], NINE[3:]

_ALONE, _COLUMNS = "WH with none, RH or RM", "WH with CH or CM (six requests)"
_Y_TITLE = "L0 cost (guessing = 1)"


def _cost(n: int, alpha: Fraction, codes: tuple[str, ...]) -> Fraction:
    """Return the rescaled cost of weak honesty with other properties."""
    return cost_of(designed(n, alpha, ("WH", *codes))) * Fraction(n + 1, n)


def nine_requests(setting: Setting) -> ExhibitResult:
    """Draw figure 8: nine requests have two costs, over n at alpha = 0.76 and over alpha at n = 8."""
    alpha, size = Fraction(76, 100), 8
    sizes = setting.pick((2, 4, 6, 7, 8, 12), (*range(2, 13), 14, 16, 18, 20, 22, 24))
    alphas = fractions(
        setting.pick(
            ["1/2", "3/5", "7/10", "4/5", "9/10", "99/100"],
            ["1/2", "11/20", "3/5", "13/20", "7/10", "3/4", "4/5", "17/20", "9/10", "19/20", "99/100"],
        )
    )
    places = [("over n", n, alpha) for n in sizes] + [("over alpha", size, a) for a in alphas]
    rows: list[Row] = []
    two: list[bool] = []
    costs: dict[tuple[str, int, Fraction], tuple[Fraction, Fraction, Fraction, Fraction]] = {}
    for place in setting.progress(places, "nine requests"):
        part, n, a = place
        by_codes = {codes: _cost(n, a, codes) for codes in NINE}
        low, high = {by_codes[codes] for codes in ROWS_ONLY}, {by_codes[codes] for codes in WITH_COLUMNS}
        two.append(len(low) == len(high) == 1)
        costs[place] = (rescaled(named("GM", n, a)), min(low), min(high), rescaled(named("EM", n, a)))
        rows += [
            {"part": part, "n": n, "alpha": str(a), "properties": "+".join(("WH", *codes)), "cost": significant(cost)}
            for codes, cost in by_codes.items()
        ]
    threshold = weakly_honest_from(alpha)
    beyond = [n for n in sizes if n >= threshold]
    geometric = 2 * alpha / (1 + alpha)
    meets = all(costs["over n", n, alpha][1] == geometric for n in beyond)
    before = all(costs["over n", n, alpha][1] > geometric for n in sizes if n < threshold)
    column_gap = min(costs["over n", n, alpha][2] - geometric for n in sizes)
    largest = max(alphas)
    gm, low_cost, high_cost, em = costs["over alpha", size, largest]
    loosest = costs["over alpha", size, min(alphas)]
    place_text = "[C] section V-A, figure 8"
    claims = (
        Claim(
            "figure 8: two costs", place_text,
            "The nine requests have two costs: a lower one without column properties and a higher one with them.",
            f"As fractions, the three requests without column properties agree and the six with them agree in "
            f"{sum(two)} of {len(two)} settings.",
            judge(all(two)),
        ),
        Claim(
            "figure 8: 6.33 and .864", f"{place_text}(a)",
            "At alpha = 0.76 the cost of WH is 0.864, that of GM, from n = 2a/(1-a) = 6.33 on.",
            f"2a/(1-a) = {float(threshold):.4f} and 2a/(1+a) = {float(geometric):.4f}; WH costs exactly that for n = "
            f"{listed([str(n) for n in beyond])}, and more for smaller n.",
            judge(meets and before and f"{float(threshold):.2f}" == "6.33" and f"{float(geometric):.3f}" == "0.864"),
        ),
        Claim(
            "figure 8: columns cost more", f"{place_text}(a)",
            "Any request with CH or CM costs more than GM at alpha = 0.76.",
            f"By {rounded(column_gap)} or more for n up to {max(sizes)}.",
            judge(column_gap > 0),
        ),
        Claim(
            "figure 8: one cost at large alpha", f"{place_text}(b)",
            "For large alpha all nine requests cost the same, and the same as EM.",
            f"At n = {size}, alpha = {largest}: {float(low_cost):.6f} without and {float(high_cost):.6f} with column "
            f"properties, EM {float(em):.6f}, GM {float(gm):.6f}.",
            judge(low_cost == high_cost == em),
            "" if low_cost == high_cost == em else
            f"They differ in the {_first_digit(em - low_cost)} decimal, which a chart does not show. The cost of EM is "
            "never reached for n >= 2.",
        ),
        Claim(
            "figure 8: two costs at small alpha", f"{place_text}(b)",
            "As alpha falls two costs appear, and the lower one is that of GM.",
            f"At n = {size} the lower cost is that of GM for alpha = "
            + listed([str(a) for a in alphas if costs["over alpha", size, a][1] == costs["over alpha", size, a][0]])
            + f" (GM is weakly honest up to {rounded(Fraction(size, size + 2))}); at alpha = {min(alphas)} both are.",
            judge(
                [a for a in alphas if costs["over alpha", size, a][1] == costs["over alpha", size, a][0]]
                == [a for a in alphas if size >= weakly_honest_from(a)]
                and loosest[2] == loosest[0]
            ),
        ),
    )  # fmt: skip
    charts = [
        lines(
            _curves(costs, part), [IN_WORDS["GM"], _ALONE, _COLUMNS, IN_WORDS["EM"]], x=x, y="cost", x_title=x,
            y_title=_Y_TITLE, title=title, width=PANEL + 40, marked=marked, marked_at=height,
        )
        for part, x, title, marked, height in (
            ("over n", "n", "alpha = 0.76", [(float(threshold), "n = 6.33")], 0.15),
            ("over alpha", "alpha", f"n = {size}", [(size / (size + 2), "alpha = 0.8")], 0.6),
        )
    ]  # fmt: skip
    chart = beside(
        charts, "Nine requests have two costs",
        "Least L0 cost with weak honesty and what else is asked for. Row properties are free; column properties cost "
        "more. Dotted: where GM becomes weakly honest.",
    )  # fmt: skip
    choices = (f"Figure 8(b) does not say its n in the scan; n = {size} here.",)
    return ExhibitResult({"": chart}, {"": rows}, claims, choices)


def _first_digit(difference: Fraction) -> str:
    """Return which decimal of a difference is the first that is not 0."""
    number = next(k for k in range(1, 20) if difference * 10**k >= 1)
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def _curves(
    costs: dict[tuple[str, int, Fraction], tuple[Fraction, Fraction, Fraction, Fraction]], part: str
) -> list[Row]:
    names = (IN_WORDS["GM"], _ALONE, _COLUMNS, IN_WORDS["EM"])
    return [
        {"name": name, "n": n, "alpha": float(a), "cost": significant(cost)}
        for (which, n, a), four in costs.items()
        if which == part
        for name, cost in zip(names, four, strict=True)
    ]


# ------------------------------------------------------------------------------------------------ figure 9


def named_costs(setting: Setting) -> ExhibitResult:
    """Draw figure 9: the L0 cost of the named mechanisms over n, for alpha = 2/3, 10/11 and 99/100."""
    alphas = fractions(["2/3", "10/11", "99/100"])
    sizes = setting.pick((2, 3, 4, 6, 8, 12, 16, 20), (*range(2, 13), 14, 16, 18, 20, 22, 24))
    costs = {
        (alpha, n): {name: rescaled(named(name, n, alpha)) for name in IN_WORDS}
        for alpha in setting.progress(alphas, "costs of the named mechanisms")
        for n in sizes
    }
    rows: list[Row] = [
        {"alpha": str(alpha), "n": n, "name": IN_WORDS[name], "mechanism": name, "cost": significant(cost)}
        for (alpha, n), by_name in costs.items()
        for name, cost in by_name.items()
    ]
    panels = [
        lines(
            [row for row in rows if row["alpha"] == str(alpha) and row["mechanism"] != "UM"],
            [words for name, words in IN_WORDS.items() if name != "UM"], x="n", y="cost", x_title="n",
            y_title=_Y_TITLE, title=f"alpha = {alpha}", marked_at=0.25,
            marked=[(float(weakly_honest_from(alpha)), f"n = {weakly_honest_from(alpha)}")]
            if weakly_honest_from(alpha) <= max(sizes) else [],
        )
        for alpha in alphas
    ]  # fmt: skip
    chart = beside(
        panels, "What the properties cost, and when GM has them anyway",
        "From the dotted line on GM is weakly honest, and WH alone costs no more. With RM and CM the cost approaches "
        "GM's and does not reach it. Guessing (UM) costs 1 and is not drawn.",
        columns=3,
    )  # fmt: skip
    return ExhibitResult({"": chart}, {"": rows}, _claims_of_figure_9(costs, alphas, sizes), (
        "WM is drawn twice: the answer to WH alone and, as section V-A defines it, to WH, RM and CM.",
        f"The figure's range of n is lost in the scan; n = {min(sizes)} to {max(sizes)} here.",
    ))  # fmt: skip


def _claims_of_figure_9(
    costs: dict[tuple[Fraction, int], dict[str, Fraction]], alphas: Sequence[Fraction], sizes: Sequence[int]
) -> tuple[Claim, ...]:
    low, middle, high = alphas
    last = max(sizes)
    honest = [n for n in sizes if n >= weakly_honest_from(low)]
    excess = {n: costs[low, n]["WM"] - costs[low, n]["GM"] for n in honest}
    fair = {n: Fraction(n + 1, n) * (1 - fair_diagonal(n, low)) for n in range(2, 61)}
    rising = [m for m, n in pairwise(fair) if fair[m] <= fair[n]]
    falls_from = max(rising, default=1) + 1
    peak = max(fair, key=lambda n: fair[n])
    at_20 = costs[middle, 20]
    alone_meets = at_20["WH"] == at_20["GM"] and all(
        costs[middle, n]["WH"] > costs[middle, n]["GM"] for n in sizes if n < 20
    )
    apart = {n: costs[high, n]["EM"] - costs[high, n]["WM"] for n in sizes}
    never = all(costs[high, n]["WM"] > costs[high, n]["GM"] for n in sizes)
    honest_fair = all(
        named("EM", n, high).probability(0, 0) >= Fraction(1, n + 1) for n in sizes
    )  # the diagonal of EM against guessing
    place = "[C] section V-A, figure 9"
    return (
        Claim(
            "figure 9(a): WM converges on GM", f"{place}(a)",
            "At alpha = 2/3 the threshold 2a/(1-a) is 4; GM is weakly honest for all n shown, and WM converges on GM.",
            f"The threshold is {weakly_honest_from(low)}. From it on WH alone costs what GM costs "
            f"({sum(costs[low, n]['WH'] == costs[low, n]['GM'] for n in honest)} of {len(honest)}); with RM and CM the "
            f"excess is {rounded(excess[honest[0]])} at n = {honest[0]} and {rounded(excess[last])} at n = {last}.",
            judge(
                all(costs[low, n]["WH"] == costs[low, n]["GM"] for n in honest)
                and all(excess[m] > excess[n] for m, n in pairwise(honest)),
                corrected=excess[last] > 0,
            ),
            "WH alone is GM there. WM as defined in section V-A (with CM) approaches it like "
            f"{rounded(excess[last] * last)}/n and never meets it, since alpha > 1/2.",
        ),
        Claim(
            "figure 9(a): the cost of EM falls", f"{place}(a)",
            "At alpha = 2/3 the cost of EM is higher than that of GM and decreases with n.",
            f"Higher for every n. It is largest at n = {peak} ({float(fair[peak]):.4f}) and falls at every step from n "
            f"= {falls_from} to {max(fair)}.",
            judge(
                falls_from < max(fair) // 2 and all(costs[low, n]["EM"] > costs[low, n]["GM"] for n in sizes),
                corrected=falls_from > weakly_honest_from(low),
            ),
            f"Before n = {falls_from} it goes up and down with odd and even n."
            if falls_from > weakly_honest_from(low) else "",
        ),
        Claim(
            "figure 9(b): WM meets GM at 20", f"{place}(b)",
            "At alpha = 10/11 the threshold is 20, and the cost of WM meets that of GM at n = 20.",
            f"The threshold is {weakly_honest_from(middle)}. At n = 20 WH alone costs {float(at_20['WH']):.6f}, GM "
            f"{float(at_20['GM']):.6f}, and WH with RM and CM {float(at_20['WM']):.6f}.",
            judge(alone_meets, corrected=at_20["WM"] != at_20["GM"]),
            "True for WH alone. WM as section V-A defines it, with CM, does not meet GM: GM is column monotone for "
            "alpha <= 1/2 only.",
        ),
        Claim(
            "figure 9(c): the threshold is far", f"{place}(c)",
            "At alpha = 99/100 the threshold is 198, far above the n shown, and WM does not converge on GM.",
            f"The threshold is {weakly_honest_from(high)}, and WM costs more than GM for every n from {min(sizes)} to "
            f"{last}.",
            judge(weakly_honest_from(high) == 198 and never),
        ),
        Claim(
            "figure 9(c): WM costs what EM costs", f"{place}(c)",
            "At alpha = 99/100 EM is weakly honest and the cost of WM remains that of EM.",
            f"EM is {'' if honest_fair else 'not '}weakly honest. WM costs less for every n, by "
            f"{rounded(min(apart.values()))} to {rounded(max(apart.values()))}.",
            judge(honest_fair and not any(apart.values())),
            "" if not any(apart.values()) else "The difference is too small to see in a chart, and never 0 for n >= 2: "
            "fairness costs something.",
        ),
        _closed_form(costs),
    )  # fmt: skip


def _closed_form(costs: dict[tuple[Fraction, int], dict[str, Fraction]]) -> Claim:
    """Judge that the paper has no formula for the cost of weak honesty; there is one for WH alone."""
    right = sum(
        weakly_honest_cost(n, alpha) * Fraction(n + 1, n) == by_name["WH"] for (alpha, n), by_name in costs.items()
    )
    return Claim(
        "section IV-D: no closed form for WM", "[C] section IV-D",
        "The cost of WM has no known closed form.",
        f"For WH alone there is one: equal as fractions to the linear program's answer in {right} of {len(costs)} "
        "settings.",
        judge(True, corrected=right == len(costs)),
        "With y0 = 1/(n+1), y = (1-a)/(1+a) and n < 2a/(1-a) the best diagonal is y0 inside and y0/(1-a) - (y0/y-1)/s "
        "at both ends, s = 2a^(n/2) for even n and a^((n-1)/2) + a^((n+1)/2) for odd n. With RM and CM none is known "
        "here either.",
    )  # fmt: skip
