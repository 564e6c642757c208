"""Margins of many columns beside ResidualPlanner, the best matrix mechanism for them, at the same zCDP.

ResidualPlanner (Xiao, He, Zhang, Kifer 2023, arXiv 2305.08175) is written here from its paper, as plainly as possible:
each residual is measured with continuous Gaussian noise whose variance is known in closed form, and a table is the sum
of its residuals. Ours measures signed marginals with discrete Gaussian noise. Adult is read where DISCREET_DATA names a
folder that has it; otherwise people are made up.
"""

from __future__ import annotations

import csv
import gzip
import os
import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import measure
from discreet.exact.bits import seeded_bits
from discreet.privacy.relations import RELATIONS
from discreet.release.marginals.combine import MarginLeastSquares
from discreet.release.marginals.intervals import MarginErrors
from discreet.release.marginals.signed import Columns, Margins, subsets
from discreet.release.marginals.split import split_budget
from discreet.release.noise.cells import CellNoise, cell_noise
from measure import FULL, Line, Scale

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Eight columns of Adult, and their numbers of values.
COLUMNS = ("sex", "race", "relationship", "marital_status", "workclass", "education", "occupation", "income")
ADULT_SIZES = (2, 5, 6, 7, 9, 16, 15, 2)

#: Eight columns as an office has them.
OFFICE_SIZES = (2, 18, 16, 7, 9, 5, 40, 3)

#: The budget of all tables: epsilon 1 with delta 1e-6 needs a rho of about this.
RHO = Fraction(1, 60)


