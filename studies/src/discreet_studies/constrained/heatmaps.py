"""Figures 1, 2 and 7 and example 1 of [C]: mechanisms as heat maps, with and without properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet import losses, utility
from discreet.checking import check, pathologies
from discreet.exact.rationals import as_fraction
from discreet.mechanism import Mechanism
from discreet.mechanisms.fair import explicit_fair
from discreet.mechanisms.geometric import geometric
from discreet.optimise.design.chooser import cost_of
from discreet.optimise.design.design import design
from discreet.plots import Chart, beside, heatmap
from discreet.properties import Property, Rows
from discreet.wording import listed, percent, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .charts import lines
from .named import SEVEN, designed, entry, fractions, named

#: The alpha of figures 1 and 2, as printed.
PRINTED_ALPHA = Fraction(62, 100)


@dataclass(frozen=True)
class Spike:
    """A sentence about figure 1: some reports are given with at least this probability under every truth."""

    key: str
    loss: str
    n: int
    reports: tuple[int, ...]
    at_least: Fraction
    statement: str

    def share(self, alpha: Fraction) -> Fraction:
        """Return the probability of these reports under the truth that gives them least."""
        mechanism = designed(self.n, alpha, (), self.loss)
        return min(sum((entry(mechanism, i, j) for j in self.reports), Fraction(0)) for i in range(self.n + 1))

    @property
    def words(self) -> str:
        return f"{self.loss}, n = {self.n}: report {listed([str(j) for j in self.reports], 'or')}"


SPIKES = (
    Spike(
        "squared error", "L2", 4, (2,), Fraction(1),
        "Under squared error the best mechanism ignores the truth and always reports 2.",
    ),
    Spike(
        "absolute error", "L1", 7, (2, 5), Fraction(7, 10),
        "Under absolute error with n = 7, 2 or 5 is reported with probability at least 0.7 whatever the truth.",
    ),
    Spike(
        "off by more than one", "L0_1", 5, (1, 4), Fraction(9, 10),
        "Where only errors of more than 1 count, 1 or 4 is reported with probability over 90%.",
    ),
)  # fmt: skip

#: The four panels of figures 1 and 2.
PANELS = (("L1", 5), ("L1", 7), ("L2", 4), ("L0_1", 5))

_LOSS_WORDS = {"L1": "absolute error", "L2": "squared error", "L0_1": "off by more than 1"}

_PANEL_CHOICES = (
    "The scan lost the panels' parameters. From the text: L1 has n = 7; 2 is the middle of n = 4 (L2); 1 and 4 mirror "
    "each other for n = 5 (L0_1). The fourth panel is L1 with n = 5.",
)


# ------------------------------------------------------------------------------------------------ figures 1 and 2


def unconstrained(setting: Setting) -> ExhibitResult:
    """Draw figure 1: gaps and spikes of the best mechanisms without properties; the numbers need other alphas."""
    mechanisms = {panel: designed(panel[1], PRINTED_ALPHA, (), panel[0]) for panel in PANELS}
    alphas = [Fraction(k, 100) for k in range(50, 99)]
    curves: list[Row] = [
        {"name": spike.words, "alpha": float(alpha), "share": significant(spike.share(alpha)),
         "stated": float(spike.at_least)}
        for spike in setting.progress(SPIKES, "spikes over alpha")
        for alpha in alphas
    ]  # fmt: skip
    claims = [_spike_claim(spike, alphas) for spike in SPIKES]
    gaps = {panel: pathologies(mechanism)["no gaps"] for panel, mechanism in mechanisms.items()}
    claims.append(
        Claim(
            "figure 1: gaps",
            "[C] section I, figure 1",
            "All four mechanisms never report some of the values.",
            f"At alpha = 0.62 {sum(not g for g in gaps.values())} of {len(gaps)} have gaps: "
            + "; ".join(f"{loss}, n = {n}, {gaps[loss, n].where}" for loss, n in PANELS)
            + ".",
            judge(not any(gaps.values())),
        )
    )
    together = [a for a in alphas if all(spike.share(a) >= spike.at_least for spike in SPIKES)]
    claims.append(
        Claim(
            "figure 1: one alpha",
            "[C] section I, figure 1",
            "All panels have one alpha.",
            f"Of {len(alphas)} alphas from {float(alphas[0])} to {float(alphas[-1])}, {len(together)} make all three "
            "sentences about spikes true.",
            judge(bool(together)),
            "" if together else "The sentences need alphas that exclude each other, so the panels had different ones.",
        )
    )
    claims.append(_floor())
    charts = {
        "": _panels(mechanisms, "Without properties, the best mechanisms have gaps and spikes",
                    f"Alpha = 0.62. White columns are never reported. {_ROWS_ARE_TRUTHS}"),
        "alpha": lines(
            curves, [spike.words for spike in SPIKES], x="alpha", y="share", x_title="alpha",
            y_title="probability, least of all truths", zero=True, width=440, dots=False,
            title="No single alpha makes all printed spikes true",
            sentences=("Stated: 1 for L2, at least 0.7 for L1, over 0.9 for L0_1; the figure's caption says alpha = "
                       "0.62.",),
            marked=((float(PRINTED_ALPHA), "0.62"),),
        ),
    }  # fmt: skip
    return ExhibitResult(charts, {"": _cells(mechanisms), "alpha": curves}, tuple(claims), _PANEL_CHOICES)


#: What no probability may fall below where section III tries that.
FLOOR = Fraction(1, 1000)


def with_floor(loss: str, n: int) -> Mechanism:
    """Return the best mechanism at the printed alpha in which no probability is below the floor."""
    at_least = Property(
        "floor", "floor", f"Every probability is at least {FLOOR}.", "[C] section III",
        lambda truths, reports: Rows(np.arange(truths * reports)[:, None], np.array([1]), ">=", FLOOR),
    )  # fmt: skip
    return design(n, alpha=PRINTED_ALPHA, loss=loss, properties=[at_least])


def _floor() -> Claim:
    """Judge section III: that a floor under all probabilities does not help."""
    filled = []
    for loss, n in PANELS:
        gaps = [place[1] for place in pathologies(designed(n, PRINTED_ALPHA, (), loss))["no gaps"].places]
        mechanisms = with_floor(loss, n)
        filled += [[entry(mechanisms, i, j) for i in range(n + 1)] for j in gaps]
    least, most = {min(column) for column in filled}, max(map(max, filled))
    return Claim(
        "section III: a floor",
        "[C] section III",
        "Asking that no probability be 0 does not help: what was 0 gets the smallest value that is allowed.",
        f"With a floor of {FLOOR}, each of the {len(filled)} reports that were never given has that probability under "
        f"the truths furthest from it, and at most {rounded(most)} under the nearest.",
        judge(least == {FLOOR} and most < Fraction(1, 50), corrected=most > FLOOR),
        "Exactly the floor far from the truth only; nearer to it the probability grows as far as privacy allows, and "
        "stays small.",
    )


def constrained(setting: Setting) -> ExhibitResult:
    """Draw figure 2: with all seven properties the gaps and spikes are gone."""
    mechanisms = {panel: designed(panel[1], PRINTED_ALPHA, SEVEN, panel[0]) for panel in PANELS}
    flaws = {panel: pathologies(mechanism) for panel, mechanism in mechanisms.items()}
    clean = [panel for panel in PANELS if flaws[panel].holds]
    having = [panel for panel in PANELS if check(mechanisms[panel]).holds]
    near = min(1 - share for share in utility.tail(mechanisms["L2", 4], 1, exact=True))
    most = max(mechanisms["L2", 4].probability(i, 2) for i in range(5))
    claims = (
        Claim(
            "figure 2: gaps and spikes",
            "[C] section I, figure 2",
            "With all seven properties the gaps and spikes of figure 1 are gone.",
            f"{len(clean)} of {len(PANELS)} have neither a gap nor a report more than twice as likely as its neighbour "
            f"on the side of the truth; {len(having)} of {len(PANELS)} have all seven properties, checked exactly.",
            judge(len(clean) == len(having) == len(PANELS)),
        ),
        Claim(
            "figure 2: squared error",
            "[C] section I, figure 2",
            "Under squared error (n = 4) the report is within 1 of the truth with at least a fixed probability, for "
            "every truth (the scan lost the fraction), instead of always being 2.",
            f"Within 1 of the truth with probability at least {rounded(near)} = {near}; 2 is reported with probability "
            f"at most {rounded(most)}.",
            judge(near > Fraction(1, 2) and most < 1),
            f"Every fraction up to {rounded(near)} would be right; here more than one half is asked for.",
        ),
    )
    rows: list[Row] = [
        {
            "loss": loss, "n": n, "cost_without": significant(cost_of(designed(n, PRINTED_ALPHA, (), loss))),
            "cost_with": significant(cost_of(mechanisms[loss, n])),
            "within_1_least": significant(min(1 - s for s in utility.tail(mechanisms[loss, n], 1, exact=True))),
        }
        for loss, n in PANELS
    ]  # fmt: skip
    chart = _panels(
        mechanisms, "With all seven properties, every value is reported and none more often than the truth",
        f"Alpha = 0.62; the same losses and n as in figure 1. {_ROWS_ARE_TRUTHS}",
    )  # fmt: skip
    return ExhibitResult({"": chart}, {"": _cells(mechanisms), "costs": rows}, claims, _PANEL_CHOICES)


_ROWS_ARE_TRUTHS = "Rows are true counts here; the paper prints the transpose."


def _spike_claim(spike: Spike, alphas: Sequence[Fraction]) -> Claim:
    at_printed = spike.share(PRINTED_ALPHA)
    best = most_of_any_optimum(spike, PRINTED_ALPHA)
    holding = [alpha for alpha in alphas if spike.share(alpha) >= spike.at_least]
    where = f"those in {listed(_runs(alphas, holding))}" if holding else "none"
    also = ""
    if spike.loss == "L2":
        least = _least_alpha(lambda alpha: spike.share(alpha) == 1, PRINTED_ALPHA, Fraction(9, 10))
        also = f" Always reporting 2 is best from alpha = {float(least):.4f} on."
    return Claim(
        f"figure 1: {spike.key}",
        "[C] section I, figure 1",
        f"{spike.statement} (alpha = 0.62)",
        f"At alpha = 0.62: {rounded(at_printed)} under the truth that gives it least, and at most {rounded(best)} in "
        f"any mechanism of the same cost.{also} Of the alphas looked at, {where} give {rounded(spike.at_least)} or "
        "more.",
        judge(best >= float(spike.at_least)),
        "" if best >= float(spike.at_least) else "The sentence describes a stronger privacy than the caption's alpha.",
    )


def _runs(places: Sequence[Fraction], choices: Sequence[Fraction]) -> list[str]:
    """Return chosen places in words, neighbours together."""
    runs: list[list[Fraction]] = []
    for before, place in zip([None, *places], places, strict=False):
        if place in choices:
            if before in choices:
                runs[-1].append(place)
            else:
                runs.append([place])
    return [f"{float(run[0]):g}" if len(run) == 1 else f"{float(run[0]):g} to {float(run[-1]):g}" for run in runs]


def most_of_any_optimum(spike: Spike, alpha: Fraction) -> float:
    """Return the most that any mechanism of least cost gives to these reports under the worst truth.

    Another linear program: the cost is held at its least value (but for 1e-9 of it) and the probability of all other
    reports, under the truth that has most of it, is minimised. What its dual bound leaves is the answer.
    """
    loss, n = losses.resolve(spike.loss), spike.n
    least = cost_of(designed(n, alpha, (), spike.loss)) * (n + 1)
    table = np.array([[int(loss.exact(i, j)) for j in range(n + 1)] for i in range(n + 1)])
    places = np.arange((n + 1) ** 2)[None, :]
    limit = -as_fraction(f"{float(least) * (1 + 1e-9):.15g}")
    cheap = Property(
        "least cost", "least cost", "The expected loss is the least possible.", "[C] definition 3",
        lambda truths, reports: Rows(places, -table.ravel()[None, :], ">=", limit),
    )  # fmt: skip
    others = np.ones((n + 1, n + 1), dtype=int)
    others[:, list(spike.reports)] = 0
    optimum = design(n, alpha=alpha, loss=losses.matrix(others), properties=[cheap], worst_case=True)
    return 1 - float(optimum.certificate.details["least"])


def _least_alpha(holds: Callable[[Fraction], bool], low: Fraction, high: Fraction, digits: int = 4) -> Fraction:
    """Return the least alpha, to ``digits``, from which something holds that fails at ``low`` and holds at ``high``."""
    scale = 10**digits
    below, above = int(low * scale), int(high * scale)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(Fraction(middle, scale)) else (middle, above)
    return Fraction(above, scale)


def _panels(by_panel: dict[tuple[str, int], Mechanism], title: str, subtitle: str) -> Chart:
    charts = [
        heatmap(mechanism, False, f"{loss}, n = {n}: {_LOSS_WORDS[loss]}") for (loss, n), mechanism in by_panel.items()
    ]
    return beside([_without_sentences(chart) for chart in charts], title, subtitle)


def _without_sentences(chart: Chart) -> Chart:
    """Return a heat map without its sentences, which one title above all of them has."""
    return Chart({**chart.spec, "title": {"text": chart.spec["title"]["text"]}})


def _cells(mechanisms: dict[tuple[str, int], Mechanism]) -> list[Row]:
    return [
        {"loss": loss, "n": n, "truth": i, "report": j, "probability": significant(mechanism.probability(i, j))}
        for (loss, n), mechanism in mechanisms.items()
        for i in range(n + 1)
        for j in range(n + 1)
    ]


# ------------------------------------------------------------------------------------------------ example 1


def example_1(setting: Setting) -> ExhibitResult:
    """Draw example 1: two people and alpha = 9/10; GM hardly ever reports the truth 1."""
    alpha = Fraction(9, 10)
    mechanism = geometric(2, alpha=alpha)
    middle, end, truth = mechanism.probability(1, 0), mechanism.probability(0, 0), mechanism.probability(1, 1)
    times = (mechanism.probability(1, 0) + mechanism.probability(1, 2)) / truth
    alphas = [Fraction(k, 100) for k in range(50, 100, setting.pick(5, 1))]
    rows: list[Row] = [
        {"name": f"n = {n}", "alpha": float(a), "inside": significant(_inside(geometric(n, alpha=a)))}
        for n in (2, 4, 8)
        for a in alphas
    ]
    falling = all(
        _inside(geometric(n, alpha=first)) > _inside(geometric(n, alpha=second))
        for n in (2, 4, 8)
        for first, second in pairwise(alphas)
    )
    limit = Fraction(9999, 10000)
    nearest = max(_inside(geometric(n, alpha=limit)) for n in (2, 4, 8))
    flaws = pathologies(mechanism)
    place = "[C] section II-B, example 1"
    claims = (
        Claim(
            "example 1: .47, .05, .53", place,
            "GM with n = 2 and alpha = 9/10 reports 0 for a true 1 with probability about 0.47, the truth with about "
            "0.05, and 0 for a true 0 with about 0.53.",
            f"{float(middle):.4f}, {float(truth):.4f} and {float(end):.4f} (exactly {middle}, {truth} and {end}).",
            judge([round(float(p), 2) for p in (middle, truth, end)] == [0.47, 0.05, 0.53]),
        ),
        Claim(
            "example 1: eighteen times", place,
            "For a true 1 the truth is eighteen times less likely than a wrong report.",
            f"Exactly {times} times.", judge(times == 18),
        ),
        Claim(
            "example 1: spikes without gaps", place,
            "GM has no gaps, and spikes at the ends of the range.",
            f"It is {'' if flaws['no gaps'] else 'not '}free of gaps; the worst spike: {flaws['no spikes'].where}.",
            judge(bool(flaws["no gaps"]) and not flaws["no spikes"]),
        ),
        Claim(
            "example 1: the ends take all", place,
            "As alpha approaches 1, the probability of every report but 0 and n approaches 0.",
            f"It falls at every step from alpha = {float(alphas[0])} to {float(alphas[-1])}, for n = 2, 4 and 8, and "
            f"is at most {rounded(nearest)} at alpha = {float(limit)}.",
            judge(falling and nearest < Fraction(1, 1000)),
        ),
    )  # fmt: skip
    cells = {("GM", 2): mechanism}
    charts = {
        "": heatmap(mechanism, False, "Two people, alpha = 9/10: GM reports a true 1 as 0 or 2"),
        "alpha": lines(
            rows, ["n = 2", "n = 4", "n = 8"], x="alpha", y="inside", x_title="alpha", width=440, zero=True,
            dots=False, y_title="probability of a report that is neither 0 nor n",
            title="With strong privacy GM reports only 0 and n",
            sentences=("The largest probability over all truths that GM reports anything but the ends.",),
        ),
    }  # fmt: skip
    return ExhibitResult(charts, {"": [{**row, "loss": "L0"} for row in _cells(cells)], "alpha": rows}, claims)


def _inside(mechanism: Mechanism) -> Fraction:
    """Return the largest probability, over truths, of a report that is not an end of the range."""
    n = int(mechanism.parameters["n"])
    return max(1 - entry(mechanism, i, 0) - entry(mechanism, i, n) for i in range(n + 1))


# ------------------------------------------------------------------------------------------------ figure 7


#: What the scan shows of figure 7 (n = 4): mechanism, report, and the probabilities of that report by truth.
PRINTED_CELLS: tuple[tuple[str, int, dict[int, float]], ...] = (
    ("GM", 1, {1: 0.048, 2: 0.043, 3: 0.039, 4: 0.036}),
    ("EM", 1, {0: 0.203, 2: 0.203, 3: 0.185}),
    ("WH", 1, {1: 0.2, 2: 0.182, 3: 0.165}),
)

#: The whole row of report 1 of the paper's WM, as far as the scan shows it: by truth 0 to 4.
PRINTED_WM = (0.195, 0.2, 0.182, 0.165, 0.182)

#: What section I says of the probability of truth under a uniform prior.
PRINTED_TRUTH = {"EM": 0.224, "GM": 0.238}


def small_groups(setting: Setting) -> ExhibitResult:
    """Draw figure 7: GM, WM and EM for four people."""
    n, alphas = 4, fractions(["9/10", "10/11"])
    off = {alpha: largest_difference(n, alpha) for alpha in alphas}
    fitting = [alpha for alpha in alphas if off[alpha] <= Fraction(1, 1000)]
    alpha = Fraction(10, 11)
    mechanisms = {name: named(name, n, alpha) for name in ("GM", "EM", "WH", "WM", "UM")}
    truth = {name: 1 - utility.cost(m, "L0", exact=True) for name, m in mechanisms.items()}
    ends = {
        name: sum(m.probability(i, j) for i in range(n + 1) for j in (0, n)) / (n + 1) for name, m in mechanisms.items()
    }
    row_monotone = check(mechanisms["WH"], "RM")["RM"]
    with_rows = designed(n, alpha, ("WH", "RM", "S"))
    falls = [PRINTED_WM[k] >= PRINTED_WM[k + 1] for k in range(1, n)]
    place = "[C] section IV-D, figure 7"
    claims = (
        Claim(
            "figure 7: alpha", place,
            "The heat maps have alpha = 0.9.",
            "The printed cells differ from ours by at most "
            + " and ".join(f"{rounded(off[a])} at alpha = {a}" for a in alphas)
            + ".",
            judge(Fraction(9, 10) in fitting),
            "" if Fraction(9, 10) in fitting
            else f"Up to rounding they are those of alpha = {listed([str(a) for a in fitting])}.",
        ),
        Claim(
            "figure 7: probability of truth", "[C] section I",
            "For n = 4 and a uniform prior EM reports the truth with probability 0.224, GM with 0.238.",
            "; ".join(
                f"at alpha = {a} EM {float(1 - utility.cost(explicit_fair(n, alpha=a))):.4f}, "
                f"GM {float(1 - utility.cost(geometric(n, alpha=a))):.4f}"
                for a in alphas
            ),
            judge(
                all(round(float(truth[name]), 3) == value for name, value in PRINTED_TRUTH.items()),
                corrected=Fraction(9, 10) not in fitting,
            ),
            "These are the numbers of alpha = 10/11, not of the 0.9 that section IV-D states for the figure.",
        ),
        Claim(
            "figure 7: WM is row monotone", "[C] section IV-D, figures 6 and 7",
            "WM is row monotone (figure 6).",
            f"Report 1 of the printed WM has {', '.join(f'{p:g}' for p in PRINTED_WM)} for truths 0 to 4, which "
            + ("falls" if all(falls) else "falls and rises again")
            + f". A row monotone mechanism has the same cost: {rounded(cost_of(with_rows), 6)} against "
            f"{rounded(cost_of(mechanisms['WH']), 6)} for WH alone.",
            judge(bool(row_monotone) and cost_of(with_rows) == cost_of(mechanisms["WH"]), corrected=not all(falls)),
            "" if all(falls) else "Weak honesty has several best mechanisms. The printed one is not row monotone; the "
            "one made here, chosen among the best, is.",
        ),
        Claim(
            "figure 7: the ends", place,
            "GM and WM favour the reports 0 and 4 whatever the truth, GM far more; EM does not.",
            "Probability of reporting 0 or 4, all truths alike: "
            + ", ".join(f"{name} {percent(ends[name])}" for name in ("GM", "WH", "WM", "EM", "UM"))
            + ".",
            judge(ends["GM"] > 2 * ends["UM"] and ends["GM"] > ends["WH"] > ends["UM"] >= ends["EM"]),
        ),
        Claim(
            "figure 7: between", "[C] section I",
            "WM sits between GM and EM in how often it reports the truth.",
            f"GM {float(truth['GM']):.5f}, WH alone {float(truth['WH']):.5f}, WH with RM and CM "
            f"{float(truth['WM']):.5f}, EM {float(truth['EM']):.5f}.",
            judge(truth["GM"] > truth["WH"] > truth["WM"] > truth["EM"]),
        ),
    )  # fmt: skip
    titles = {"GM": "GM", "EM": "EM", "WH": "WM as in the figure (WH)", "WM": "WM of section V (WH, RM, CM)"}
    chart = beside(
        [_without_sentences(heatmap(mechanisms[name], False, title)) for name, title in titles.items()],
        "GM favours the ends, EM the truth, WM stands between",
        f"n = 4, alpha = 10/11. {_ROWS_ARE_TRUTHS}",
    )
    rows: list[Row] = [
        {"name": name, "truth": i, "report": j, "probability": significant(m.probability(i, j))}
        for name, m in mechanisms.items()
        for i in range(n + 1)
        for j in range(n + 1)
    ]
    summary: list[Row] = [
        {"name": name, "probability_of_truth": significant(truth[name]), "probability_of_ends": significant(ends[name])}
        for name in mechanisms
    ]
    choices = ("alpha = 10/11, which the printed cells have; the text says 0.9.",)
    return ExhibitResult({"": chart}, {"": rows, "summary": summary}, claims, choices)


def largest_difference(n: int, alpha: Fraction) -> float:
    """Return how far the cells that the scan shows are from ours at most."""
    return max(
        abs(float(named(name, n, alpha).probability(truth, report)) - printed)
        for name, report, cells in PRINTED_CELLS
        for truth, printed in cells.items()
    )
