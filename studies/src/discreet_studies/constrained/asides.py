"""What [C] says in passing: the staircase mechanism, randomised response, seconds, and its concluding remarks."""

from __future__ import annotations

import time
from fractions import Fraction

from discreet.checking import check
from discreet.mechanisms.geometric import two_sided_geometric
from discreet.mechanisms.response import randomized_response
from discreet.optimise.design.design import design
from discreet.spaces import Counts
from discreet.wording import listed, percent, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import number, significant
from .named import WEAK_WITH_COLUMNS, entry, fractions, named, raw, rescaled

#: The n up to which the paper's figures go.
FIGURES_UP_TO = 24


# ------------------------------------------------------------------------------------------------ staircase


def staircase(error: int, sensitivity: int, width: int, alpha: Fraction) -> Fraction:
    """Return the probability of an error under the discrete staircase mechanism (Geng, Kairouz, Oh and Viswanath 2015).

    Steps are ``sensitivity`` wide; the first ``width`` errors of each are as likely as the step before would have them.

    >>> [str(staircase(z, 1, 1, Fraction(1, 2))) for z in (0, 1, 2)]     # for counts: the geometric mechanism
    ['1/3', '1/6', '1/12']
    """
    step, place = divmod(abs(error), sensitivity)
    top = (1 - alpha) / (2 * width + 2 * alpha * (sensitivity - width) - (1 - alpha))
    return top * alpha ** (step if place < width else step + 1)


def draw_staircase(setting: Setting) -> ExhibitResult:
    """Judge the fairness of the staircase mechanism and the cost of n-ary randomised response for counts."""
    alphas = fractions(["1/2", "2/3", "9/10"])
    same = [
        staircase(z, 1, 1, alpha) == Fraction(two_sided_geometric(alpha=alpha).probability(0, z))
        for alpha in alphas
        for z in range(-20, 21)
    ]
    rows: list[Row] = []
    uneven, shapes = [], [(s, w) for s in range(1, setting.pick(4, 7)) for w in range(1, s + 1)]
    for alpha in alphas:
        for sensitivity, width in shapes:
            n = 3 * sensitivity
            inside = staircase(0, sensitivity, width, alpha)
            # moved to 0 are all errors of 0 and below
            beyond = sum((staircase(z, sensitivity, width, alpha) for z in range(1, sensitivity + 1)), Fraction(0))
            end = inside + beyond / (1 - alpha)
            uneven.append(end > inside)
            rows.append(
                {
                    "alpha": str(alpha), "sensitivity": sensitivity, "width": width, "n": n,
                    "truth_inside": significant(inside), "truth_at_the_ends": significant(end),
                }
            )  # fmt: skip
    response = _response(setting, alphas)
    larger = [worse for n, _, worse, _ in response if n > 2]
    claims = (
        Claim(
            "staircase: fair", "[C] section IV-A, on [17]", "The staircase mechanism is fair.",
            "On all integers its noise is the same for every truth. With reports moved into 0 to n, as this paper "
            f"needs, the truths 0 and n are reported more often than those between in {sum(uneven)} of {len(uneven)} "
            f"cases, exactly. For counts (sensitivity 1) it is the geometric mechanism: {sum(same)} of {len(same)} "
            "probabilities are equal as fractions.",
            judge(all(same), corrected=any(uneven)),
            "Fair without an end only; cut off at 0 and n, it is GM, which lemmas 2 and 3 show to be neither fair nor "
            "always honest.",
        ),
        Claim(
            "staircase: randomised response", "[C] section II-B, on [17]",
            "n-ary randomised response gives low utility for count queries.",
            f"At the same alpha it costs as much as EM for n = 2 (L0), more in {sum(larger)} of {len(larger)} settings "
            f"with a larger n, up to {rounded(max(ratio for _, _, _, ratio in response))} times as much, and has all "
            f"seven properties in {sum(seven for _, seven, _, _ in response)} of {len(response)}.",
            judge(all(larger), corrected=not all(worse for _, _, worse, _ in response)),
            "Low is judged as lower than EM; for n = 2 both tell the truth equally often. It bounds the ratio between "
            "all truths, EM between neighbours only.",
        ),
    )  # fmt: skip
    return ExhibitResult({}, {"": rows}, claims)


def _response(setting: Setting, alphas: tuple[Fraction, ...]) -> list[tuple[int, bool, bool, float]]:
    """Return for each n and alpha: n, all seven properties, dearer than EM, and how many times as dear."""
    settings = []
    for n in setting.pick((2, 4, 8), (2, 3, 4, 6, 8, 12, 16, 24)):
        for alpha in alphas:
            made = randomized_response(Counts(n), alpha=alpha)
            fair = raw(named("EM", n, alpha))
            settings.append((n, all(check(made).values()), raw(made) > fair, float(raw(made) / fair)))
    return settings


# ------------------------------------------------------------------------------------------------ seconds


