"""The numbered statements of [C]: lemmas 1 to 3, theorems 1 and 2, n = 1 and the uniform mechanism."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction

from discreet.checking import check
from discreet.mechanism import Mechanism
from discreet.mechanisms.geometric import geometric
from discreet.mechanisms.response import randomized_response, uniform
from discreet.optimise.design.chooser import cost_of
from discreet.optimise.design.design import design
from discreet.optimise.improve.structure import symmetrise
from discreet.plots.chart import INK, PALETTE, SHAPES, Chart, Spec, finish
from discreet.utility import cost
from discreet.wording import plural, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Setting
from ..tables import significant
from .named import SEVEN, designed, fractions, rescaled, solved, weakly_honest_from

#: Alphas on both sides of every threshold of the lemmas.
ALPHAS = fractions(
    ["1/10", "1/5", "1/3", "2/5", "499/1000", "1/2", "501/1000", "3/5", "2/3", "3/4", "4/5", "17/20", "9/10", "10/11",
     "19/20"]
)  # fmt: skip

#: The largest n that is drawn, and the alphas that are too close to others.
MOST_DRAWN = 20
NOT_DRAWN = {"499/1000", "501/1000", "10/11"}

#: Weights that are not symmetric: small counts are likelier.
SKEWED = {n: [Fraction(2 ** (n - j), 2 ** (n + 1) - 1) for j in range(n + 1)] for n in range(1, 9)}


@dataclass(frozen=True)
class LemmaCheck:
    """Which properties GM has for one n and alpha, and what lemmas 2 and 3 say."""

    n: int
    alpha: str
    alpha_value: float
    weakly_honest: bool
    column_honest: bool
    column_monotone: bool
    lemma_2: bool
    lemma_3: bool

    @property
    def name(self) -> str:
        """What GM has, for the legend."""
        return "WH and CM" if self.column_monotone else "WH" if self.weakly_honest else "neither"


def statements(setting: Setting) -> ExhibitResult:
    """Draw lemmas 1 to 3, theorems 1 and 2, randomised response and the uniform mechanism."""
    sizes = range(1, setting.pick(13, 41))
    rows: list[LemmaCheck] = []
    for n in setting.progress(sizes, "lemmas 2 and 3"):
        for alpha in ALPHAS:
            held = check(geometric(n, alpha=alpha), "WH+CH+CM")
            rows.append(
                LemmaCheck(
                    n=n,
                    alpha=str(alpha),
                    alpha_value=significant(alpha),
                    weakly_honest=bool(held["WH"]),
                    column_honest=bool(held["CH"]),
                    column_monotone=bool(held["CM"]),
                    lemma_2=n >= weakly_honest_from(alpha),
                    lemma_3=alpha <= Fraction(1, 2),
                )
            )
    claims = (
        _lemma_1(setting),
        _lemma(
            rows,
            "2",
            "GM is weakly honest exactly when n >= 2a/(1-a).",
            [row for row in rows if row.weakly_honest != row.lemma_2],
        ),
        _lemma(
            rows,
            "3",
            "GM is column monotone exactly when alpha <= 1/2.",
            [row for row in rows if row.column_monotone != row.lemma_3],
        ),
        _proof_of_lemma_3(),
        _honest_like_monotone(rows),
        _theorem_1(setting),
        _worst_case(),
        _theorem_2(setting),
        _randomised_response(),
        _uniform(sizes),
    )
    return ExhibitResult({"": _regions(rows)}, {"": [asdict(row) for row in rows]}, claims)


def _lemma(rows: list[LemmaCheck], number: str, statement: str, wrong: list[LemmaCheck]) -> Claim:
    """Judge lemma 2 or 3, and where an exact check says otherwise."""
    beyond = [row for row in wrong if row.n != 1]
    return Claim(
        f"lemma {number}", f"[C] lemma {number}", statement,
        f"Right in {len(rows) - len(wrong)} of {len(rows)} settings, checked exactly; of the {len(wrong)} others "
        f"{len(wrong) - len(beyond)} have n = 1.",
        judge(not beyond, corrected=bool(wrong)),
        "It holds for n >= 2. For n = 1 GM is randomised response and has all seven properties for every alpha: there "
        "is no entry inside."
        if wrong
        else "",
    )  # fmt: skip


def _proof_of_lemma_3() -> Claim:
    """Judge that the inequality in the proof is the wrong way round."""
    tried = {alpha: geometric(4, alpha=alpha) for alpha in ALPHAS}
    printed = [alpha for alpha, m in tried.items() if m.probability(1, 1) <= m.probability(1, 0)]
    turned = [alpha for alpha, m in tried.items() if m.probability(1, 1) >= m.probability(1, 0)]
    monotone = [alpha for alpha, m in tried.items() if check(m, "CM")["CM"]]
    return Claim(
        "lemma 3: its proof", "[C] lemma 3, proof",
        "The proof asks for Pr[1|1] <= Pr[0|1], and derives alpha <= 1/2 from it.",
        f"Of {len(tried)} alphas (n = 4), GM is column monotone for {len(monotone)}; the printed inequality holds for "
        f"{len(printed)}, the turned one for {len(turned)}"
        f"{', the same ones' if turned == monotone else ', others'}.",
        judge(printed == monotone),
        "" if printed == monotone else "The inequality is reversed: Pr[1|1] >= Pr[0|1], y >= a x, gives alpha <= 1/2. "
        "The lemma itself is right.",
    )  # fmt: skip


def _honest_like_monotone(rows: list[LemmaCheck]) -> Claim:
    same = sum(row.column_honest == row.column_monotone for row in rows)
    return Claim(
        "section IV-B: column honesty of GM", "[C] sections IV-B and IV-D",
        "GM has the column properties together: for alpha <= 1/2.",
        f"Column honest exactly where it is column monotone in {same} of {len(rows)} settings.",
        judge(same == len(rows)),
    )  # fmt: skip


def _lemma_1(setting: Setting) -> Claim:
    """Judge that the fair mechanism is the best for all weights under L0, not under L1."""
    alpha = Fraction(3, 4)
    tried = [(n, loss) for loss in ("L0", "L1", "L2") for n in setting.pick((3, 4), (2, 3, 4, 5, 6))]
    extra = {}
    for n, loss in tried:
        even = designed(n, alpha, ("F",), loss)
        best = design(n, alpha=alpha, loss=loss, properties=["F"], prior=SKEWED[n])
        extra[n, loss] = cost(even, loss, SKEWED[n], exact=True) / cost_of(best) - 1
    wrong = {loss: max(value for (_, which), value in extra.items() if which == loss) for loss in ("L0", "L1", "L2")}
    return Claim(
        "lemma 1", "[C] lemma 1",
        "A fair mechanism that is best for some weights is best for all weights: its cost is 1 - y under all of them.",
        f"At alpha = 3/4, the fair mechanism that is best for equal weights costs {rounded(100 * wrong['L0'])}% more "
        f"than the best for weights that halve at each count under L0, and up to "
        f"{rounded(100 * wrong['L1'])}% more under L1 and {rounded(100 * wrong['L2'])}% under L2.",
        judge(wrong["L0"] == 0, corrected=wrong["L1"] > 0 and wrong["L2"] > 0),
        "True of L0, which the proof uses. It does not carry over to L1 and L2, whose cost is not 1 - y.",
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ theorem 1


def lopsided(n: int, alpha: Fraction, codes: tuple[str, ...]) -> Mechanism:
    """Return a mechanism with these properties that is not symmetric: the best under weights that are not."""
    return design(n, alpha=alpha, loss="L1", properties=codes, prior=SKEWED[n])


def _theorem_1(setting: Setting) -> Claim:
    """Judge that symmetrising keeps the properties, and the cost if the weights are symmetric."""
    alpha = Fraction(3, 4)
    sets = [(), ("RH",), ("RM",), ("CH",), ("CM",), ("F",), ("WH",), ("RM", "CM", "WH")]
    tried = [(n, codes) for n in setting.pick((3,), (2, 3, 4, 5)) for codes in sets]
    same, even, uneven, symmetric = [], [], [], []
    for n, codes in tried:
        before = lopsided(n, alpha, codes)
        after = symmetrise(before)
        held_before = {code for code, result in check(before).items() if result.holds}
        held_after = {code for code, result in check(after).items() if result.holds}
        same.append(held_before <= held_after and after.certificate.epsilon <= before.certificate.epsilon)
        symmetric.append("S" in held_after)
        even.append(cost(before, "L0", exact=True) == cost(after, "L0", exact=True))
        uneven.append(cost(after, "L0", SKEWED[n], exact=True) / cost(before, "L0", SKEWED[n], exact=True) - 1)
    moved = [change for change in uneven if change]
    return Claim(
        "theorem 1", "[C] theorem 1",
        "Every mechanism can be made symmetric; the symmetric one keeps its properties and its objective value.",
        f"Of {plural(len(tried), 'mechanism')}, {sum(symmetric)} become symmetric and {sum(same)} keep every property "
        f"and their privacy. The L0 cost stays the same for equal weights in {sum(even)}; for weights that halve at "
        f"each count it changes in {len(moved)}, by up to {rounded(100 * max(map(abs, uneven)))}%.",
        judge(all(same) and all(symmetric) and all(even), corrected=bool(moved)),
        "The objective keeps its value for symmetric weights only; definition 3 allows any weights.",
    )  # fmt: skip


def _worst_case() -> Claim:
    """Judge that the objective may fall with max in place of the sum."""
    alpha = Fraction(3, 4)
    before = lopsided(3, alpha, ())
    after = symmetrise(before)
    first, second = (cost(m, "L1", worst_case=True, exact=True) for m in (before, after))
    return Claim(
        "theorem 1: the worst case", "[C] theorem 1 and definition 3",
        "Symmetrising keeps the objective value; the operator of definition 3 may be a maximum over truths.",
        f"The largest expected error of any truth goes from {rounded(first, 5)} to {rounded(second, 5)} (n = 3, alpha "
        "= 3/4).",
        judge(second <= first, corrected=second != first),
        "A maximum can only fall, and does here; it need not stay the same." if second != first else "",
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ theorem 2 and on


def _theorem_2(setting: Setting) -> Claim:
    """Judge that every set of properties can be met, since the uniform mechanism has all of them."""
    tried = [(n, alpha) for n in setting.pick((2, 9), (2, 3, 9, 20)) for alpha in fractions(["1/3", "9/10"])]
    having = sum(check(uniform(n)).holds for n, _ in tried)
    count = sum(check(designed(n, alpha, SEVEN, "L1")).holds for n, alpha in tried)
    return Claim(
        "theorem 2", "[C] theorem 2, definition 5",
        "Every set of the properties can be met, and the best mechanism found by a linear program: the uniform "
        "mechanism has all seven.",
        f"The uniform mechanism has all seven in {having} of {len(tried)} settings; the best under L1 with all seven "
        f"was found and checked exactly in {count}.",
        judge(having == count == len(tried)),
    )  # fmt: skip


def _randomised_response() -> Claim:
    """Judge that for n = 1 randomised response is best under every loss, and has all properties."""
    alphas = fractions(["1/10", "1/2", "9/10"])
    best, seven = [], []
    for alpha in alphas:
        response = randomized_response(2, alpha=alpha)
        table = [[response.probability(i, j) for j in range(2)] for i in range(2)]
        for loss in ("L0", "L1", "L2"):
            optimum = designed(1, alpha, (), loss)
            same = [[optimum.probability(i, j) for j in range(2)] for i in range(2)] == table
            best.append(same and solved(1, alpha, (), loss).cost == cost(table, loss, exact=True))
        seven.append(check(geometric(1, alpha=alpha)).holds)
    return Claim(
        "section IV-A: n = 1", "[C] section IV-A",
        "For n = 1 randomised response is the best mechanism under every loss, and has all seven properties.",
        f"The best mechanism under L0, L1 and L2 is randomised response in {sum(best)} of {len(best)} settings, also "
        f"by the linear program; it has all seven in {sum(seven)} of {len(seven)}.",
        judge(all(best) and all(seven)),
    )  # fmt: skip


def _uniform(sizes: range) -> Claim:
    raw = sum(cost(uniform(n), "L0", exact=True) == Fraction(n, n + 1) for n in sizes)
    scaled = sum(rescaled(uniform(n)) == 1 for n in sizes)
    return Claim(
        "definition 5: the cost of guessing", "[C] section IV-A, definition 5",
        "The uniform mechanism costs n/(n+1) under L0, and 1 as rescaled.",
        f"Exactly so for {raw} and {scaled} of {len(sizes)} values of n.",
        judge(raw == scaled == len(sizes)),
    )  # fmt: skip


def _regions(rows: list[LemmaCheck]) -> Chart:
    """Return where GM is weakly honest and column monotone: checks as dots, lemmas as lines."""
    names = ["WH and CM", "WH", "neither"]
    chart_rows = [row for row in rows if row.n <= MOST_DRAWN and row.alpha not in NOT_DRAWN]
    largest = max(row.n for row in chart_rows)
    x = {
        "field": "alpha_value", "type": "quantitative", "title": "alpha",
        "scale": {"domain": [0, 1], "nice": False}, "axis": {"tickCount": 10},
    }  # fmt: skip
    y = {
        "field": "n", "type": "quantitative", "title": "n", "scale": {"domain": [0, largest + 1], "nice": False},
        "axis": {"tickMinStep": 1, "format": "d"},
    }  # fmt: skip
    scale = {"domain": names, "range": [PALETTE[2], PALETTE[0], PALETTE[1]]}
    shape = {"domain": names, "range": list(SHAPES[:3])}
    legend = {"title": "GM has"}
    points: Spec = {
        "data": {"values": [{**asdict(row), "name": row.name} for row in chart_rows]},
        "mark": {"type": "point", "size": 34, "tooltip": True},
        "encoding": {
            "x": x, "y": y,
            "color": {"field": "name", "type": "nominal", "sort": None, "scale": scale, "legend": legend},
            "shape": {"field": "name", "type": "nominal", "sort": None, "scale": shape, "legend": legend},
        },
    }  # fmt: skip
    edge = [{"alpha_value": k / 200, "n": 2 * (k / 200) / (1 - k / 200)} for k in range(1, 200)]
    curve: Spec = {
        "data": {"values": [place for place in edge if place["n"] <= largest + 1]},
        "mark": {"type": "line", "color": INK, "strokeWidth": 1.5},
        "encoding": {"x": x, "y": y},
    }
    rule: Spec = {
        "data": {"values": [{"alpha_value": 0.5}]},
        "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
        "encoding": {"x": x},
    }
    return finish(
        {"layer": [rule, curve, points], "width": 440, "height": 300},
        "Lemmas 2 and 3: where GM is weakly honest and column monotone",
        "Each mark is an exact check. Line: n = 2a/(1-a). Dashed: alpha = 1/2. For n = 1 "
        "GM has both for every alpha, which the lemmas overlook.",
        width=440,
    )
