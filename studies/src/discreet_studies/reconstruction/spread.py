"""Proposition 2 of [F], and its conjecture: why k-RR is further off by the Kantorovich distance.

The estimate q G^-1 is linear in the shares q of the reports, so its errors have an exact covariance, Q = C^-T (diag u -
u'u) C^-1 / N with u = pC. Errors add up to 0. Shuffled over the values at random, errors with the same squares have a
running sum of m terms with variance v m (k - m)/(k - 1), v their mean square: what it would be if only their size
mattered.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.mechanism import Mechanism
from discreet.mechanisms.geometric import geometric
from discreet.plots.chart import STROKES, WIDTH, Chart, Spec, finish, series
from discreet.wording import rounded

from ..claims import Basis, Claim, judge
from ..means import Mean
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .surveys import CHOICES, GEOMETRIC, LARGEST, RESPONSE, UPDATES, Surveys, draw, mechanisms, shapes

#: Number of people whose errors after the updates are examined.
PEOPLE = 10_000


# ------------------------------------------------------------------------------------------------ proposition 2


def inverse(n: int, alpha: Fraction) -> list[list[Fraction]]:
    """Return G^-1 as a formula: the tridiagonal inverse of a^|i-j|, each row divided by its column's factor.

    >>> [[str(x) for x in row] for row in inverse(1, Fraction(1, 2))]
    [['2', '-1'], ['-1', '2']]
    """
    a, whole = alpha, 1 - alpha**2
    matrix = [[Fraction(0)] * (n + 1) for _ in range(n + 1)]
    for j in range(n + 1):
        at_end = j in (0, n)
        factor = 1 / (1 + a) if at_end else (1 - a) / (1 + a)
        matrix[j][j] = (Fraction(1) if at_end else 1 + a * a) / whole / factor
        for i in (j - 1, j + 1):
            if 0 <= i <= n:
                matrix[j][i] = -a / whole / factor
    return matrix


def is_inverse(n: int, alpha: Fraction) -> bool:
    """Return True if G times :func:`inverse` is the identity, in fractions."""
    made = geometric(n, alpha=alpha)
    rows, columns = [[Fraction(made.probability(i, j)) for j in range(n + 1)] for i in range(n + 1)], inverse(n, alpha)
    near = [range(max(0, j - 1), min(n, j + 1) + 1) for j in range(n + 1)]
    return all(
        sum((rows[i][k] * columns[k][j] for k in near[j]), Fraction(0)) == (i == j)
        for i in range(n + 1)
        for j in range(n + 1)
    )


def draw_invertible(setting: Setting) -> ExhibitResult:
    """Multiply G by its inverse in fractions; at alpha = 1 it does not exist."""
    sizes, alphas = setting.pick(range(1, 13), range(1, 41)), [Fraction(text) for text in ("1/10", "1/2", "9/10")]
    rows: list[Row] = [
        {"n": n, "alpha": str(alpha), "product_is_the_identity": is_inverse(n, alpha)}
        for n in setting.progress(sizes, "inverses")
        for alpha in alphas
    ]
    right = sum(bool(row["product_is_the_identity"]) for row in rows)
    claim = Claim(
        "proposition 2", "[F] proposition 2, section 2.5",
        "The matrix G is invertible, with 0 < alpha <= 1.",
        f"G times the tridiagonal inverse is the identity, in fractions, in {right} of {len(rows)} cases with alpha "
        f"below 1 (n up to {sizes[-1]}); its determinant is (1 - a^2)^n times the factors of the columns. At alpha = 1 "
        "all rows are equal.",
        judge(right == len(rows), corrected=True),
        "At alpha = 1 (epsilon = 0), which the paper allows, G has no inverse.",
    )  # fmt: skip
    return ExhibitResult({}, {"": rows}, (claim,))


# ------------------------------------------------------------------------------------------------ the conjecture


def error_covariance(mechanism: Mechanism, population: FloatArray) -> FloatArray:
    """Return the covariance of the errors of q C^-1, times the number of reports."""
    reports = population @ mechanism.matrix
    spread = np.diag(reports) - np.outer(reports, reports)
    solved = np.linalg.solve(mechanism.matrix.T, spread)
    return np.asarray(np.linalg.solve(mechanism.matrix.T, solved.T))


def running_deviations(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the standard deviation of the sum of the first 1, 2, ... errors, as they lie and shuffled."""
    size = len(covariance)
    sums = np.cumsum(np.cumsum(covariance, axis=0), axis=1).diagonal()[:-1]
    terms = np.arange(1, size)
    shuffled = covariance.trace() / size * terms * (size - terms) / (size - 1)
    return np.sqrt(np.maximum(sums, 0.0)), np.sqrt(shuffled)


def correlations(covariance: FloatArray) -> FloatArray:
    """Return the mean correlation of two errors by the distance of their values, 1 to the largest."""
    deviations = np.sqrt(covariance.diagonal())
    matrix = covariance / np.outer(deviations, deviations)
    return np.array([matrix.diagonal(d).mean() for d in range(1, len(matrix))])


def shuffled_distance(errors: FloatArray, rng: np.random.Generator, times: int) -> float:
    """Return the mean Kantorovich distance that these errors would make if they were shuffled over the values."""
    return float(np.mean([np.abs(np.cumsum(rng.permutation(errors))).sum() for _ in range(times)]))


def _arrangement(surveys: Surveys, rng: np.random.Generator) -> Mean:
    """Return the Kantorovich distance of the updates, over that of the same errors shuffled."""
    errors = surveys.estimates(UPDATES) - surveys.population
    actual = np.abs(np.cumsum(errors, axis=1)).sum(axis=1)
    return Mean.of([float(one) / shuffled_distance(e, rng, 50) for one, e in zip(actual, errors, strict=True)])


