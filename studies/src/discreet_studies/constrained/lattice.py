"""The properties of [C] section IV-A: which follow from which, and which mechanism has which (figure 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet import losses
from discreet.checking import check, pathologies
from discreet.mechanisms.geometric import geometric
from discreet.optimise.design.chooser import cost_of
from discreet.optimise.design.design import design
from discreet.properties import PROPERTIES
from discreet.wording import listed, plural

from ..claims import Claim, judge
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .charts import grid
from .named import SEVEN, designed, fractions, named

# ------------------------------------------------------------------------------------------------ what follows


#: Bounds of linear programs are this close to the least cost.
CLOSE = 1e-9


@lru_cache(maxsize=4096)
def follows(premises: tuple[str, ...], code: str, n: int, alpha: Fraction) -> bool:
    """Return True if every alpha-private mechanism on 0..n with the given properties has another one.

    A linear program for each row of the property: the least value of its left side over all mechanisms with the given
    ones. It follows where no row can be violated; the first that can ends the search, and its optimum is a mechanism
    that has the one and not the other.
    """
    rows = PROPERTIES[code].rows(n)
    signs = (1, -1) if rows.sense == "==" else (1,)
    size = n + 1
    for places in rows.places.tolist():
        for sign in signs:
            side = np.zeros(size * size, dtype=np.int64)
            np.add.at(side, places, sign * rows.coefficients)
            objective = losses.matrix(side.reshape(size, size))
            optimum = design(n, alpha=alpha, loss=objective, properties=premises)
            right = sign * rows.right / size
            if cost_of(optimum) < right or optimum.certificate.details["least"] < float(right) - CLOSE:
                return False
    return True


@dataclass(frozen=True)
class Implication:
    """What the paper says follows."""

    premises: tuple[str, ...]
    code: str

    @property
    def words(self) -> str:
        return f"{' and '.join(self.premises)} imply {self.code}" if len(self.premises) > 1 else (
            f"{self.premises[0]} implies {self.code}"
        )  # fmt: skip


#: [C] section IV-A.
IMPLICATIONS = (
    Implication(("RM",), "RH"),
    Implication(("CM",), "CH"),
    Implication(("CH",), "WH"),
    Implication(("F", "RH"), "CH"),
    Implication(("F", "CH"), "RH"),
)


def implications(setting: Setting) -> ExhibitResult:
    """Draw section IV-A: the lattice of the properties, by a linear program for each pair."""
    sizes, alphas = setting.pick((2, 3), (2, 3, 4, 5)), fractions(setting.pick(["9/10"], ["1/3", "2/3", "9/10"]))
    settings = [(n, alpha) for n in sizes for alpha in alphas]
    rows: list[Row] = []
    for premises in setting.progress([(code,) for code in SEVEN] + [("F", "RH"), ("F", "CH")], "implications"):
        for code in SEVEN:
            if code in premises:
                continue
            number = sum(follows(premises, code, n, alpha) for n, alpha in settings)
            rows.append(
                {
                    "given": " + ".join(premises), "property": code, "follows_in": number, "settings": len(settings),
                    "text": "yes" if number == len(settings) else "no" if number == 0 else f"{number}/{len(settings)}",
                    "share": significant(Fraction(number, len(settings))),
                }
            )  # fmt: skip
    always = {(str(row["given"]), str(row["property"])) for row in rows if row["share"] == 1}
    where = f"n = {sizes[0]} to {sizes[-1]}, alpha {listed([str(a) for a in alphas])}"
    claims = [
        Claim(
            f"section IV-A: {one.words}",
            "[C] section IV-A",
            f"{one.words[0].upper()}{one.words[1:]}.",
            "No private mechanism has the one without the other in "
            f"{sum(follows(one.premises, one.code, n, alpha) for n, alpha in settings)} of "
            f"{plural(len(settings), 'setting')} ({where}), by linear programs in exact arithmetic.",
            judge((" + ".join(one.premises), one.code) in always),
        )
        for one in IMPLICATIONS
    ]
    converses = [("RH", "RM"), ("CH", "CM"), ("WH", "CH")]
    counts = {pair: sum(follows((pair[0],), pair[1], n, alpha) for n, alpha in settings) for pair in converses}
    claims.append(
        Claim(
            "section IV-A: not the other way round", "[C] section IV-A",
            "The monotone properties are stronger than the honest ones, and CH is stronger than WH: no converse holds.",
            "; ".join(f"{a} implies {b} in {counts[a, b]} of {len(settings)} settings" for a, b in converses) + ".",
            judge(not any(counts.values())),
        )
    )  # fmt: skip
    claims += [_independence(), _no_gaps(setting)]
    chart = grid(
        rows, x="property", y="given", colour="share", text="text", x_title="has also", y_title="a mechanism with",
        x_order=SEVEN,
        title="Which property follows from which",
        sentences=(f"For alpha-private mechanisms, {where}: yes where it follows in all of them. RM gives RH; CM gives "
                   "CH, and CH gives WH; fairness joins rows and columns.",),
    )  # fmt: skip
    return ExhibitResult({"": chart}, {"": rows}, tuple(claims))


def _independence() -> Claim:
    """Judge the pair of examples: row monotone without privacy, private without being row monotone."""
    alpha = Fraction(9, 10)
    private = design(2, alpha=alpha, loss=losses.matrix([[0, 0, 0], [0, 0, -1], [0, 0, 1]]))
    looser = geometric(2, alpha=Fraction(1, 2))
    first, second = not check(private, "RM")["RM"], bool(check(looser, "RM")["RM"])
    ratio = looser.certificate.ratio
    return Claim(
        "section IV-A: row monotone and private", "[C] section IV-A",
        "Row monotonicity and privacy are independent: each can be had without the other.",
        f"At alpha = 9/10 and n = 2 there is a private mechanism that is {'not ' if first else ''}row monotone, and "
        f"GM for alpha = 1/2 is {'' if second else 'not '}row monotone with a ratio of {ratio}, not 10/9.",
        judge(first and second and ratio is not None and ratio > 1 / alpha),
    )  # fmt: skip


def _no_gaps(setting: Setting) -> Claim:
    """Judge that fairness, column honesty and weak honesty prevent gaps under every loss."""
    tried = [
        (loss, n, code)
        for loss in ("L1", "L2", "L0_1")
        for n in setting.pick((4,), (3, 4, 5, 7))
        for code in ("F", "CH", "WH")
    ]
    alpha = Fraction(9, 10)
    without = [pathologies(designed(n, alpha, (code,), loss))["no gaps"].holds for loss, n, code in tried]
    bare = {(loss, n): bool(pathologies(designed(n, alpha, (), loss))["no gaps"]) for loss, n, _ in tried}
    return Claim(
        "section IV-A: no gaps", "[C] section IV-A",
        "Fairness, column honesty and weak honesty each prevent gaps.",
        f"Of {len(tried)} designs at alpha = 9/10 (L1, L2 and L0_1; F, CH or WH) {sum(without)} have no gap; without a "
        f"property {sum(bare.values())} of {len(bare)} have none.",
        judge(all(without) and not any(bare.values())),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ figure 6

#: Figure 6 as printed: yes, no, or depending on the parameters.
PRINTED = {
    "GM": {"S": "Y", "RM": "Y", "CM": "-", "F": "N", "WH": "-"},
    "WM": {"S": "Y", "RM": "Y", "CM": "-", "F": "N", "WH": "Y"},
    "EM": {"S": "Y", "RM": "Y", "CM": "Y", "F": "Y", "WH": "Y"},
    "UM": {"S": "Y", "RM": "Y", "CM": "Y", "F": "Y", "WH": "Y"},
}

#: The mechanisms looked at: both readings of WM.
COLUMNS = {"GM": "GM", "WM (WH)": "WH", "WM (WH, RM, CM)": "WM", "EM": "EM", "UM": "UM"}


def table_of_properties(setting: Setting) -> ExhibitResult:
    """Draw figure 6: which of the named mechanisms has which property, for many n and alpha."""
    sizes = setting.pick(range(1, 7), range(1, 17))
    alphas = fractions(["1/4", "1/2", "2/3", "3/4", "9/10", "10/11", "99/100"])
    settings = [(n, alpha) for n in sizes for alpha in alphas]
    held: dict[tuple[str, str], list[tuple[int, Fraction]]] = {(name, code): [] for name in COLUMNS for code in SEVEN}
    for n, alpha in setting.progress(settings, "properties of the named mechanisms"):
        for name, short in COLUMNS.items():
            for code, result in check(named(short, n, alpha)).items():
                if result.holds:
                    held[name, code].append((n, alpha))
    rows: list[Row] = [
        {
            "mechanism": name, "property": code, "printed": PRINTED[name[:2]].get(code, ""),
            "holds_in": len(held[name, code]), "settings": len(settings),
            "share": significant(Fraction(len(held[name, code]), len(settings))),
            "text": _in_words(len(held[name, code]), len(settings)),
        }
        for name in COLUMNS
        for code in SEVEN
    ]  # fmt: skip
    claims = [_row_of_figure_6(name, held, settings) for name in COLUMNS]
    chart = grid(
        rows, x="mechanism", y="property", colour="share", text="text", x_title="", y_title="property",
        title="Which named mechanism has which property",
        sentences=(f"n = {sizes[0]} to {sizes[-1]} and {len(alphas)} alphas from 1/4 to 99/100, {len(settings)} "
                   "settings, checked exactly. The paper says all, none or it depends.",),
        step=(118, 30),
    )  # fmt: skip
    choices = (
        "The paper uses WM for two things: the answer to weak honesty alone (figures 6 and 7) and to WH, RM and CM "
        "(section V). Both are checked.",
        "Several mechanisms can be best under WH alone; the one made here is row monotone where one of them is.",
    )
    return ExhibitResult({"": chart}, {"": rows}, tuple(claims), choices)


def _in_words(number: int, of: int) -> str:
    return "all" if number == of else "none" if number == 0 else f"{number} of {of}"


def _row_of_figure_6(
    name: str, held: dict[tuple[str, str], list[tuple[int, Fraction]]], settings: list[tuple[int, Fraction]]
) -> Claim:
    """Judge one column of the figure: right, right but for n = 1, or wrong."""
    printed = PRINTED[name[:2]]

    def agrees(code: str, counts: Callable[[int], bool]) -> bool:
        of = sum(counts(n) for n, _ in settings)
        number = sum(counts(n) for n, _ in held[name, code])
        return {"Y": number == of, "N": number == 0, "-": 0 < number < of}[printed[code]]

    wrong = [code for code in printed if not agrees(code, lambda n: True)]
    wrong_beyond = [code for code in printed if not agrees(code, lambda n: n > 1)]
    counts = ", ".join(f"{code} {_in_words(len(held[name, code]), len(settings))}" for code in printed)
    why = ""
    if wrong_beyond:
        why = f"{listed(wrong_beyond)} is not as printed: it always holds where it is asked for."
    elif wrong:
        why = f"{listed(wrong)} is not as printed for n = 1, where all four but UM are randomised response."
    return Claim(
        f"figure 6: {name}", "[C] figure 6",
        f"{name}: " + ", ".join(f"{code} {_MARK[mark]}" for code, mark in printed.items()) + ".",
        f"Of {len(settings)} settings: {counts}.",
        judge(not wrong_beyond, corrected=bool(wrong)),
        why,
    )  # fmt: skip


_MARK = {"Y": "yes", "N": "no", "-": "depends"}
