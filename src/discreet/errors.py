"""What can go wrong, as a tree.

::

    DiscreetError
    ├── InvalidInput (ValueError)     an argument that cannot be used: what was given, what is allowed, what to do
    │   ├── ForeignValue              a value that does not belong to the space it was given for
    │   ├── WrongType (TypeError)     a value of a kind that is never accepted (a float where a count belongs)
    │   ├── UnreadableFile            a file that is not what it should be
    │   │   └── Altered               a file of a known kind that is not as it was written, or contradicts itself
    │   └── Conflict                  requirements that no mechanism meets together; the message names them
    ├── Unsupported                   a sensible question this object cannot answer; the message names what can
    ├── NotPrivate                    a claim the judge refutes, with the witness
    ├── BudgetExceeded                a release that the ledger cannot pay for: spent, asked, left
    ├── SourceFailed                  the engine stopped while reading; its own words could quote data and are withheld
    ├── NotCertified                  an answer found in floats that could not be proved in integers
    └── MissingExtra (ImportError)    an optional dependency is absent; the message is the install command

    WeakLocalPrivacy (UserWarning)    a mechanism proved for counts is used on people's own values

Every message says what was given, what is allowed and what to do next. No message quotes a true value:
it might be one that must not be logged. The position is told instead. An argument is named as Python writes it, with
the sign: ``epsilon=...``, ``notion='local'``, ``over=Counts(n)``. The command line shows the same message with its own
options (``discreet.cli.output.in_options``), so no message outside it names an option.

>>> import discreet as dc
>>> try:
...     dc.geometric(10, epsilon=1).release(11)
... except dc.errors.DiscreetError as problem:
...     print(problem)
a value is not a count in 0..10. Give values in that range, or build for a larger n.
"""

from __future__ import annotations


class DiscreetError(Exception):
    """The root of every error raised on purpose by this package.

    >>> issubclass(NotPrivate, DiscreetError)
    True
    """


class InvalidInput(DiscreetError, ValueError):
    """An argument that cannot be used.

    >>> import discreet as dc
    >>> dc.geometric(10)
    Traceback (most recent call last):
    discreet.errors.InvalidInput: give exactly one of epsilon=... and alpha=... (alpha = e^-epsilon); got neither.
    """


class ForeignValue(InvalidInput):
    """A value that does not belong to the space it was given for.

    >>> import discreet as dc
    >>> dc.Labels(["a", "b"]).index("c")
    Traceback (most recent call last):
    discreet.errors.ForeignValue: a value is not one of the 2 labels ('a', 'b').
    """


class WrongType(InvalidInput, TypeError):
    """A value of a kind that is never accepted, such as a float where a count belongs.

    >>> import discreet as dc
    >>> dc.geometric(10, epsilon=1).release([3.0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.WrongType: counts must be integers; got float values. ...
    """


class UnreadableFile(InvalidInput):
    """A file that is not what it claims or needs to be.

    >>> import discreet as dc
    >>> dc.load("no such file")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: cannot read no such file: No such file or directory.
    """


class Altered(UnreadableFile):
    """A file of a known kind that was damaged or changed: it is not as it was written, or does not have what it says.

    ``discreet verify`` takes it as an answer, "does not hold" (exit code 1); for other purposes it is unusable.

    >>> issubclass(Altered, UnreadableFile)
    True
    """


class Conflict(InvalidInput):
    """Requirements that no mechanism meets together. ``requirements`` names a smallest set of them that clash.

    ``proved`` says whether it is proved (a combination of the inequalities contradicts itself, added up with a bound on
    every rounding) or only what the linear solver says.

    >>> import discreet as dc
    >>> dc.design(4, alpha="1/2", properties=["S", "support<=1"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.Conflict: no mechanism on the counts 0..4 has all of these together: alpha = 1/2 ...
    """

    def __init__(self, message: str, requirements: tuple[str, ...] = (), *, proved: bool = False) -> None:
        super().__init__(message)
        self.requirements = requirements
        self.proved = proved


class Unsupported(DiscreetError):
    """A sensible question that this object cannot answer.

    >>> import discreet as dc
    >>> dc.two_sided_geometric(epsilon=1).matrix  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.Unsupported: a matrix needs finitely many counts, and this noise is unbounded. Choose a range ...
    """


class NotPrivate(DiscreetError):
    """A claimed guarantee that the judge refutes.

    >>> import discreet as dc
    >>> dc.from_matrix([[0.9, 0.1], [0.1, 0.9]], privacy=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.NotPrivate: the matrix does not have epsilon = 1, delta = 0 under the central notion, ...
    """


class BudgetExceeded(DiscreetError):
    """A release that the ledger cannot pay for; the message says what was spent, what was asked and what is left.

    >>> issubclass(BudgetExceeded, InvalidInput)
    False
    """


class SourceFailed(DiscreetError):
    """The engine stopped while it read the table. What it said is withheld, because it could quote a person's row.

    >>> issubclass(SourceFailed, DiscreetError)
    True
    """


class NotCertified(DiscreetError):
    """An answer found in floating point that could not be proved in integers, so it is not given out.

    >>> issubclass(NotCertified, DiscreetError)
    True
    """


class MissingExtra(DiscreetError, ImportError):
    """An optional dependency is absent.

    >>> print(MissingExtra("vl-convert-python", "plots"))
    this needs the package 'vl-convert-python'; install it with: pip install 'discreet[plots]'
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs the package {package!r}; install it with: pip install 'discreet[{extra}]'")


class WeakLocalPrivacy(UserWarning):
    """A mechanism that was proved for counts is used on people's own values; the message states its epsilon there.

    >>> issubclass(WeakLocalPrivacy, DiscreetError)
    False
    """