def draw_conjecture(setting: Setting) -> ExhibitResult:
    """Compare the errors of the linear estimate, exactly, and of the updates: as they lie, and shuffled."""
    made = mechanisms()
    rows: list[Row] = []
    ratios: dict[tuple[str, str], float] = {}
    near: dict[tuple[str, str], tuple[float, float]] = {}
    for shape, population in shapes().items():
        for name, mechanism in made.items():
            covariance = error_covariance(mechanism, population)
            actual, shuffled = running_deviations(covariance)
            ratios[shape, name] = float(actual.sum() / shuffled.sum())
            by_distance = correlations(covariance)
            near[shape, name] = float(by_distance[0]), float(by_distance[LARGEST // 2 - 1])
            rows += [
                {
                    "distribution": shape, "mechanism": name, "values": k, "as_they_lie": significant(a, 7),
                    "shuffled": significant(b, 7),
                }
                for k, (a, b) in enumerate(zip(actual.tolist(), shuffled.tolist(), strict=True), 1)
            ]  # fmt: skip
    repeats = setting.pick(4, 20)
    measured = {
        (shape, name): _arrangement(
            draw(setting, mechanism, population, PEOPLE, repeats, shape), setting.generator("shuffled", shape, name)
        )
        for shape, population in shapes().items()
        for name, mechanism in made.items()
    }
    table: list[Row] = [
        {
            "distribution": shape, "mechanism": name, "linear_estimate": significant(ratios[shape, name], 7),
            "repeats": repeats, **measured[shape, name].columns("updates"),
        }
        for shape, name in ratios
    ]  # fmt: skip
    tables = {"": rows, "arrangement": table}
    return ExhibitResult({"": _chart(rows)}, tables, _claims(ratios, near, measured), CHOICES[:2])


def _claims(
    ratios: Mapping[tuple[str, str], float],
    near: Mapping[tuple[str, str], tuple[float, float]],
    measured: Mapping[tuple[str, str], Mean],
) -> tuple[Claim, ...]:
    def said(values: Mapping[tuple[str, str], object], name: str) -> str:
        return ", ".join(f"{_text(value)} ({shape})" for (shape, one), value in values.items() if one == name)

    place = "[F] section 4.1, conjecture after figure 3"
    response = [ratio for (_, name), ratio in ratios.items() if name == RESPONSE]
    apart = [abs(one - far) for (_, name), (one, far) in near.items() if name == RESPONSE]
    larger = [measured[shape, GEOMETRIC].below(measured[shape, RESPONSE]) for shape, name in ratios if name == RESPONSE]
    return (
        Claim(
            "conjecture: errors all over the range", place,
            "The errors that k-RR causes are randomly distributed over the entire output space.",
            "For the estimate q C^-1, whose errors have an exact covariance, the mean correlation of two errors of "
            "k-RR is "
            + ", ".join(f"{a:.4f} for neighbours and {b:.4f} at distance {LARGEST // 2} ({shape})"
                        for (shape, name), (a, b) in near.items() if name == RESPONSE)
            + "; of the geometric mechanism "
            + ", ".join(f"{a:.3f} and {b:.4f} ({shape})" for (shape, name), (a, b) in near.items() if name == GEOMETRIC)
            + f". Their running sums are {said(ratios, RESPONSE)} times those of the same errors shuffled at random.",
            judge(max(apart) < 0.01 and all(abs(ratio - 1) < 0.1 for ratio in response)),
        ),
        Claim(
            "conjecture: why the distance is larger", place,
            "That is why the Kantorovich distance of k-RR is larger.",
            "The geometric mechanism's errors cancel nearby: their running sums are "
            f"{said(ratios, GEOMETRIC)} times those of the same errors shuffled (exact, q G^-1). After 5,000 updates "
            f"the distance is {said(measured, GEOMETRIC)} times that of the same errors shuffled, for k-RR "
            f"{said(measured, RESPONSE)}.",
            judge(all(larger)),
            "Shuffling keeps the size of every error and changes only where it lies.",
            Basis.DRAWN,
        ),
    )  # fmt: skip


def _text(value: object) -> str:
    return rounded(value) if isinstance(value, float) else str(value)


def _chart(rows: list[Row]) -> Chart:
    data = [
        {"name": f"{row['mechanism']}, {label}", "shape": row["distribution"], "k": row["values"], "value": row[column]}
        for row in rows
        for column, label in (("as_they_lie", "as they lie"), ("shuffled", "shuffled"))
    ]
    names = [f"{name}, {label}" for name in (RESPONSE, GEOMETRIC) for label in ("as they lie", "shuffled")]
    x = {"field": "k", "type": "quantitative", "title": "errors added up, from 0 on"}
    y = {
        "field": "value", "type": "quantitative", "title": "standard deviation x sqrt(reports)",
        "scale": {"type": "log"}, "axis": {"format": "~g", "tickCount": 5},
    }  # fmt: skip
    panel: Spec = {
        "mark": {"type": "line", "strokeWidth": 1.6},
        "encoding": {"x": x, "y": y, **series(names, "color", "strokeDash", legend=STROKES)},
        "width": round(0.55 * WIDTH),
        "height": 220,
    }
    facet = {"column": {"field": "shape", "type": "nominal", "title": None}}
    return finish(
        {"data": {"values": data}, "facet": facet, "spec": panel},
        "The errors of geometric noise cancel nearby; those of k-RR lie anywhere",
        "The Kantorovich distance adds up running sums of errors. Exact for the linear estimate; shuffled: the same "
        "squares of errors at random places.",
        width=WIDTH + 200,
    )
