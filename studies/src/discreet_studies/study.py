"""A study, its exhibits, and the settings under which they are computed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from discreet.plots import Chart
from discreet.report import Json

from .claims import Basis, Claim
from .datasets import Datasets

T = TypeVar("T")

#: One row of an exhibit's data, by column.
Row = Mapping[str, Json]


class Progress(Protocol):
    """A function that yields steps and shows the progress."""

    def __call__(self, steps: Sequence[T], words: str) -> Iterable[T]: ...


def silent(steps: Sequence[T], words: str) -> Iterable[T]:
    """Return the steps without showing progress."""
    return steps


@dataclass(frozen=True)
class Setting:
    """The settings of a run.

    Attributes
    ----------
    quick
        True for few repetitions: the shape of every figure, with wide error bars.
    seed
        The seed of all random numbers.
    datasets
        The data sets.
    progress
        Shows the progress of long work: ``for size in setting.progress(sizes, "sizes"): ...``.
    """

    quick: bool = False
    seed: int = 2026
    datasets: Datasets = field(default_factory=Datasets)
    progress: Progress = silent

    def pick(self, quick: T, full: T) -> T:
        """Return the first value for a quick run, the second for a full one."""
        return quick if self.quick else full

    def generator(self, *names: object) -> np.random.Generator:
        """Return a generator for these names, which does not depend on what else is run or in which order."""
        return np.random.default_rng([self.seed, zlib.crc32(repr(names).encode())])


@dataclass(frozen=True)
class ExhibitResult:
    """The charts, tables and verdicts of an exhibit.

    Attributes
    ----------
    charts
        By name; the name ends the file's: ``"sizes"`` of figure 3 becomes ``figure_3_sizes.png``. An exhibit with one
        chart has it under the empty name.
    tables
        The data by name, likewise, each as rows with the same columns.
    claims
        The claims with their verdicts.
    choices
        Choices made where the paper leaves something open, one sentence each.
    note
        A warning to read first, such as that synthetic data replaces the paper's.
    """

    charts: Mapping[str, Chart]
    tables: Mapping[str, Sequence[Row]]
    claims: tuple[Claim, ...] = ()
    choices: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Exhibit:
    """A figure, a table or a printed number of a paper.

    Attributes
    ----------
    key
        The value of ``--figure``: ``"3"``, ``"example-1"``, ``"numbers"``.
    title
        Its title.
    draw
        The function that computes, draws and judges.
    needs
        The data sets that it needs: ``"adult"``, ``"gowalla"``.
    by_cell
        True if its data shows such a data set cell by cell, and so must not be published.
    on_map
        True if it measures distances on a map, which needs the extra ``transport``.
    basis
        The evidence for its verdicts, where a claim does not say otherwise.
    """

    key: str
    title: str
    draw: Callable[[Setting], ExhibitResult]
    needs: tuple[str, ...] = ()
    by_cell: bool = False
    on_map: bool = False
    basis: Basis = Basis.MATHEMATICS

    @property
    def code(self) -> str:
        """The function that computes and judges it: ``"discreet_studies.bounded.example.draw"``."""
        return f"{self.draw.__module__}.{self.draw.__qualname__}"

    @property
    def called(self) -> str:
        """Its name in a heading: "Figure 3", "Example 1"."""
        return f"Figure {self.key}" if self.key[0].isdigit() else self.key.replace("-", " ").capitalize()

    def file(self, name: str) -> str:
        """Return the name of the files of one of its charts or tables, without an ending.

        >>> Exhibit("10-visits", "", lambda setting: ExhibitResult({}, {})).file("by_alpha")
        'figure_10_visits_by_alpha'
        """
        stem = f"figure_{self.key}" if self.key[0].isdigit() else self.key
        return f"{stem}_{name}".strip("_").replace("-", "_")


@dataclass(frozen=True)
class Study:
    """A paper and its exhibits.

    Attributes
    ----------
    name
        The argument of ``discreet study``.
    letter
        The letter by which the documentation cites the paper: ``"F"`` for [F].
    paper
        Authors, title and year.
    exhibits
        In the paper's order.
    doi
        The digital object identifier of the paper; empty for results of our own, and where none could be looked up.
    self_tested
        True if its claims are our own, so that claimant and judge are the same.
    """

    name: str
    letter: str
    paper: str
    exhibits: tuple[Exhibit, ...]
    doi: str = ""
    self_tested: bool = False
