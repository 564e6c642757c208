"""``dc.compare``: several mechanisms for the same counts at the same privacy, side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np

from .. import losses, plots, utility
from ..checking import check
from ..errors import ON_A_RANGE, InvalidInput, arg, warn_renamed
from ..exact.arrays import FloatArray
from ..exact.rationals import Number, read_alpha, text_up
from ..files import read_subject
from ..lists import is_list, read_list
from ..mechanism import Mechanism, read_count
from ..mechanisms.families import Family
from ..mechanisms.matrices import from_matrix
from ..optimise.families import FAMILIES
from ..optimise.improve.remapping import remap
from ..plots.chart import PALETTE, Chart
from ..privacy.notions import between, usual_notion
from ..privacy.verify import verify
from ..progress import with_bar
from ..properties import PROPERTIES
from ..ptables.table import PTable
from ..report import Fact, Json, Picture, Report, Result, Section, Terms, TextTable, plain, stamped
from ..spaces import Counts, Space, completed, is_space
from ..tabular import Columns, Tabular
from ..wording import listed, percent, rounded
from .families_on_spaces import families_on
from .sweeps import ComparisonSweep

#: Maximum number of mechanisms in a picture: as many as it has colours.
MAX_DRAWN = len(PALETTE)

#: Relative difference of costs that counts as rounding.
SAME_COST = 1e-9


@dataclass(frozen=True)
class ComparedMechanism(Result):
    """One mechanism of a comparison.

    ``costs`` are expected losses under the prior, ``worst`` in the worst case over truths; ``error`` is the mean
    absolute error for each true count. They belong to ``reader``: the mechanism itself or, if its reports are not
    counts, the mechanism with each report read as the likeliest count. ``share_variance`` is for surveys: the variance
    of an estimated share from reports, times the number of people, for the count that is hardest to estimate.
    """

    name: str
    title: str
    mechanism: Mechanism
    epsilon: float
    local_epsilon: float
    costs: Mapping[str, float]
    worst: Mapping[str, float]
    properties: tuple[str, ...]
    truth: tuple[float, float]
    error: FloatArray
    reader: Mechanism
    share_variance: float

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values; an infinite epsilon is "infinity"."""
        return {
            "name": self.name,
            "title": self.title,
            "epsilon": plain(self.epsilon),
            "local_epsilon": plain(self.local_epsilon),
            "costs": dict(self.costs),
            "worst_case": dict(self.worst),
            "properties": list(self.properties),
            "probability_of_truth": {"least": self.truth[0], "largest": self.truth[1]},
            "mean_absolute_error_by_true_count": self.error.tolist(),
            "share_variance": plain(self.share_variance),
        }

    def report(self) -> Report:
        """Return privacy, expected losses and properties of this mechanism."""
        least, largest = (percent(share) for share in self.truth)
        terms = (
            ("epsilon", f"{text_up(self.epsilon, 4)} {_between(self.mechanism.inputs)}"),
            ("", f"{text_up(self.local_epsilon, 4)} between any two {self.mechanism.inputs.noun}s"),
            *((name, f"{cost:.4f}, in the worst case {self.worst[name]:.4f}") for name, cost in self.costs.items()),
            ("truth", f"reported {least if least == largest else f'{least} to {largest}'} of the time"),
            ("share", _survey(self.share_variance)),
            ("has", listed([f"{PROPERTIES[code].name} ({code})" for code in self.properties]) or "no property"),
        )
        title = self.name if self.title == self.name else f"{self.name}: {self.title}"
        return Report(title, "Mechanism", sections=(Section(parts=(Terms(terms),)),))


