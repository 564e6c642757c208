"""[C] figures 11 to 13: groups whose counts are binomial, under three measures of error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet import losses
from discreet.exact.arrays import IntArray
from discreet.losses import Loss

from ..claims import Claim, judge
from ..constrained.named import named
from ..laws import binomial
from ..study import ExhibitResult, Row, Setting
from .small_groups import NAMES, WEAKLY_HONEST_MEANS, outcome, picture

#: People of a population, as the paper has them.
PEOPLE = 10_000

#: The alphas of figures 11 to 13 are lost in the scan; these are those of figure 9 and of the text on figure 13 (.91).
HIGH, MIDDLE, LOW = Fraction(10, 11), Fraction(19, 25), Fraction(2, 3)

_CHOICES = (
    "Alpha 10/11 (.91), 19/25 (.76) and 2/3 (.67): the figures' own are not legible, and the text names .91.",
    WEAKLY_HONEST_MEANS,
    "The points are means of repetitions with 10,000 people each; the claims are judged by exact expectations.",
)

#: Errors that differ by less are called equal.
EQUAL = 1e-9


def figure_11(setting: Setting) -> ExhibitResult:
    """Draw the share of groups off by more than 1, over p, for two alphas and three group sizes."""
    ps = setting.pick((0.05, 0.2, 0.5, 0.8, 0.95), tuple(np.round(np.arange(0.05, 0.96, 0.05), 2).tolist()))
    cases = [(alpha, n, p, 1) for alpha in (HIGH, LOW) for n in (4, 8, 12) for p in ps]
    rows = _measured(setting, "figure 11", cases, lambda d: losses.beyond(d))
    chart = picture(
        rows, "Fair noise suffers least where counts are in the middle",
        "The share of groups whose report is off by more than 1; bars are one standard error of the repetitions.",
        x="p", y="off by more than 1", across="groups of", down="alpha", sizes="share p of people with the bit",
    )  # fmt: skip
    return ExhibitResult({"": chart}, {"": rows}, _claims_11(rows), _CHOICES)


def figure_12(setting: Setting) -> ExhibitResult:
    """Draw the share of groups of 8 off by more than d, over d, for even and skewed data."""
    cases = [(alpha, 8, p, d) for p in (0.5, 0.1) for alpha in (HIGH, MIDDLE, LOW) for d in range(8)]
    rows = _measured(setting, "figure 12", cases, lambda d: losses.beyond(d))
    chart = picture(
        rows, "EM's tails are the lightest where counts are in the middle",
        "Groups of 8: the share whose report is off by more than d; bars are one standard error of the repetitions.",
        x="d", y="off by more than d", across="alpha", down="data", sizes="d",
    )  # fmt: skip
    choices = (*_CHOICES, "The rows are p = 0.5 and p = 0.1: the paper says “more proportionate” and “more skewed”.")
    return ExhibitResult({"": chart}, {"": rows}, _claims_12(rows), choices)


def figure_13(setting: Setting) -> ExhibitResult:
    """Draw the root mean square error over p, for three alphas and three group sizes."""
    ps = setting.pick((0.1, 0.5, 0.9), tuple(np.round(np.arange(0.1, 0.91, 0.1), 2).tolist()))
    cases = [(alpha, n, p, 0) for alpha in (HIGH, MIDDLE, LOW) for n in (4, 8, 12) for p in ps]
    rows = _measured(setting, "figure 13", cases, lambda d: losses.power(2), root=True)
    chart = picture(
        rows, "Root mean square error: larger groups, larger error",
        "Bars are one standard error of the repetitions.",
        x="p", y="RMSE", across="groups of", down="alpha", sizes="share p of people with the bit",
    )  # fmt: skip
    return ExhibitResult({"": chart}, {"": rows}, _claims_13(rows), _CHOICES)


def _measured(
    setting: Setting,
    figure: str,
    cases: Sequence[tuple[Fraction, int, float, int]],
    loss: Callable[[int], Loss],
    *,
    root: bool = False,
) -> list[Row]:
    repetitions = setting.pick(5, 30)
    rows: list[Row] = []
    for alpha, n, p, d in setting.progress(cases, figure):
        law = binomial(n, p)
        data = setting.generator(figure, str(alpha), n, p)
        runs: list[IntArray] = [data.binomial(n, p, PEOPLE // n) for _ in range(repetitions)]
        for name in NAMES:
            seed = int(setting.generator(figure, name, str(alpha), n, p, d).integers(2**31))
            result = outcome(named(name, n, alpha), loss(d), law, runs, seed, root=root)
            setting_of = {"alpha": f"alpha {alpha}", "groups of": f"groups of {n}", "data": f"p = {p:g}"}
            rows.append(result.row(**setting_of, p=p, d=d, name=name))
    return rows


# ------------------------------------------------------------------------------------------------ claims

#: What is expected of each mechanism, by alpha, n, p and d.
Cells = Mapping[tuple[Fraction, int, float, int], Mapping[str, float]]


def _cells(rows: Sequence[Row]) -> Cells:
    by_cell: dict[tuple[Fraction, int, float, int], dict[str, float]] = {}
    for row in rows:
        alpha, n = Fraction(str(row["alpha"]).split()[-1]), int(str(row["groups of"]).split()[-1])
        key = alpha, n, float(str(row["p"])), int(str(row["d"]))
        by_cell.setdefault(key, {})[str(row["name"])] = float(str(row["expected"]))
    return by_cell


def _of(holding: Iterable[bool]) -> tuple[str, bool, bool]:
    """Return how many of the cases hold, in words; whether all do; whether most do."""
    cases = list(holding)
    return f"in {sum(cases)} of {len(cases)} settings", all(cases), 2 * sum(cases) > len(cases)


def _claim(
    key: str, place: str, statement: str, measured: str, holding: Iterable[bool], why: str = "", *, most: bool = False
) -> Claim:
    """Return a claim about many settings: it holds in all of them, or with a correction in most of them.

    Parameters
    ----------
    most
        Whether the paper says "often" or "most" itself, so that most settings suffice.
    """
    words, every, majority = _of(holding)
    verdict = judge(every or majority, corrected=not every and not most)
    return Claim(key, place, statement, measured.format(words), verdict, why)


def _claims_11(rows: Sequence[Row]) -> tuple[Claim, ...]:
    cells, place = _cells(rows), "[C] section V-C, figure 11"
    ends = [f for (_, _, p, _), f in cells.items() if p in (0.05, 0.95)]
    middle = [f for (_, n, p, _), f in cells.items() if p == 0.5]
    high = [f for (alpha, _, p, _), f in cells.items() if alpha == HIGH and 0.2 <= p <= 0.8]
    near = max(abs(f["WM"] - f["EM"]) for (alpha, *_), f in cells.items() if alpha == HIGH)
    low = [abs(f["WM"] - f["GM"]) for (alpha, *_), f in cells.items() if alpha == LOW]
    spread = {
        name: max(_range(cells, alpha, n, name) for alpha in (HIGH, LOW) for n in (4, 8, 12)) for name in ("EM", "GM")
    }
    return (
        _claim("figure 11: GM at the ends", place, "GM does well when p is close to 0 or 1.",
               "GM's error is below UM's {} with p .05 or .95, and the least of the four in "
               f"{sum(f['GM'] <= min(f.values()) + EQUAL for f in ends)}.", (f["GM"] < f["UM"] for f in ends)),
        _claim("figure 11: constrained in the middle", place,
               "Where counts are spread, the constrained mechanisms are consistently better than GM.",
               "EM's error is below GM's {} with p = .5.", (f["EM"] < f["GM"] for f in middle)),
        _claim("figure 11: GM worse than uniform", place, "At the higher alpha GM is often worse than uniform.",
               "GM's error is above UM's {} with alpha 10/11 and p from .2 to .8.", (f["GM"] > f["UM"] for f in high),
               most=True),
        Claim("figure 11: constrained alike", place, "At the higher alpha the constrained mechanisms are similar.",
              f"WM and EM differ by at most {near:.3f}.", judge(True, vague=True), "“Similar” has no number."),
        Claim("figure 11: WM converges to GM", place, "At the lower alpha WM and GM converge.",
              f"At alpha 2/3 they differ by at most {max(low):.3f}.", judge(True, vague=max(low) >= EQUAL),
              "" if max(low) < EQUAL else
              "WM with column monotonicity never meets GM, which breaks it; how close is convergence has no number."),
        Claim("figure 11: EM is insensitive", place, "EM depends less on the data than the others.",
              f"Over p, EM's error varies by at most {spread['EM']:.3f} and GM's by {spread['GM']:.3f}.",
              judge(spread["EM"] < spread["GM"])),
    )  # fmt: skip


def _range(cells: Cells, alpha: Fraction, n: int, name: str) -> float:
    errors = [f[name] for (a, m, _, _), f in cells.items() if (a, m) == (alpha, n)]
    return max(errors) - min(errors)


def _claims_12(rows: Sequence[Row]) -> tuple[Claim, ...]:
    cells, place = _cells(rows), "[C] section V-C, figure 12"
    even = {key: f for key, f in cells.items() if key[2] == 0.5}
    skewed = {key: f for key, f in cells.items() if key[2] == 0.1}
    margins = {
        alpha: [even[alpha, 8, 0.5, d]["GM"] - even[alpha, 8, 0.5, d]["EM"] for d in range(8)]
        for alpha in (HIGH, MIDDLE, LOW)
    }
    grows = [later > earlier for line in margins.values() for earlier, later in pairwise(line)]
    behind = max(f["EM"] - f["GM"] for f in skewed.values())
    tops = ", ".join(f"{max(line):.3f} at d = {int(np.argmax(line))}" for line in margins.values())
    return (
        _claim("figure 12: EM best on even data", place, "With even data EM outperforms all others for every d.",
               "EM's error is the least {} (p = .5, d from 0 to 6).",
               (f["EM"] <= min(f.values()) + EQUAL for (*_, d), f in even.items() if d < 7)),
        _claim("figure 12: the margin grows", place, "The margin between EM and GM only increases with d.",
               f"From one d to the next the margin grows {{}}; it is largest, {tops}, for the three alphas.", grows,
               "Both tails end at 0, so that the margin must shrink again."),
        _claim("figure 12: GM worse than guessing", place, "At higher alpha GM can be worse than uniform guessing.",
               "GM's error is above UM's {} (p = .5, alpha 10/11).",
               (f["GM"] > f["UM"] for (alpha, _, _, d), f in even.items() if alpha == HIGH and d < 7), most=True),
        _claim("figure 12: GM stays worse at lower alpha", place, "At lower alpha GM improves and stays worse than EM.",
               "GM's error is above EM's {} (p = .5, alpha 2/3, d from 0 to 6).",
               (f["GM"] > f["EM"] for (alpha, _, _, d), f in even.items() if alpha == LOW and d < 7)),
        Claim("figure 12: EM on skewed data", place, "On skewed data EM is not substantially worse than GM.",
              f"EM's error exceeds GM's by at most {behind:.3f} (p = .1).", judge(True, vague=behind > 0),
              "" if behind <= 0 else "It is worse; “substantially” has no number."),
        _claim("figure 12: WM in between", place, "WM tends to fall between GM and EM.",
               "WM lies between them {}.",
               (min(f["GM"], f["EM"]) - EQUAL <= f["WM"] <= max(f["GM"], f["EM"]) + EQUAL for f in cells.values()),
               most=True),
    )  # fmt: skip


def _claims_13(rows: Sequence[Row]) -> tuple[Claim, ...]:
    cells, place = _cells(rows), "[C] section V-C, figure 13"
    settings = {(alpha, n) for alpha, n, *_ in cells}
    easier = [cells[a, n, 0.5, 0][name] <= cells[a, n, 0.1, 0][name] for a, n in settings for name in NAMES]
    larger = [
        cells[a, big, p, 0][name] > cells[a, small, p, 0][name]
        for a, n, p, _ in cells if n == 4 for name in NAMES for small, big in ((4, 8), (8, 12))
    ]  # fmt: skip
    at_high = [f for (alpha, *_), f in cells.items() if alpha == HIGH]
    best = [f["EM"] <= min(f.values()) + EQUAL for f in at_high]
    relative = {
        alpha: [f["GM"] / f["UM"] for (a, *_), f in cells.items() if a == alpha] for alpha in (HIGH, MIDDLE, LOW)
    }
    worse = sum(ratio > 1 for ratio in relative[HIGH])
    means = [float(np.mean(relative[alpha])) for alpha in (HIGH, MIDDLE, LOW)]
    return (
        _claim("figure 13: the middle is easier", place, "Symmetric data (p near .5) is easier for most mechanisms.",
               "The RMSE at p = .5 is at most that at p = .1 {}.", easier, most=True),
        _claim("figure 13: larger groups", place, "Larger groups have larger RMSE.", "It grows {}.", larger),
        Claim("figure 13: GM and alpha", place, "Larger alpha makes GM less competitive, and often worse than UM.",
              f"GM's RMSE over UM's is {means[0]:.2f}, {means[1]:.2f} and {means[2]:.2f} on average at alpha 10/11, "
              f"19/25 and 2/3; at 10/11 it is above 1 in {worse} of {len(relative[HIGH])} settings.",
              judge(means[0] > means[1] > means[2] and 2 * worse > len(relative[HIGH]))),
        _claim("figure 13: EM at .91", place, "At alpha .91 EM tends to have lower error at all sizes and p.",
               "EM's RMSE is the least {}; "
               f"WM's in {_times_least('WM', at_high)}, GM's in {_times_least('GM', at_high)}.", best,
               "WM, of which the same is not said, has the lower error more often.", most=True),
    )  # fmt: skip


def _times_least(name: str, cells: Sequence[Mapping[str, float]]) -> int:
    return sum(result[name] <= min(result.values()) + EQUAL for result in cells)
