"""The numbered statements of [S]: propositions 1, 2 and 4, (3), (7), (8), (16), lemmas 1, 2 and 4, theorems 1 and 2.

Almost everything here is decided in fractions, on laws and parameters drawn at random; only the linear programs of
proposition 2 are solved in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from discreet.exact.laws import Finite
from discreet.mechanisms.bounded import PaperFormulas, growth, law_of, moment, paper_formulas, symmetric_law
from discreet.mechanisms.fair import explicit_fair
from discreet.mechanisms.geometric import geometric
from discreet.optimise.noise.bounded import bounded_noise
from discreet.optimise.noise.programs import NoiseProgram, NoiseRequirements
from discreet.wording import listed, plural, rounded

from ..claims import Claim, judge
from ..papers import mixture_law, two_point_law, two_point_shares
from ..study import ExhibitResult, Row, Setting
from .numbers import EXAMPLE
from .over_truth import COUNTEREXAMPLE

#: Probabilities of the truth, and epsilons, at which statements are tried.
STAYS = tuple(Fraction(text) for text in ("1/5", "1/2", "4/5"))
EPSILONS = tuple(Fraction(text) for text in ("0", "1/2", "11/10", "11/5"))

#: Optima of linear programs in floating point are this close.
SAME = 1e-8


def draw(setting: Setting) -> ExhibitResult:
    """Judge every statement, each on many cases."""
    rng = setting.generator("laws")
    claims = (
        _proposition_1(setting),
        _equation_3(setting, rng),
        *_example_1(rng),
        *_programs(setting),
        _equation_16(),
        *_lower_bounds(setting, rng),
        _lemma_4(setting),
        _theorem_2(setting),
        *_remarks(),
    )
    rows: list[Row] = [{"claim": claim.key, "place": claim.place, "verdict": claim.verdict.value} for claim in claims]
    return ExhibitResult({}, {"": rows}, claims)


def has_p1_to_p3(law: Finite, stay: Fraction, count: int, reach: int) -> bool:
    """Return True if noise for a count stays in [-min(n, D), D], has eta at 0, and has no bias."""
    inside = -min(count, reach) <= law.low and law.low + len(law.weights) - 1 <= reach
    return inside and law.probability(0) == stay and moment(law, 1) == 0


def _proposition_1(setting: Setting) -> Claim:
    largest = setting.pick(4, 8)
    tried = [
        has_p1_to_p3(two_point_law(stay, -below, above), stay, n, reach)
        for reach in range(1, largest + 1)
        for n in range(1, reach + 2)
        for below, above in product(range(-min(n, reach), 0), range(1, reach + 1))
        for stay in STAYS
    ]
    return Claim(
        "proposition 1", "[S] proposition 1, (2)",
        "For all i1 and i2 the two-point law satisfies P1 to P3.",
        f"Exactly, for {sum(tried)} of {len(tried)} choices of n, D up to {largest}, i1, i2 and eta.",
        judge(all(tried)),
    )  # fmt: skip


def random_unbiased_law(rng: np.random.Generator, stay: Fraction, below: int, above: int) -> Finite:
    """Return an unbiased law on [-below, above], drawn without two-point laws: both sides have equal moments."""
    sides = [{z: Fraction(int(rng.integers(0, 20))) for z in range(1, end + 1)} for end in (below, above)]
    for side, end in zip(sides, (below, above), strict=True):
        side[end] += 1  # so that neither side is empty
    first, second = (sum((z * w for z, w in side.items()), Fraction(0)) for side in sides)
    weights = {-z: w * second for z, w in sides[0].items()} | {z: w * first for z, w in sides[1].items()}
    total = sum(weights.values(), Fraction(0))
    return law_of({0: stay, **{z: (1 - stay) * w / total for z, w in weights.items()}})


def random_shares(rng: np.random.Generator, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Fraction]:
    """Return rational shares that add up to one."""
    weights = [int(weight) for weight in rng.integers(1, 30, len(pairs))]
    return {pair: Fraction(weight, sum(weights)) for pair, weight in zip(pairs, weights, strict=True)}


def _equation_3(setting: Setting, rng: np.random.Generator) -> Claim:
    mixed, taken_apart = [], []
    for _ in range(setting.pick(60, 1_000)):
        reach, count = int(rng.integers(1, 7)), int(rng.integers(1, 9))
        stay = STAYS[int(rng.integers(len(STAYS)))]
        below = min(count, reach)
        shares = random_shares(rng, list(product(range(-below, 0), range(1, reach + 1))))
        mixed.append(has_p1_to_p3(mixture_law(stay, shares), stay, count, reach))
        law = random_unbiased_law(rng, stay, below, reach)
        again = mixture_law(stay, two_point_shares(law))
        taken_apart.append(all(again.probability(z) == law.probability(z) for z in range(-below, reach + 1)))
    return Claim(
        "equation 3", "[S] (3)",
        "Every convex combination of two-point laws meets P1 to P3, and so gives general noise with these properties.",
        f"Exactly, {sum(mixed)} of {len(mixed)} random combinations do; and {sum(taken_apart)} of {len(taken_apart)} "
        "random laws with P1 to P3 are such a combination, found by matching moments.",
        judge(all(mixed) and all(taken_apart)),
    )  # fmt: skip


#: Example 1: the pairs (i1, i2) of each count, and the entries of (5) by count and z, as pairs of a share's factor.
_PAIRS = {1: ((-1, 1), (-1, 2)), 2: ((-2, 1), (-2, 2), (-1, 1), (-1, 2)), 3: ((-2, 1), (-2, 2), (-1, 1), (-1, 2))}
_WIDE = {
    -2: {(-2, 2): "1/4", (-2, 1): "1/6"}, -1: {(-1, 1): "1/4", (-1, 2): "1/3"}, 1: {(-1, 1): "1/4", (-2, 1): "1/3"},
    2: {(-2, 2): "1/4", (-1, 2): "1/6"},
}  # fmt: skip
_ENTRIES = {
    1: {-2: {}, -1: {(-1, 1): "1/4", (-1, 2): "1/3"}, 1: {(-1, 1): "1/4"}, 2: {(-1, 2): "1/6"}}, 2: _WIDE, 3: _WIDE,
}  # fmt: skip


def _example_1(rng: np.random.Generator) -> tuple[Claim, ...]:
    half = Fraction(1, 2)
    agree = []
    for _ in range(20):
        for n, pairs in _PAIRS.items():
            shares = random_shares(rng, pairs)
            law = mixture_law(half, shares)
            for z, parts in _ENTRIES[n].items():
                printed = sum((Fraction(factor) * shares[pair] for pair, factor in parts.items()), Fraction(0))
                agree.append(law.probability(z) == printed)
            agree.append(law.probability(0) == half)
    first, second = two_point_law(half, 1, 1), two_point_law(half, 1, 2)
    laws = [[law.probability(z) for z in (-1, 0, 1, 2)] for law in (first, second)]
    expected = [[Fraction(1, 4), half, Fraction(1, 4), 0], [Fraction(1, 3), half, 0, Fraction(1, 6)]]
    return (
        Claim(
            "example 1", "[S] example 1, (4) to (6)",
            "For N = 3, eta = 1/2 and D = 2 the laws are those of (4), and (5) and (6) their combinations.",
            f"(4) exactly; {sum(agree)} of {len(agree)} entries of (5), and so of (6), agree as fractions over 20 "
            "random choices of the shares.",
            judge(laws == expected and all(agree)),
            "The text at hand has the first law of (4) without its 1/4 at z = 1, which (5) has.",
        ),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ the linear program


def least_single_delta(epsilon: Fraction, stay: Fraction, reach: int, largest: int) -> float:
    """Return the optimum of (9) to (13), in the shares alpha of the two-point laws, by an LP of its own.

    >>> 0 < least_single_delta(Fraction(1), Fraction(1, 2), 2, 3) < 0.5
    True
    """
    from scipy.optimize import linprog

    E = math.exp(epsilon)
    pairs = {n: list(product(range(-min(n, reach), 0), range(1, reach + 1))) for n in range(1, largest + 1)}
    at = {key: j for j, key in enumerate((n, pair) for n in pairs for pair in pairs[n])}
    width = len(at) + 1

    def report(n: int, y: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        row = np.zeros(width)
        for below, above in pairs[n]:
            law = {
                below: (1 - float(stay)) * above / (above - below), 0: float(stay),
                above: (1 - float(stay)) * -below / (above - below),
            }  # fmt: skip
            row[at[n, (below, above)]] = law.get(y - n, 0.0)
        return row

    most = []
    for n, other in [(n, n + step) for n in pairs for step in (1, -1) if 1 <= n + step <= largest]:
        for y in range(largest + reach + 1):
            row = report(n, y) - E * report(other, y)
            row[-1] = -1.0
            most.append(row)
    equal = np.array([[float(key[0] == n) for key in at] + [0.0] for n in pairs])
    cost = np.zeros(width)
    cost[-1] = 1.0
    solution = linprog(cost, A_ub=np.array(most), b_ub=np.zeros(len(most)), A_eq=equal, b_eq=np.ones(len(pairs)))
    return float(solution.fun)


def single_report_excess(laws: Sequence[Finite], E: Fraction) -> Fraction:
    """Return the largest p(y | n) - E p(y | n') over reports y and neighbouring counts, from the laws of the counts."""
    return max(
        here.probability(z) - E * there.probability(z - step)
        for one, two in pairwise(laws)
        for here, there, step in ((one, two, 1), (two, one, -1))
        for z in range(here.low, here.low + len(here.weights))
    )


def set_excess(laws: Sequence[Finite], E: Fraction) -> Fraction:
    """Return the same over sets of reports, as differential privacy asks: the sum of the positive parts."""
    return max(
        sum(
            (
                max(Fraction(0), here.probability(z) - E * there.probability(z - step))
                for z in range(here.low, here.low + len(here.weights))
            ),
            Fraction(0),
        )
        for one, two in pairwise(laws)
        for here, there, step in ((one, two, 1), (two, one, -1))
    )


def _programs(setting: Setting) -> tuple[Claim, ...]:
    settings = [
        (Fraction(epsilon), Fraction(stay), reach, largest)
        for epsilon, stay in (("1/2", "1/2"), ("11/10", "1/2"), ("11/5", "4/5"))
        for reach, largest in setting.pick(((2, 3), (3, 5)), ((1, 4), (2, 3), (2, 6), (3, 5), (4, 6), (4, 9)))
    ]
    away, kept, ratios = [], [], []
    for epsilon, stay, reach, largest in settings:
        requirements = NoiseRequirements(epsilon, reach, 1, largest, stay, largest=True, single_event=True)
        program = NoiseProgram(requirements)
        solution = program.least_delta()
        laws = program.laws(solution)
        assert laws is not None, "these programs are solved to enough digits"
        least, E = float(solution.cost), growth(epsilon)
        away.append(abs(least_single_delta(epsilon, stay, reach, largest) - least))
        single = float(single_report_excess(laws, E))
        kept.append(abs(single - least) < SAME)
        ratios.append(float(set_excess(laws, E)) / single)
    return (
        Claim(
            "proposition 2", "[S] proposition 2, (9) to (13)",
            "The least delta is the optimum of a linear program in the shares of the two-point laws.",
            f"It is that of the program (7), (8) in the probabilities themselves, solved by other code, in "
            f"{sum(one < SAME for one in away)} of {len(settings)} settings with D up to {max(s[2] for s in settings)} "
            f"and N up to {max(s[3] for s in settings)}; at most {max(away):.0e} apart.",
            judge(max(away) < SAME),
        ),
        Claim(
            "equations 7 and 8", "[S] (7), (8) and remark 1",
            "delta* is the smallest delta with which every single report is private; differential privacy has another.",
            f"In {sum(kept)} of {len(settings)} optima the largest excess of a single report, in fractions, is the "
            f"program's optimum. Over sets of reports the same laws have {rounded(min(ratios))} to "
            f"{rounded(max(ratios))} times as much.",
            judge(all(kept) and min(ratios) >= 1 - SAME),
            "The constraints begin at n = 1: whether a count is 0 or 1 is not protected.",
        ),
    )  # fmt: skip


def _equation_16() -> Claim:
    epsilon, stay, reach = EXAMPLE
    paper = PaperFormulas(Fraction(epsilon), Fraction(stay), reach)
    made = bounded_noise(epsilon, stay, reach, kind="sadeghi")
    side = {0: paper.stay, **dict(enumerate(paper.side, 1))}
    columns = {
        n: [side.get(abs(y - n), Fraction(0)) for y in range(3 * reach + 1)] for n in range(reach, 2 * reach + 1)
    }
    whole = [sum(column, Fraction(0)) == 1 for column in columns.values()]
    same = [
        abs(Fraction(made.probability(n, y)) - p) < Fraction(1, 2**60)
        for n, column in columns.items()
        for y, p in enumerate(column)
    ]
    return Claim(
        "equation 16", "[S] (16)",
        "For N = 2D the mechanism is a matrix with the columns n = D to 2D and the rows y = 0 to 3D, each column the "
        "one before it, moved down by one.",
        f"At epsilon {epsilon}, eta {stay} and D = {reach}: {sum(whole)} of {len(whole)} columns add up to 1 exactly, "
        f"and {sum(same)} of {len(same)} entries are the mechanism's (to 2^-60).",
        judge(all(whole) and all(same)),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ lemmas, theorems


def _random_side(rng: np.random.Generator, paper: PaperFormulas) -> list[Fraction]:
    weights = [int(weight) for weight in rng.integers(0, 12, paper.reach)]
    weights[int(rng.integers(paper.reach))] += 1
    return [paper.mass * Fraction(weight, sum(weights)) for weight in weights]


def _lower_bounds(setting: Setting, rng: np.random.Generator) -> tuple[Claim, ...]:
    """Judge lemmas 1 and 2, theorem 1 and proposition 4 on laws (14) with random shares and those of definition 2."""
    needed, enough, first, second, largest = [], [], [], [], []
    counterexample = paper_formulas(*COUNTEREXAMPLE)
    tried = [(counterexample, list(counterexample.side))]
    for _ in range(setting.pick(80, 1_500)):
        stay = Fraction(int(rng.integers(1, 20)), 20)
        paper = PaperFormulas(EPSILONS[int(rng.integers(1, len(EPSILONS)))], stay, int(rng.integers(1, 8)))
        tried.append((paper, list(paper.side) if rng.random() < 0.3 else _random_side(rng, paper)))
    for paper, side in tried:
        stay, law, E = paper.stay, symmetric_law(paper.stay, side), paper.factor
        delta = single_report_excess([law, law], E)
        steps = [stay - E * side[0], *(one - E * two for one, two in pairwise(side)), side[-1]]
        needed.append(max(steps) <= delta)
        enough.append(max(steps) == delta)
        first.append(all(delta >= bound for bound in paper.deltas[:-1]))
        second.append(delta >= paper.deltas[-1])
        largest.append(delta >= paper.printed_delta_star)
    number = len(needed)
    return (
        Claim(
            "proposition 4", "[S] proposition 4, (17) to (19)",
            "delta* satisfies (17) to (19), which compare consecutive columns of (16).",
            f"Exactly, the single-report delta of {sum(needed)} of {number} laws (14) satisfies them. It is the least "
            f"delta that does in {sum(enough)}; in the other {number - sum(enough)} a comparison that they leave out "
            "is the largest.",
            judge(all(needed), corrected=not all(enough)),
            "Left out are p(1) <= E eta + delta and p(i+1) <= E p(i) + delta: (17) to (19) are necessary and do not "
            "suffice, which is where theorem 3 fails.",
        ),
        Claim(
            "lemma 1", "[S] lemma 1, (23)", "delta* is at least delta_k, for k from 1 to D.",
            f"Exactly, for {sum(first)} of {number} random laws (14).", judge(all(first)),
        ),
        Claim(
            "lemma 2", "[S] lemma 2, (32)", "delta* is at least delta_(D+1).",
            f"Exactly, for {sum(second)} of {number} random laws (14).", judge(all(second)),
        ),
        Claim(
            "theorem 1", "[S] theorem 1", "delta* is at least the largest of delta_1 to delta_(D+1).",
            f"Exactly, for {sum(largest)} of {number} random laws (14).", judge(all(largest)),
            "As a bound. That it is always reached (theorem 3) fails at small eta.",
        ),
    )  # fmt: skip


def step_of_36(E: Fraction, k: int) -> Fraction:
    """Return C_k - C_(k+1) by (36)."""
    powers = [E**j for j in range(k + 1)]
    over = sum((power * (j + 1) for j, power in enumerate(powers)), Fraction(0))
    under = [sum((powers[j] * (m - j) for j in range(m)), Fraction(0)) for m in (k, k + 1)]
    return over / (under[0] * under[1])


def _lemma_4(setting: Setting) -> Claim:
    longest = setting.pick(8, 30)
    falls, agree = [], []
    for epsilon in EPSILONS:
        paper = PaperFormulas(epsilon, Fraction(1, 2), longest + 1)
        for k, (one, two) in enumerate(pairwise(paper.crossovers), 1):
            falls.append(one > two)
            agree.append(one - two == step_of_36(paper.factor, k))
    return Claim(
        "lemma 4", "[S] lemma 4, (36)", "The crossovers C_k are strictly decreasing, by the difference (36).",
        f"Exactly, {sum(falls)} of {len(falls)} steps fall, and {sum(agree)} by just (36), with D up to {longest} and "
        f"epsilon {listed([f'{float(epsilon):g}' for epsilon in EPSILONS])}.",
        judge(all(falls) and all(agree)),
    )  # fmt: skip


def _theorem_2(setting: Setting) -> Claim:
    between, ties = [], []
    for epsilon, reach in product(EPSILONS[1:], setting.pick((3, 6), (1, 2, 3, 5, 8, 12))):
        start = PaperFormulas(epsilon, Fraction(1, 2), reach)
        ends = [2 * start.crossovers[0], *start.crossovers, Fraction(0)]
        for k, (above, below) in enumerate(pairwise(ends), 1):
            inside = replace(start, stay=_stay_of((above + below) / 2)).deltas
            between.append([j for j, delta in enumerate(inside, 1) if delta == max(inside)] == [k])
            if k <= reach:
                at = replace(start, stay=_stay_of(below)).deltas
                ties.append([j for j, delta in enumerate(at, 1) if delta == max(at)] == [k, k + 1])
    return Claim(
        "theorem 2", "[S] theorem 2",
        "delta_k is the largest of the lower bounds if and only if C_k < C <= C_(k-1).",
        f"Exactly, between two crossovers delta_k is the only largest one in {sum(between)} of {len(between)} cases; "
        f"at the crossover C = C_k itself delta_k and delta_(k+1) are both the largest, in {sum(ties)} of {len(ties)}.",
        judge(all(between), corrected=any(ties)),
        "At C = C_k delta_k is a largest one although C_k < C does not hold: “only if” needs C_k <= C.",
    )  # fmt: skip


def _stay_of(odds: Fraction) -> Fraction:
    """Return the probability of the truth whose odds C = 2 eta/(1 - eta) are these."""
    return odds / (2 + odds)


# ------------------------------------------------------------------------------------------------ bias and support


def _remarks() -> tuple[Claim, ...]:
    alphas, sizes = [Fraction(text) for text in ("1/2", "9/10", "10/11")], range(2, 13)
    biased = even = whole = 0
    uneven = []
    for n, alpha in product(sizes, alphas):
        fair, plain = explicit_fair(n, alpha=alpha), geometric(n, alpha=alpha)
        table = [[Fraction(fair.probability(x, y)) for y in range(n + 1)] for x in range(n + 1)]
        bias = [sum((y * p for y, p in enumerate(row)), Fraction(0)) - x for x, row in enumerate(table)]
        biased += any(bias)
        even += bias[n // 2] == 0 if n % 2 == 0 else 0
        whole += all(p > 0 for row in table for p in row) and all(
            Fraction(plain.probability(x, y)) > 0 for x in range(n + 1) for y in range(n + 1)
        )
        uneven.append(Fraction(plain.probability(1, 1)) != Fraction(plain.probability(0, 0)))
    settings = len(sizes) * len(alphas)
    near_one = geometric(8, alpha="999/1000")
    ends = min(Fraction(near_one.probability(x, 0)) + Fraction(near_one.probability(x, 8)) for x in range(9))
    paper = PaperFormulas(Fraction("11/10"), Fraction(1, 2), 8)
    mean = float(sum((i * p for i, p in enumerate(paper.side, 1)), Fraction(0)))
    return (
        Claim(
            "section I: the bias of EM", "[S] section I, on [C]", "The noise of EM adds bias: E[Y | n] is not n.",
            f"Exactly, for some truth in {biased} of {settings} settings (n = 2 to 12); the middle truth of an even n "
            f"has none, in {even} of {settings * 6 // 11}.",
            judge(biased == settings),
        ),
        Claim(
            "section I: the support of EM and GM", "[S] section I, on [C]",
            "EM and the truncated geometric mechanism do not restrict the support: every output has a positive "
            "probability.",
            f"Exactly, in {whole} of {settings} settings (n = 2 to 12).", judge(whole == settings),
        ),
        Claim(
            "section I: the uneven accuracy of GM", "[S] section I, on [C]",
            "The error of the geometric mechanism depends on the true count; as epsilon goes to 0 it reports the "
            "two extremes.",
            f"Exactly, ends and inside differ in {sum(uneven)} of {len(uneven)} settings; at alpha = 999/1000 and n = "
            f"8 the two extremes have probability {rounded(ends, 5)} or more for every truth.",
            judge(all(uneven) and ends > Fraction(99, 100)),
        ),
        Claim(
            "footnote 1", "[S] P1, footnote 1",
            "Reports above the largest count N are negligible if N is much larger than D.",
            f"At epsilon 1.1, eta 0.5 and D = 8, for counts spread evenly over 1 to N: {rounded(mean / 100)} of "
            f"reports for N = 100, {rounded(mean / 10_000)} for N = 10,000. A count of N itself is exceeded with "
            f"probability {rounded(paper.mass)}, whatever N is.",
            judge(True, vague=True),
            "“Negligible” has no number, and counts near N are another matter than counts on average.",
        ),
        Claim(
            "footnote 2", "[S] P3, footnote 2",
            "For n = 0 zero bias is impossible together with eta < 1 and P1.",
            "Noise for 0 lies in [0, D], so that its mean is at least 1 - eta: "
            + listed([f"{1 - stay} at eta = {stay}" for stay in STAYS], "and")
            + f", reached by an error of 1 ({plural(len(STAYS), 'case')}).",
            judge(all(moment(law_of({0: stay, 1: 1 - stay}), 1) == 1 - stay > 0 for stay in STAYS)),
        ),
    )  # fmt: skip