@dataclass(frozen=True)
class Comparison(Tabular, Result):
    """Mechanisms for the same values side by side. ``str()`` returns tables; :meth:`save` writes a page or a picture.

    Examples
    --------
    >>> import discreet as dc
    >>> both = dc.compare(4, alpha="1/2", families=["GM", "EM"])
    >>> both["EM"].properties, both.n, both.privacy
    (('S', 'RH', 'RM', 'CH', 'CM', 'F', 'WH'), 4, 'alpha = 1/2')
    """

    n: int
    privacy: str
    rows: tuple[ComparedMechanism, ...]
    #: The meaning of each loss in words, by its name.
    losses: Mapping[str, str] = field(default_factory=dict)
    #: The true values, where they are not counts.
    space: Space | None = None

    @property
    def asked(self) -> str:
        """Deprecated alias of ``privacy``."""
        warn_renamed("asked", "privacy")
        return self.privacy

    def __getitem__(self, name: str) -> ComparedMechanism:
        for row in self.rows:
            if row.name == name:
                return row
        raise InvalidInput(
            f"{name!r} is not in this comparison.", f"Choose from {', '.join(row.name for row in self.rows)}."
        )

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values, as in ``schemas/comparison.json``."""
        values: dict[str, Json] = {"n": self.n} if self.space is None else {"space": self.space.to_json()}
        content: dict[str, Json] = {
            **values,
            "asked": self.privacy,
            "losses": dict(self.losses),
            "mechanisms": [row.to_json() for row in self.rows],
        }
        return stamped("comparison", 1, content)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and cells, as text: the tight epsilon, the expected losses, the properties."""
        names = list(self.rows[0].costs)
        headings = ["name", "epsilon", *names, "share", "properties"]
        cells = [
            [
                row.name,
                text_up(row.epsilon, 4),
                *(f"{row.costs[name]:.4f}" for name in names),
                _variance(row.share_variance),
                " ".join(row.properties) or "-",
            ]
            for row in self.rows
        ]
        return headings, cells

    def worst_table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and cells, as text, in the worst case over true counts."""
        names = list(self.rows[0].worst)
        headings = ["name", *(f"worst {name}" for name in names), "truth at least", "truth at most"]
        cells = [
            [row.name, *(f"{row.worst[name]:.4f}" for name in names), *(f"{p:.4f}" for p in row.truth)]
            for row in self.rows
        ]
        return headings, cells

    def report(self) -> Report:
        """Return the tables, the meaning of their columns, and charts."""
        (headings, cells), (worst_headings, worst_cells) = self.table(), self.worst_table()
        average = TextTable(tuple(headings), tuple(map(tuple, cells)), tuple(range(1, len(headings) - 1)), (0,))
        worst = TextTable(
            tuple(worst_headings), tuple(map(tuple, worst_cells)), tuple(range(1, len(worst_headings))), (0,)
        )
        names = Terms(tuple((row.name, row.title) for row in self.rows))
        costs = Picture("bars", {"rows": self._costs()}, "Shorter is better.")
        limit = f" The first {MAX_DRAWN} mechanisms." if len(self.rows) > MAX_DRAWN else ""
        errors = Picture("error", {"mechanisms": self._readers()}, f"Lower is better.{limit}")
        return Report(
            self._title,
            "Comparison",
            tuple(self._least(name) for name in list(self.rows[0].costs)[:4]),
            (
                Section("Expected loss", (average,)),
                Section(f"Worst case over true {self._space.noun}s", (worst,)),
                Section("Expected loss and worst case, as bars", (costs,), "pages"),
                Section(f"Mean absolute error by true {self._space.noun}", (errors,), "pages"),
                Section("The mechanisms", (names,)),
                Section("What the columns mean", (Terms(self._columns()),), "pages"),
            ),
        )

    def describe(self, width: int = 100) -> str:
        """Return the tables as text for a terminal of this width, with every mechanism."""
        return self.report().text(width, most=max(1, len(self.rows)))

    def __str__(self) -> str:
        return self.describe()

    def data_columns(self) -> Columns:
        """Return a row for each mechanism: epsilons, expected losses, the worst case, shares and properties."""
        rows = self.rows
        return {
            "name": [row.name for row in rows],
            "epsilon": [row.epsilon for row in rows],
            "local epsilon": [row.local_epsilon for row in rows],
            **{name: [row.costs[name] for row in rows] for name in rows[0].costs},
            **{f"worst {name}": [row.worst[name] for row in rows] for name in rows[0].worst},
            "truth at least": [row.truth[0] for row in rows],
            "truth at most": [row.truth[1] for row in rows],
            "share variance": [row.share_variance for row in rows],
            "properties": [" ".join(row.properties) for row in rows],
        }

    def _headline(self) -> str:
        return self._title

    @property
    def _title(self) -> str:
        return f"Mechanisms for {self.values}, {self.privacy}"

    @property
    def values(self) -> str:
        """The true values in words, such as "the counts 0..8"."""
        return _values_of(self._space)

    @property
    def _space(self) -> Space:
        return Counts(self.n) if self.space is None else self.space

    def _least(self, loss: str) -> Fact:
        """Return the mechanisms with the least expected loss, and that loss."""
        least = min(row.costs[loss] for row in self.rows)
        names = [row.name for row in self.rows if row.costs[loss] <= least + SAME_COST * abs(least)]
        return Fact(listed(names), f"least expected {loss}: {rounded(least)}")

    def _columns(self) -> tuple[tuple[str, str], ...]:
        """Return the meaning of each column of the tables."""
        noun = self._space.noun
        return (
            ("epsilon", f"The smallest epsilon for which the mechanism is private, {_between(self._space)}."),
            *((name, f"{words[:1].upper()}{words[1:]}.") for name, words in self.losses.items()),
            ("worst", f"The same loss, for the true {noun} at which it is largest."),
            ("truth", f"The probability that the true {noun} is reported, at least and at most over true {noun}s."),
            ("share", "The variance of an estimated share in a survey of single answers, times the number of people."),
            *((code, f"{prop.name}: {prop.sentence}") for code, prop in PROPERTIES.items()),
        )

    def _costs(self) -> list[dict[str, Any]]:
        """Return a row for each mechanism and measure, for the bars."""
        return [
            {"name": row.name, "measure": f"{measure}{kind}", "value": value}
            for row in self.rows
            for kind, costs in (("", row.costs), (", worst case", row.worst))
            for measure, value in costs.items()
        ]

    def _readers(self) -> dict[str, Mechanism]:
        return {row.name: row.reader for row in self.rows[:MAX_DRAWN]}

    def chart(self) -> Chart:
        """Return a picture of the costs of every mechanism, and of the error by true count."""
        costs = plots.comparison(self._costs(), "What it costs", "Expected loss; shorter is better.")
        errors = plots.error(self._readers(), "L1", f"Error by true {self._space.noun}")
        return plots.beside([costs, errors], self._title, columns=1)

    def save(self, path: str | Path) -> None:
        """Write a page (.html, which loads nothing), the charts (.png or .svg), or the numbers (.json)."""
        file = Path(path)
        if file.suffix == ".json":
            file.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")
        elif file.suffix == ".html":
            self.report().save(file)
        else:
            self.chart().save(file)


@overload
def compare(
    n: object = None,
    *,
    epsilon: Number | None = None,
    alpha: Number | None = None,
    epsilons: None = None,
    families: Iterable[str] | Mapping[str, object] | None = None,
    others: Mapping[str, object] | None = None,
    loss: object = ("L0", "L1", "L2"),
    prior: object = None,
    progress: bool | None = None,
) -> Comparison: ...
@overload
def compare(
    n: object = None,
    *,
    epsilons: Iterable[Number],
    families: Iterable[str] | Mapping[str, object] | None = None,
    others: Mapping[str, object] | None = None,
    loss: object = ("L0", "L1", "L2"),
    prior: object = None,
    progress: bool | None = None,
) -> ComparisonSweep: ...
def compare(
    n: object = None,
    *,
    epsilon: Number | None = None,
    alpha: Number | None = None,
    epsilons: Iterable[Number] | None = None,
    families: Iterable[str] | Mapping[str, object] | None = None,
    others: Mapping[str, object] | None = None,
    loss: object = ("L0", "L1", "L2"),
    prior: object = None,
    progress: bool | None = None,
) -> Comparison | ComparisonSweep:
    """Put mechanisms for the counts 0..n, or for the values of a space, side by side.

    A comparison states the costs, properties, error by true value and tight epsilon of each.

    Parameters
    ----------
    n
        The largest count, or a finite space with a distance: epsilon is then per unit of distance. By default the
        values of the mechanisms. Or the mechanisms themselves, by name:
        ``compare({"mine": matrix, "GM": dc.geometric(4, epsilon=1)})``.
    epsilon, alpha
        The privacy of all families; exactly one, unless only finished mechanisms are compared.
    epsilons
        Several of them instead: a sweep, whose ``comparisons`` are in their order.
    families
        Names (``discreet compare --help`` lists the short ones), by default all; or a mapping from names to mechanisms,
        matrices of probabilities (arrays, lists, data frames; rows are truths) and files that hold one of these.
    others
        Mechanisms, matrices and files by name, compared with ``families``; alone where neither a privacy nor families
        are given.
    loss
        The losses to report: one, or a list; names, losses, matrices or functions of the true and the reported count.
    prior
        The probability of each true count; uniform by default.
    progress
        Whether a sweep shows a bar; by default only on a terminal.

    Examples
    --------
    >>> c = compare(8, alpha="10/11", families=["GM", "EM"])
    >>> [row.name for row in c.rows], round(c["GM"].costs["L0"], 4)
    (['GM', 'EM'], 0.8466)
    >>> compare({"mine": [[0.75, 0.25], [0.25, 0.75]]})["mine"].properties
    ('S', 'RH', 'RM', 'CH', 'CM', 'F', 'WH')
    """
    if epsilons is not None:
        if epsilon is not None or alpha is not None:
            raise InvalidInput(f"give either {arg('epsilons')} or one {arg('epsilon')}, not both.")
        options = {"families": families, "others": others, "loss": loss, "prior": prior}
        return _sweep(n, read_list(epsilons, "epsilons", "numbers"), progress, options)
    if isinstance(n, Mapping):
        if families is not None:
            raise InvalidInput("mechanisms were given twice.", f"Give them first, or as {arg('families')}, not both.")
        n, families = None, n
    ready = {**(others or {}), **(families if isinstance(families, Mapping) else {})}
    mechanisms = {str(name): _read(str(name), one) for name, one in ready.items()}
    privacy = "as given"
    only_ready = others is not None and families is None and alpha is None and epsilon is None
    if n is None and (mechanisms or only_ready or isinstance(families, Mapping)):
        space = _first_space(mechanisms)
    else:
        space = completed(n) if is_space(n) and getattr(n, "size", None) is not None else Counts(read_count(n))
    if not isinstance(families, Mapping) and not only_ready:
        a = read_alpha(alpha, epsilon)
        if not mechanisms:
            privacy = f"epsilon = {epsilon}" if alpha is None else f"alpha = {alpha}"
        selected = None if families is None else [_find(name) for name in read_list(families, "families", "names")]
        mechanisms |= families_on(space, a, selected)
    if not mechanisms:
        raise InvalidInput("there is nothing to compare.", "Name at least one family or mechanism.")
    several = is_list(loss) and not isinstance(loss, np.ndarray)
    measures = [losses.resolve(one) for one in (read_list(loss, "loss", "losses") if several else [loss])]
    rows = tuple(_examine(name, m, space, measures, prior) for name, m in mechanisms.items())
    sentences = {one.name: one.sentence for one in measures}
    return Comparison((space.size or 0) - 1, privacy, rows, sentences, None if space.is_line else space)


def _sweep(n: object, epsilons: list[Number], progress: bool | None, options: dict[str, Any]) -> ComparisonSweep:
    """Return the comparisons at several epsilons; finished mechanisms alone have none to choose."""
    if isinstance(n, Mapping) or isinstance(options["families"], Mapping):
        raise InvalidInput(
            "finished mechanisms have a privacy of their own.",
            f"Compare them without {arg('epsilons')}, or give them as {arg('others')}.",
            argument="epsilons",
        )
    if not epsilons:
        raise InvalidInput("there is nothing to compare.", "Name at least one epsilon.", argument="epsilons")
    comparisons = [compare(n, epsilon=one, **options) for one in with_bar(epsilons, "comparisons", progress)]
    return ComparisonSweep(tuple(map(str, epsilons)), tuple(comparisons))


def _read(name: str, source: object) -> Mechanism:
    """Return a mechanism itself, from a file, or from a matrix of probabilities with exactly its decimals."""
    subject = read_subject(source)[0] if isinstance(source, str | Path) else source
    if isinstance(subject, Mechanism):
        return subject
    if isinstance(subject, PTable):
        raise InvalidInput(
            f"{name} is a p-table, which is not a mechanism on the counts 0..n.", "Judge it with dc.verify."
        )
    try:
        return from_matrix(subject)
    except InvalidInput as problem:
        raise InvalidInput.because(f"{name} cannot be compared", problem) from None


def _first_space(mechanisms: Mapping[str, Mechanism]) -> Space:
    """Return the values of the first mechanism; the others must have the same."""
    for name, mechanism in mechanisms.items():
        if mechanism.inputs.size is None:
            raise InvalidInput(
                f"{name} is for infinitely many values, {mechanism.inputs!r}.",
                f"Choose a range with {ON_A_RANGE} first.",
                argument="families",
            )
        return mechanism.inputs
    raise InvalidInput("there is nothing to compare.", "Name at least one family or mechanism.")


def _find(name: str) -> Family:
    """Return the family with this name, short or in full."""
    return FAMILIES.find(name, "compare", "the name of a mechanism to compare", shown=lambda family: family.short)


def _title(name: str, mechanism: Mechanism) -> str:
    """Return the title of a family by its short name; for other mechanisms, their family."""
    if mechanism.family == "metric_geometric":
        return FAMILIES[mechanism.family].title
    if mechanism.family == name.lower() and not mechanism.inputs.is_line:
        return "exponential, score -d(x, y)"
    title = next((family.title for family in FAMILIES.offered("compare") if family.short == name), mechanism.family)
    return f"{title}, reports read as the likeliest count" if mechanism.kernel.reports_are_sets else title


def _examine(
    name: str, mechanism: Mechanism, space: Space, measures: list[losses.Loss], prior: object
) -> ComparedMechanism:
    if mechanism.inputs != space:
        raise InvalidInput(
            f"{name} is not a mechanism for {_values_of(space)}; its truths are {mechanism.inputs!r}.",
            f"Compare mechanisms for the same {space.noun}s.",
        )
    reader = remap(mechanism, "L0", prior) if mechanism.kernel.reports_are_sets else mechanism
    truth = np.asarray(utility.probability_of_truth(reader), float)
    return ComparedMechanism(
        name=name,
        title=_title(name, mechanism),
        mechanism=mechanism,
        epsilon=_usual_epsilon(mechanism),
        local_epsilon=mechanism.local_epsilon,
        costs={one.name: float(utility.cost(reader, one, prior)) for one in measures},
        worst={one.name: float(utility.cost(reader, one, worst_case=True)) for one in measures},
        properties=tuple(code for code, result in check(reader).items() if result.holds),
        truth=(float(truth.min()), float(truth.max())),
        error=np.asarray(utility.expected_loss(reader, "L1"), float),
        reader=reader,
        share_variance=float(utility.share_variances(mechanism).max()),
    )


def _survey(variance: float) -> str:
    if math.isinf(variance):
        return "no survey of single answers can estimate shares from its reports"
    return f"the variance of an estimated share in a survey of single answers is {_variance(variance)} over the people"


def _variance(value: float) -> str:
    """Return a variance for people; a dash for an infinite one."""
    return "-" if math.isinf(value) else f"{value:,.0f}" if value >= 100 else rounded(value)


def _usual_epsilon(mechanism: Mechanism) -> float:
    """Return the epsilon under the notion that is usual for its values."""
    notion = usual_notion(mechanism.inputs)
    if mechanism.certificate.notion == notion and not mechanism.certificate.delta:
        return mechanism.certificate.epsilon
    return verify(mechanism, notion).epsilon


def _between(space: Space) -> str:
    return between(usual_notion(space), space)


def _values_of(space: Space) -> str:
    return f"the counts 0..{(space.size or 0) - 1}" if space.is_line else repr(space)