def people(number: int = 32_561) -> tuple[tuple[int, ...], Integers, str]:
    """Return the sizes of the columns, a row of values for each person, and what the data is called."""
    file = Path(os.environ.get("DISCREET_DATA", "data")) / "adult.csv.gz"
    if not file.is_file():
        rng = np.random.default_rng(1)
        columns = [rng.choice(n, number, p=rng.dirichlet(np.ones(n))) for n in ADULT_SIZES]
        return ADULT_SIZES, np.stack(columns, axis=1), "made-up people"
    with gzip.open(file, "rt", encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    codes = [np.unique([row[name] for row in rows], return_inverse=True) for name in COLUMNS]
    return tuple(len(values) for values, _ in codes), np.stack([code for _, code in codes], axis=1), "Adult"


def tables_of_order(order: int, sizes: tuple[int, ...]) -> Margins:
    """Return all tables of exactly this many columns."""
    tables = tuple(subsets(tuple(range(len(sizes))), order))
    return Margins(sizes, tables, (Fraction(1),) * len(tables))


def count(margins: Margins, rows: Integers, table: Columns) -> Integers:
    """Return a table of counts."""
    shape = tuple(margins.sizes[column] for column in table)
    if not table:
        return np.array(len(rows))
    flat = np.ravel_multi_index(tuple(rows[:, column] for column in table), shape)
    return np.bincount(flat, minlength=margins.cells(table)).reshape(shape)


class ResidualPlanner:
    """The optimal matrix mechanism for margins, with noise for all residuals."""

    def __init__(self, margins: Margins) -> None:
        self.margins = margins

    @cached_property
    def plan(self) -> dict[Columns, float]:
        """The variance of the noise of each residual, with the privacy cost ``sum of p / variance = 2 rho``."""
        v, p = dict[Columns, float](), dict[Columns, float]()
        for residual in self.margins.residuals:
            p[residual] = float(np.prod([1 - 1 / self.margins.sizes[j] for j in residual]))
            v[residual] = sum(
                float(np.prod([self.margins.sizes[j] for j in table]))
                * p[residual]
                / float(np.prod([self.margins.sizes[j] for j in table if j not in residual])) ** 2
                for table in self.margins.tables
                if set(residual) <= set(table)
            )
        root = sum((v[one] * p[one]) ** 0.5 for one in v)
        self.total = root**2 / (2 * float(RHO))
        return {one: root * (p[one] / v[one]) ** 0.5 / (2 * float(RHO)) for one in v}

    @property
    def rmse(self) -> float:
        """The root of the mean variance of all cells."""
        assert self.plan
        return float((self.total / sum(map(self.margins.cells, self.margins.tables))) ** 0.5)

    def errors(self, rng: np.random.Generator) -> list[Floats]:
        """Return the errors of the tables of one run: measured residuals, added up."""
        residuals = {}
        for one, variance in self.plan.items():
            noise: Floats = rng.normal(0, variance**0.5, [self.margins.sizes[j] for j in one])
            for axis in range(len(one)):
                noise = noise - noise.mean(axis=axis, keepdims=True)
            residuals[one] = noise
        errors = []
        for table in self.margins.tables:
            total: Floats = np.zeros([self.margins.sizes[j] for j in table])
            for one in subsets(table):
                others = float(np.prod([self.margins.sizes[j] for j in table if j not in one]))
                total = (
                    total + residuals[one].reshape([self.margins.sizes[j] if j in one else 1 for j in table]) / others
                )
            errors.append(total)
        return errors


class SignedMarginals:
    """Ours: discrete Gaussian noise on signed marginals, with the split of the budget."""

    def __init__(self, margins: Margins) -> None:
        self.margins = margins
        shares = split_budget(margins, RELATIONS["add-remove"]).shares
        self.sigma2 = {one: 1 / (2 * RHO * share) for one, share in shares.items()}
        assert sum(1 / (2 * one) for one in self.sigma2.values()) <= RHO, "equal zCDP"
        self.solver = MarginLeastSquares(margins, self.sigma2)

    @cached_property
    def noises(self) -> Mapping[Columns, CellNoise]:
        """The noise of each signed marginal, drawn exactly."""
        return {one: cell_noise("discrete_gaussian", sigma2=s, output="signed") for one, s in self.sigma2.items()}

    @property
    def rmse(self) -> float:
        """The root of the mean variance of all cells, bounded by the parameters of the noise."""
        total = sum(self.margins.cells(table) * self.solver.variance(table) for table in self.margins.tables)
        return float(total / sum(map(self.margins.cells, self.margins.tables))) ** 0.5

    def errors(self, true: Mapping[Columns, Integers], rows: Integers, seed: int) -> list[Floats]:
        """Return the errors of the tables of one run against the counts of the data."""
        bits = seeded_bits(seed)
        measured = {}
        for one, noise in self.noises.items():
            zeros = np.zeros(np.asarray(true[one]).size, np.int64)  # signed counts may be negative
            measured[one] = true[one] + noise.draw(zeros, bits).reshape(self.margins.shape(one))
        combined = self.solver.combine(measured)
        return [
            np.asarray(result.numerators / result.denominator, dtype=np.float64) - count(self.margins, rows, table)
            for table, result in combined.items()
        ]


def lines(scale: Scale = FULL) -> Iterator[Line]:
    sizes, rows, data = people()
    runs = scale.pick(60, 2)
    ours, theirs = SignedMarginals(tables_of_order(2, sizes)), ResidualPlanner(tables_of_order(2, sizes))
    true = {one: signed_counts(ours.margins, rows, one) for one in ours.sigma2}
    rng = np.random.default_rng(5)
    measured = [
        float(np.sqrt(np.mean([error**2 for run in several for table in run for error in table.reshape(-1)])))
        for several in (
            [ours.errors(true, rows, seed) for seed in range(runs)],
            [theirs.errors(rng) for _ in range(runs)],
        )
    ]
    tables = f"all tables of two of eight columns ({data}), rho = {RHO}"
    yield measure.at_most(
        f"{tables}: RMSE in {runs} runs", f"{measured[0]:.2f}", f"ResidualPlanner {measured[1]:.2f}",
        measured[0] / measured[1], 1.02,
    )  # fmt: skip
    yield from _theory(sizes, data, (2, 3), 1.02)
    yield from _theory(OFFICE_SIZES, "an office", (2, 3), 1.025)
    yield from _theory((2,) * 10, "ten binary columns", (2,), 1.001)
    yield from _theory((3,) * 8, "eight ternary columns", (2,), 1.14)
    yield from _theory((3,) * 32, "32 ternary columns", (2,), 1.5)
    yield from _theory((10,) * 32, "32 columns of ten values", (2,), 1.12)
    yield from _intervals(scale.pick(100, 6))


def signed_counts(margins: Margins, rows: Integers, columns: Columns) -> Integers:
    """Return a signed marginal of the people."""
    table = count(margins, rows, columns)
    for place in reversed(range(len(columns))):
        if margins.sizes[columns[place]] == 2:
            table = table.take(0, axis=place) - table.take(1, axis=place)
    return np.asarray(table)


def _theory(sizes: tuple[int, ...], name: str, orders: tuple[int, ...], target: float) -> Iterator[Line]:
    """Compare the variances that both state."""
    for order in orders:
        margins = tables_of_order(order, sizes)
        ours, theirs = SignedMarginals(margins).rmse, ResidualPlanner(margins).rmse
        yield measure.at_most(
            f"stated RMSE, tables of {order} columns: {name}", f"{ours:.3f}", f"the optimum {theirs:.3f}",
            ours / theirs, target,
        )  # fmt: skip


def _intervals(columns: int) -> Iterator[Line]:
    """Measure the intervals of all tables of up to two of many columns of ten values."""
    margins = Margins.up_to(2, (10,) * columns)
    ours = SignedMarginals(margins)
    errors = MarginErrors(ours.solver, {one: noise.shift_law for one, noise in ours.noises.items()})
    start = time.perf_counter()
    widths = {table: errors.half_width(table, Fraction(1, 20)) for table in margins.tables}
    seconds = time.perf_counter() - start
    pairs = margins.tables[-1]
    normal = 1.959964 * float(ours.solver.variance(pairs)) ** 0.5
    what = f"{len(margins.tables):,} tables of {columns} columns of 10 values"
    yield measure.at_most(
        f"95% half-width from the laws, {what}", f"{widths[pairs]:.4g}", f"normal quantile {normal:.4g}",
        widths[pairs] / normal, 1.02,
    )  # fmt: skip
    yield measure.at_most(f"seconds for all half-widths, {what}", f"{seconds:.1f} s", "30 s", seconds / 30, 1)
