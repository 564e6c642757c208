"""The families of mechanisms: one description each, read by everything that knows mechanisms by name.

A :class:`Family` is data, and this module imports nothing heavy: functions are given as ``module:function`` and loaded
when they are used. :data:`CLOSED_FORMS` has the families of this package. A package further down that has families of
its own extends it (``optimise/families.py``), and everything below that reads the sum: the verbs and their help,
``dc.compare``, ``dc.calibrate``, ``dc.release_counts``, the documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InvalidInput
from ..wording import find_name, plain

if TYPE_CHECKING:
    from ..mechanism import Mechanism

#: The kind of law: noise added to a count, a table of probabilities for each range, a value that is kept or replaced by
#: any other, noise on a map, points of a projective space.
Kind = Literal["noise", "table", "response", "map", "points"]

#: The parameters of a family. "n": the largest count; "space": any finite space; "privacy": one of epsilon and alpha;
#: "noise": the parameters of bounded noise other than epsilon and reach; "q": the prime of a projective space.
#: ``cli/design.py`` has the options of each.
Parameter = Literal[
    "n", "space", "grid", "privacy", "epsilon", "sigma2", "border", "reach", "noise", "base", "below", "q"
]  # fmt: skip

#: The verbs that offer a family by name. "known": the known mechanisms that are tried before a design is refused.
Use = Literal["design", "known", "compare", "calibrate", "release", "reconstruct", "plan"]

#: The argument that names a family, by verb.
_ARGUMENT: dict[Use, str] = {
    "design": "family", "calibrate": "family", "compare": "families", "release": "mechanism", "plan": "mechanism",
}  # fmt: skip


@dataclass(frozen=True)
class Family:
    """A family of mechanisms: its names, the function that builds it, and the verbs that offer it.

    Attributes
    ----------
    name
        The name of its function in Python, and of its mechanisms in files.
    title
        Its name in a sentence.
    kind
        The kind of its law.
    build
        The function that builds it, as ``module:function``, with a module that is absolute or relative to ``discreet``.
        Its first argument is n, space or grid if that is the first parameter; the others go by name.
    parameters
        The arguments of that function.
    uses
        The verbs that offer it by name.
    short
        Its name in the tables of :func:`discreet.compare`.
    aliases
        Further names that people use.
    saved
        The arguments that a file keeps and from which a mechanism is rebuilt. Without them a file keeps exact integers.
    unbounded
        The function that builds the same noise on all integers, from epsilon or sigma2. A release then needs one
        mechanism for groups of all sizes; without it, each size has a table of its own.
    kernel, steps
        For calibration, where building spends most of its time on the proof: the function that makes the law alone,
        from a space and an epsilon, and the least and the largest epsilon times the unit of the space.

    Examples
    --------
    >>> CLOSED_FORMS["explicit_fair"].title, CLOSED_FORMS["explicit_fair"].cli_name
    ('explicit fair', 'explicit-fair')
    >>> CLOSED_FORMS["explicit_fair"].make(2, alpha="1/2").probability(0, 0)
    Fraction(1, 2)
    """

    name: str
    title: str
    kind: Kind
    build: str
    parameters: tuple[Parameter, ...]
    uses: tuple[Use, ...]
    short: str = ""
    aliases: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()
    unbounded: str = ""
    kernel: str = ""
    steps: str = ""

    @property
    def cli_name(self) -> str:
        """The name on the command line."""
        return plain(self.name)

    @property
    def names(self) -> tuple[str, ...]:
        """All of its names."""
        return tuple(name for name in (self.name, self.short, *self.aliases) if name)

    @property
    def function(self) -> Callable[..., Mechanism]:
        """The function that builds it."""
        build: Callable[..., Mechanism] = resolve(self.build)
        return build

    def make(self, *arguments: object, **options: object) -> Mechanism:
        """Return a mechanism of this family."""
        return self.function(*arguments, **options)


def resolve(place: str) -> Any:
    """Return the object at ``module:name``; its module is loaded now.

    >>> resolve(".mechanisms.fair:explicit_fair").__name__
    'explicit_fair'
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module, "discreet"), name)