def draw_seconds(setting: Setting) -> ExhibitResult:
    """Measure the processor time of designs, their exact certificates included."""
    sizes = setting.pick((4, 8, 16), (4, 8, 16, FIGURES_UP_TO, 50, 100))
    alpha = Fraction(10, 11)
    requests = {"WH": ("WH",), "WH+RM+CM": WEAK_WITH_COLUMNS}
    rows: list[Row] = []
    for n in setting.progress(sizes, "seconds"):
        for name, codes in requests.items():
            start = time.process_time()
            design(n, alpha=alpha, loss="L1", properties=codes)
            rows.append({"n": n, "properties": name, "seconds": float(f"{time.process_time() - start:.3g}")})
    slowest = {n: max(number(row, "seconds") for row in rows if row["n"] == n) for n in sizes}
    shown = max(seconds for n, seconds in slowest.items() if n <= FIGURES_UP_TO)
    claim = Claim(
        "section V: sub-second", "[C] section V, default experimental settings",
        "The time to solve the linear programs is negligible (sub-second), for n from 2 up to hundreds.",
        f"In this run, at alpha = {alpha} under L1 and with the exact certificate: "
        + listed([f"{rounded(seconds, 2)} s for n = {n}" for n, seconds in slowest.items()], "and")
        + ".",
        judge(shown < 1, corrected=max(slowest.values()) >= 1 or max(sizes) < 100),
        f"Sub-second for the n of the figures (up to {max(n for n in sizes if n <= FIGURES_UP_TO)} here). For hundreds "
        "it depends on the program and the solver. Seconds depend on the machine.",
    )  # fmt: skip
    return ExhibitResult({}, {"": rows}, (claim,))


# ------------------------------------------------------------------------------------------------ section VI


def draw_remarks(setting: Setting) -> ExhibitResult:
    """Judge the concluding remarks: extremes, large alpha, EM and WM."""
    sizes = setting.pick((4, 8), (2, 4, 8, 12, 16))
    alphas = fractions(["1/2", "3/5", "7/10", "4/5", "9/10", "99/100"])
    rows: list[Row] = []
    for n in sizes:
        for alpha in alphas:
            made = {name: named(name, n, alpha) for name in ("GM", "WM", "EM", "UM")}
            ends = {
                name: sum((entry(m, x, y) for x in range(n + 1) for y in (0, n)), Fraction(0)) / (n + 1)
                for name, m in made.items()
            }
            apart = max(
                sum((abs(entry(made["EM"], x, y) - entry(made["WM"], x, y)) for y in range(n + 1)), Fraction(0)) / 2
                for x in range(n + 1)
            )
            rows.append(
                {
                    "n": n, "alpha": str(alpha), **{f"ends_{name}": significant(value) for name, value in ends.items()},
                    "guessing": significant(Fraction(2, n + 1)), "em_and_wm_apart": significant(apart),
                    "em_over_wm": significant(rescaled(made["EM"]) / rescaled(made["WM"])),
                    "gm_over_em": significant(rescaled(made["GM"]) / rescaled(made["EM"])),
                }
            )  # fmt: skip
    extreme = [number(row, "ends_GM") > number(row, "guessing") for row in rows]
    at = {
        text: [number(row, "ends_GM") / number(row, "guessing") for row in rows if row["alpha"] == text]
        for text in ("1/2", "7/10", "9/10")
    }
    place = "[C] section VI"
    claims = (
        Claim(
            "section VI: extremes", place, "GM tends to output extreme values, 0 or n.",
            f"All truths alike, it reports 0 or n more often than guessing does in {sum(extreme)} of {len(rows)} "
            f"settings, up to {rounded(max(number(r, 'ends_GM') / number(r, 'guessing') for r in rows))} times as "
            "often; EM at most "
            f"{rounded(max(number(r, 'ends_EM') / number(r, 'guessing') for r in rows))} times.",
            judge(all(extreme)),
        ),
        Claim(
            "section VI: above 0.7", place,
            "GM is often not the mechanism of choice when alpha is above 0.7, but acceptable for smaller ones.",
            "It reports the ends "
            + listed([f"{rounded(min(v))} to {rounded(max(v))} times as often as guessing at alpha = {text}"
                      for text, v in at.items()], "and")
            + "; it is column monotone up to 1/2 and weakly honest from n = 2a/(1-a) on, 4.67 at 0.7.",
            judge(True, vague=True),
            "What is acceptable depends on what is asked for: nothing changes at 0.7. The exact limits are those of "
            "lemmas 2 and 3.",
        ),
        Claim(
            "section VI: EM and WM", place,
            "EM and WM are quite different in structure, but often similar in performance.",
            "Their reports of one truth are up to "
            f"{percent(max(number(row, 'em_and_wm_apart') for row in rows))} apart in total variation; EM costs up to "
            f"{rounded(max(number(row, 'em_over_wm') for row in rows), 4)} times what WM costs (L0).",
            judge(True, vague=True),
            "“Different” and “similar” have no number.",
        ),
    )  # fmt: skip
    return ExhibitResult({}, {"": rows}, claims)
