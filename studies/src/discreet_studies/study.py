"""A study and its exhibits: what is drawn, from which data, under which settings."""

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
    """Passes on what it is given, one by one, and shows how far it is."""

    def __call__(self, steps: Sequence[T], words: str) -> Iterable[T]: ...


def silent(steps: Sequence[T], words: str) -> Iterable[T]:
    """Progress that nobody sees."""
    return steps


@dataclass(frozen=True)
class Setting:
    """How a study is run.

    Attributes
    ----------
    quick
        Whether a few repetitions suffice: the shape of every figure, wide error bars.
    seed
        Where all random numbers start.
    datasets
        Where the data comes from.
    progress
        Shows how far long work is: ``for size in setting.progress(sizes, "sizes"): ...``.
    """

    quick: bool = False
    seed: int = 2026
    datasets: Datasets = field(default_factory=Datasets)
    progress: Progress = silent

    def pick(self, quick: T, full: T) -> T:
        """One of two: for a quick run, and for a full one."""
        return quick if self.quick else full

    def generator(self, *names: object) -> np.random.Generator:
        """Random numbers of their own for each name, the same whatever else is run and in which order."""
        return np.random.default_rng([self.seed, zlib.crc32(repr(names).encode())])


@dataclass(frozen=True)
class Drawn:
    """What an exhibit gives.

    Attributes
    ----------
    charts
        By name; the name ends the file's: ``"sizes"`` of figure 3 becomes ``figure_3_sizes.png``. An exhibit with one
        chart has it under the empty name.
    tables
        The data by name, likewise, each as rows with the same columns.
    claims
        The claims that were judged.
    chosen
        What the paper leaves open and what was chosen here, one sentence each.
    note
        What the reader must know before anything else, such as that synthetic data stands in for the paper's.
    """

    charts: Mapping[str, Chart]
    tables: Mapping[str, Sequence[Row]]
    claims: tuple[Claim, ...] = ()
    chosen: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Exhibit:
    """A figure, a table or a printed number of a paper.

    Attributes
    ----------
    key
        What ``--figure`` takes: ``"3"``, ``"example-1"``, ``"numbers"``.
    title
        What it shows, in a few words.
    draw
        Computes, draws and judges.
    needs
        The data sets without which it cannot be drawn: ``"adult"``, ``"gowalla"``.
    by_cell
        Whether its data shows such a data set cell by cell, and so must not be passed on.
    on_map
        Whether it measures distances on a map, which takes the extra ``transport``.
    basis
        What its verdicts rest on, where a claim does not say otherwise.
    """

    key: str
    title: str
    draw: Callable[[Setting], Drawn]
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
        """What it is called in a heading: "Figure 3", "Example 1"."""
        return f"Figure {self.key}" if self.key[0].isdigit() else self.key.replace("-", " ").capitalize()

    def file(self, name: str) -> str:
        """The name of the files of one of its charts or tables, without an ending.

        >>> Exhibit("10-visits", "", lambda setting: Drawn({}, {})).file("by_alpha")
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
        What ``discreet study`` takes.
    letter
        How the documentation cites the paper: ``"F"`` for [F].
    paper
        Authors, title and year.
    exhibits
        In the paper's order.
    doi
        The digital object identifier of the paper; empty for results of our own.
    self_tested
        Whether its claims are our own, so that claimant and judge are the same.
    """

    name: str
    letter: str
    paper: str
    exhibits: tuple[Exhibit, ...]
    doi: str = ""
    self_tested: bool = False
