"""Figure 5 of [C]: the flowchart that chooses among four mechanisms, each branch tried against the linear program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations

from discreet.optimise.design.chooser import choose
from discreet.plots import Chart, beside
from discreet.plots.chart import PALETTE
from discreet.wording import listed, plural, rounded

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .charts import grid
from .named import SEVEN, designed, fractions, named, raw, solved, weakly_honest_from

#: All sets of properties that can be asked for.
REQUESTS = tuple(codes for size in range(len(SEVEN) + 1) for codes in combinations(SEVEN, size))

#: What a request asks for, as far as the flowchart looks.
KINDS = {
    "rows only": ("S", "RM"),
    "weak honesty": ("WH",),
    "a column property": ("CM",),
    "fairness": ("F",),
}

#: Linear programs answer up to this much.
CLOSE = 1e-9


def flowchart(codes: Iterable[str], n: int, alpha: Fraction) -> str:
    """Return the choice as section IV-D describes it: "EM", "GM", or which linear program: "WH" or "WM".

    >>> flowchart(("CM",), 4, Fraction(10, 11)), flowchart(("WH",), 20, Fraction(10, 11))
    ('WM', 'GM')
    """
    required = set(codes)
    if "F" in required:
        return "EM"
    if alpha <= Fraction(1, 2):
        return "GM"
    if required & {"CH", "CM"}:
        return "WM"
    if "WH" in required and n < weakly_honest_from(alpha):
        return "WH"
    return "GM"


@dataclass(frozen=True)
class Answered:
    """One request: the flowchart's choice and the linear program's answer."""

    n: int
    alpha: str
    properties: str
    chosen: str
    cost: float
    cost_of_program: float
    equal: bool
    gap_is_closed: bool


def chooser(setting: Setting) -> ExhibitResult:
    """Draw figure 5: all 128 requests answered by the flowchart and by the linear program."""
    settings = [
        (n, alpha)
        for n, alphas in setting.pick(
            {2: ["3/4"], 3: ["1/2", "9/10"]},
            {
                1: ["1/2", "9/10"], 2: ["1/3", "1/2", "3/4"], 3: ["1/2", "2/3", "9/10"],
                4: ["2/5", "3/5", "10/11"], 5: ["3/4", "99/100"], 6: ["1/2", "3/4"],
            },
        ).items()
        for alpha in fractions(alphas)
    ]  # fmt: skip
    rows: list[Answered] = []
    for n, alpha in setting.progress(settings, "128 requests"):
        for codes in REQUESTS:
            name = flowchart(codes, n, alpha)
            answer = solved(n, alpha, codes)
            cost = raw(named(name, n, alpha))
            rows.append(
                Answered(
                    n=n,
                    alpha=str(alpha),
                    properties="+".join(codes),
                    chosen=name,
                    cost=significant(cost),
                    cost_of_program=significant(answer.cost),
                    equal=cost == answer.cost,
                    gap_is_closed=answer.gap <= CLOSE,
                )
            )
    places = {(n, alpha): [row for row in rows if (row.n, row.alpha) == (n, str(alpha))] for n, alpha in settings}
    distinct = {place: len({row.cost_of_program for row in group}) for place, group in places.items()}
    equal = sum(row.equal for row in rows)
    small = [place for place in settings if place[1] <= Fraction(1, 2)]
    at_small = {len({row.cost_of_program for row in places[place]}) for place in small}
    agreeing, requests = _agreement(settings)
    where = listed([f"({n}, {alpha})" for n, alpha in settings])
    claims = (
        Claim(
            "figure 5: the choice", "[C] section IV-D, figure 5",
            "For every set of the seven properties the flowchart names a best mechanism: EM with F; else GM where "
            "alpha <= 1/2 or it has what is asked for; else the linear program for WH, with CM where columns are "
            "asked for.",
            f"Its cost is that of the linear program, as fractions, in {equal} of {len(rows)} requests (all 128 sets "
            f"at n, alpha = {where}). dc.choose takes the same branch in {agreeing} of {requests}.",
            judge(equal == len(rows) and all(row.gap_is_closed for row in rows) and agreeing == requests),
        ),
        Claim(
            "section IV-D: at most four", "[C] sections I and IV-D",
            "The 128 sets of properties have at most four different costs under L0.",
            f"{min(distinct.values())} to {max(distinct.values())} different costs per setting, over {len(settings)} "
            "settings.",
            judge(max(distinct.values()) <= 4),
        ),
        Claim(
            "section IV-D: weak privacy", "[C] section IV-D",
            "For alpha <= 1/2 only GM and EM are needed.",
            f"At most {max(at_small)} different costs in {plural(len(small), 'setting')} with alpha <= 1/2.",
            judge(max(at_small) <= 2),
        ),
        *_free(setting),
        _sandwich(setting),
    )  # fmt: skip
    chart, cells = _map(setting)
    choices = (
        "The figure itself is lost in the scan; the flowchart is the one that section IV-D describes.",
        "Where GM is weakly honest but not column monotone, a request with CH or CM goes to the linear program.",
    )
    return ExhibitResult({"": chart}, {"": cells, "requests": [asdict(row) for row in rows]}, claims, choices)


def _agreement(settings: list[tuple[int, Fraction]]) -> tuple[int, int]:
    """Return how often ``dc.choose`` takes the branch of the flowchart, among requests of up to two properties."""
    called = {"EM": "EM", "GM": "GM", "WH": "WM", "WM": "WM"}
    tried = [(n, alpha, codes) for n, alpha in settings[-3:] for codes in REQUESTS if len(codes) <= 2]
    same = [
        choose(n, alpha=alpha, properties=codes).name == called[flowchart(codes, n, alpha)] for n, alpha, codes in tried
    ]
    return sum(same), len(tried)


def _free(setting: Setting) -> tuple[Claim, ...]:
    """Judge that S, RH and RM cost nothing on top of WH, and on top of WH and CM."""
    tried = [(n, alpha) for n in setting.pick((3, 6), (2, 3, 4, 6, 9, 12)) for alpha in fractions(["3/4", "10/11"])]
    same = {
        base: sum(solved(n, alpha, base).cost == solved(n, alpha, (*base, "S", "RM")).cost for n, alpha in tried)
        for base in (("WH",), ("WH", "CM"))
    }
    return (
        Claim(
            "section IV-D: rows are free", "[C] sections IV-D and V-A",
            "The best mechanisms with WH, and with WH and CM, can have S, RH and RM at no extra cost.",
            f"The same cost as fractions in {same['WH',]} of {len(tried)} settings for WH and in {same['WH', 'CM']} of "
            f"{len(tried)} for WH and CM.",
            judge(all(number == len(tried) for number in same.values())),
        ),
    )  # fmt: skip


_ALPHAS_IN_CHART = fractions(["2/3", "10/11", "99/100"])


def _sandwich(setting: Setting) -> Claim:
    tried = [
        (n, alpha) for n in setting.pick((2, 5), (2, 3, 5, 8, 12)) for alpha in fractions(["2/3", "10/11", "99/100"])
    ]
    costs = [[raw(named(name, n, alpha)) for name in ("GM", "WH", "WM", "EM")] for n, alpha in tried]
    ordered = sum(cost == sorted(cost) for cost in costs)
    largest = max(float(cost[-1] / cost[0] - 1) for cost in costs)
    return Claim(
        "section IV-D: between GM and EM", "[C] sections I and IV-D",
        "The cost of WM lies between that of GM and that of EM.",
        f"GM <= WH alone <= WH with RM and CM <= EM in {ordered} of {len(tried)} settings; EM costs at most "
        f"{rounded(100 * largest)}% more than GM.",
        judge(ordered == len(tried)),
    )  # fmt: skip


_COLOURS = {"GM": PALETTE[6], "WM": PALETTE[5], "EM": PALETTE[2]}


def _map(setting: Setting) -> tuple[Chart, list[Row]]:
    """Return which mechanism is chosen over n and alpha, a panel for each kind of request."""
    sizes = setting.pick((2, 4, 8, 16, 20), (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24))
    alphas = fractions(["1/3", "1/2", "2/3", "3/4", "9/10", "10/11", "99/100"])
    cells: list[Row] = [
        {"asked": kind, "n": n, "alpha": str(alpha), "chosen": _chosen(codes, n, alpha)}
        for kind, codes in KINDS.items()
        for n in sizes
        for alpha in alphas
    ]
    panels = [
        grid(
            [cell for cell in cells if cell["asked"] == kind], x="alpha", y="n", colour="chosen", text="chosen",
            names=list(_COLOURS), palette=list(_COLOURS.values()), x_title="alpha", y_title="n",
            title=f"Asked for: {kind}", step=(44, 22), descending=True,
        )
        for kind in KINDS
    ]  # fmt: skip
    title = "What is asked for decides; alpha and n matter only for honesty"
    words = "GM geometric, EM explicit fair, WM the answer of a linear program. Each cell is what dc.choose takes."
    return beside(panels, title, words), cells


def _chosen(codes: tuple[str, ...], n: int, alpha: Fraction) -> str:
    """Return the branch, and a design at the same place to hold it to."""
    name = flowchart(codes, n, alpha)
    form = designed(n, alpha, codes).certificate.details.get("form", "WM")
    called = {"WH": "WM"}.get(name, name)
    return called if called == form else f"{called}, not {form}"