class Families(Mapping[str, Family]):
    """Families by name, in order: those of the registry it extends first.

    Parameters
    ----------
    families
        The families that this registry adds.
    above
        The registry that it extends, which does not know of this one.
    """

    def __init__(self, families: Iterable[Family], above: Families | None = None) -> None:
        self._families = {family.name: family for family in families}
        self._above = above

    def _all(self) -> dict[str, Family]:
        return {**(self._above._all() if self._above is not None else {}), **self._families}

    def __getitem__(self, name: str) -> Family:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def offered(self, use: Use) -> list[Family]:
        """Return the families that this verb offers."""
        return [family for family in self.values() if use in family.uses]

    def title(self, name: str) -> str:
        """Return the name of a family in a sentence; for an unknown family, its name in Python with blanks.

        >>> CLOSED_FORMS.title("randomized_response"), CLOSED_FORMS.title("designed"), CLOSED_FORMS.title("from_matrix")
        ('randomised response', 'designed', 'from matrix')
        """
        return self[name].title if name in self else name.replace("_", " ")

    def cli_names(self, use: Use) -> list[str]:
        """Return the names on the command line of the families that this verb offers."""
        return [family.cli_name for family in self.offered(use)]

    def find(
        self, name: object, use: Use, what: str, *, shown: Callable[[Family], str] | None = None, listed: str = ""
    ) -> Family:
        """Return the family with this name among those a verb offers; refuse an unknown name and suggest the nearest.

        Parameters
        ----------
        name
            Any of its names, in any case, with hyphens, underscores or blanks.
        use
            The verb.
        what
            The words of the message for what is named: "a family".
        shown
            A function that returns the name of a family in the message; by default its name on the command line.
        listed
            The list of all names in the message, if it differs from the names shown.

        Examples
        --------
        >>> CLOSED_FORMS.find("Explicit_Fair", "design", "a family").name, CLOSED_FORMS.find("EM", "design", "...").name
        ('explicit_fair', 'explicit_fair')
        """
        display = shown or (lambda family: family.cli_name)
        families = {display(family): family for family in self.offered(use)}
        others = {other: primary for primary, family in families.items() for other in family.names}
        return families[find_name(name, families, what, others, listed=listed, argument=_ARGUMENT.get(use))]

    def built_by(self, function: object) -> Family | None:
        """Return the family that a function builds; None for any other function."""
        family = self.get(getattr(function, "__name__", ""))
        return family if family is not None and family.function is function else None

    @contextmanager
    def including(self, family: Family) -> Iterator[None]:
        """Include one more family, here and in every registry that extends this one, for the length of the block."""
        used = {plain(name) for other in self.values() for name in other.names}
        clash = next((name for name in family.names if plain(name) in used), None)
        if clash is not None:
            raise InvalidInput(f"{clash!r} is the name of a family already.", f"Choose another for {family.name}.")
        self._families[family.name] = family
        try:
            yield
        finally:
            del self._families[family.name]


#: The closed forms of this package, in the order of every list.
CLOSED_FORMS = Families(
    [
        Family(
            "geometric", "truncated geometric", "noise", ".mechanisms.geometric:geometric", ("n", "privacy"),
            ("design", "known", "compare", "calibrate", "release", "reconstruct", "plan"),
            short="GM", aliases=("truncated geometric",), saved=("n", "alpha"),
            unbounded=".mechanisms.geometric:two_sided_geometric",
        ),
        Family(
            "two_sided_geometric", "two-sided geometric", "noise", ".mechanisms.geometric:two_sided_geometric",
            ("privacy",), ("design",), aliases=("two sided",), saved=("alpha",),
        ),
        Family(
            "bounded_geometric", "bounded geometric", "noise", ".mechanisms.geometric:bounded_geometric",
            ("reach", "privacy"), (), saved=("reach", "alpha"),
        ),
        Family(
            "metric_geometric", "geometric on a metric space", "table", ".mechanisms.metric:metric_geometric",
            ("space", "privacy"), ("design", "calibrate"),
        ),
        Family(
            "explicit_fair", "explicit fair", "table", ".mechanisms.fair:explicit_fair", ("n", "privacy"),
            ("design", "known", "compare", "calibrate", "release"),
            short="EM", aliases=("fair",), saved=("n", "alpha"),
        ),
        Family(
            "uniform", "uniform", "response", ".mechanisms.response:uniform", ("n",), ("design", "known", "compare"),
            short="UM", saved=("n",),
        ),
        Family(
            "randomized_response", "randomised response", "response", ".mechanisms.response:randomized_response",
            ("space", "privacy"), ("design", "known", "compare", "calibrate", "release", "reconstruct", "plan"),
            short="k-RR", aliases=("kRR", "RR", "randomised response"), saved=("space", "alpha"),
        ),
        Family(
            "projective_response", "projective response", "points", ".mechanisms.projective:projective_response",
            ("space", "privacy", "q"), ("design", "compare", "calibrate", "plan"),
            short="PGR", aliases=("projective geometry response", "projective"), saved=("space", "alpha", "q"),
        ),
        Family(
            "rounded_laplace", "rounded Laplace", "noise", ".mechanisms.laplace:rounded_laplace", ("n", "epsilon"),
            ("design", "compare", "calibrate", "release"),
            short="Laplace", saved=("n", "epsilon"), unbounded=".mechanisms.laplace:unbounded_laplace",
        ),
        Family(
            "exponential", "exponential, score -|x - y|", "table", ".mechanisms.matrices:exponential_by_distance",
            ("n", "epsilon"), ("compare",), short="Exponential",
        ),
        Family(
            "discrete_gaussian", "discrete Gaussian", "noise", ".mechanisms.gaussian:discrete_gaussian", ("sigma2",),
            ("design", "release"),
            aliases=("Gaussian",), saved=("sigma2",), unbounded=".mechanisms.gaussian:discrete_gaussian",
        ),
        Family(
            "planar_geometric", "planar geometric", "map", ".mechanisms.planar:planar_geometric",
            ("grid", "epsilon", "border"), ("design", "calibrate", "reconstruct", "plan"),
            saved=("grid", "epsilon", "border"),
            kernel=".mechanisms.planar:geometric_kernel", steps=".mechanisms.planar:STEPS",
        ),
        Family(
            "planar_laplace", "planar Laplace", "map", ".mechanisms.planar:planar_laplace",
            ("grid", "epsilon", "border"), ("design", "calibrate", "reconstruct", "plan"),
            saved=("grid", "epsilon", "border"),
            kernel=".mechanisms.planar:laplace_kernel", steps=".mechanisms.planar:STEPS",
        ),
        Family(
            "random_rounding", "random rounding", "table", ".mechanisms.practice:random_rounding", ("n", "base"),
            ("design",), saved=("n", "base"),
        ),
        Family(
            "suppression", "suppression", "table", ".mechanisms.practice:suppression", ("n", "below"),
            ("design",), saved=("n", "below"),
        ),
    ]
)  # fmt: skip
