"""Errors of the package, as a tree.

::

    DiscreetError
    ├── InvalidInput (ValueError)     an argument that cannot be used: what was given, what is allowed, what to do
    │   ├── ForeignValue              a value that does not belong to the space it was given for
    │   ├── WrongType (TypeError)     a value of a kind that is never accepted (a float where a count belongs)
    │   ├── UnreadableFile            a file that cannot be used: missing, damaged, or of another kind
    │   │   └── Altered               a file of a known kind that was changed, or contradicts itself
    │   └── Conflict                  requirements that no mechanism meets together; the message names them
    ├── Unsupported                   a sensible question this object cannot answer; the message names what can
    ├── NotPrivate                    a claim the judge refutes, with the witness
    ├── BudgetExceeded                a release that the ledger cannot pay for: spent, asked, left
    ├── NotAccepted                   a release whose plan does not meet your acceptance criteria
    ├── SourceFailed                  the engine stopped while reading; its own words could quote data and are withheld
    ├── NotCertified                  an answer found in floats that could not be proved in integers
    └── MissingExtra (ImportError)    an optional dependency is absent; the message is the install command

    WeakLocalPrivacy (UserWarning)    a mechanism proved for counts is used on people's own values

Every message says what was given, what is allowed and what to do next. The error keeps these parts, so that a form or a
program gets them too: ``InvalidInput(problem, advice)``, :meth:`InvalidInput.must_be` for an argument with a wrong
value, :meth:`DiscreetError.because` for an error that another caused. No message quotes a true value, which must not be
logged; it gives the position instead. A message mentions arguments by :func:`arg` and :func:`named`, and calls by
:func:`call`. ``str(problem)`` writes them as Python does; the command line writes its options and verbs in their place
(``problem.written``), a form the titles of its fields (``problem.form_field``).

>>> import discreet as dc
>>> try:
...     dc.geometric(10, epsilon=1).release(11)
... except dc.errors.DiscreetError as problem:
...     print(problem)
a value is not a count in 0..10. Give values in that range, or build for a larger n.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

# An f-string is one text before this module sees it, so delimiters keep mentions apart from the names and values of
# users. Templates with {epsilon} would confuse mentions with braces in names of columns and files, unless each of the
# 277 mentions passed its values separately; the template strings of Python 3.14 will do that without further code. A
# user's text in the form of a mention is written like one, and can garble nothing but its own message.
#: Delimiters around a mention and between its parts: noncharacters, which Unicode reserves for such internal use.
_BEGIN, _BETWEEN, _END = "\ufdd0", "\ufdd1", "\ufdd2"
_PART = f"[^{_BEGIN}{_BETWEEN}{_END}]*"
_MENTION = re.compile(f"{_BEGIN}((?:argument|name|call)(?:{_BETWEEN}{_PART}){{3}}){_END}")


class Mention(NamedTuple):
    """An argument or a call that a message mentions, to be written in the language of the reader.

    Attributes
    ----------
    kind
        "argument" (with a value), "name" (an argument without one) or "call".
    name
        The argument's name in Python; for a call, the text of the command line.
    python
        The text in Python: ``notion='local'``.
    value
        The value alone, as typed on a command line: ``local``. Empty for any value.
    """

    kind: str
    name: str
    python: str
    value: str = ""


#: A function that writes a mention for a reader.
Writer: TypeAlias = "Callable[[Mention], str]"


def arg(name: str, value: object = ..., typed: str | None = None) -> str:
    """Mention an argument in a message, with or without a value.

    Parameters
    ----------
    name
        Its name in Python.
    value
        A possible value; a text is quoted.
    typed
        The text on a command line, where it is not the value: ``n`` for the code ``Counts(n)``.

    Examples
    --------
    >>> problem = InvalidInput(f"give {arg('epsilon')}, {arg('notion', 'local')} or {arg('over', 'Counts(n)', 'n')}.")
    >>> print(problem)
    give epsilon=..., notion='local' or over=Counts(n).
    >>> problem.argument, problem.written(lambda mention: f"--{mention.name} {mention.value}".strip())
    ('epsilon', 'give --epsilon, --notion local or --over n.')
    """
    if value is ...:
        return _mention(Mention("argument", name, f"{name}=..."))
    if typed is not None:
        return _mention(Mention("argument", name, f"{name}={value}", typed))
    text = "" if value is True else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return _mention(Mention("argument", name, f"{name}={value!r}", text))


def named(name: str) -> str:
    """Mention an argument by its name alone.

    >>> InvalidInput(f"{named('max_groups')} must be at least 1.").written(lambda mention: "--max-groups")
    '--max-groups must be at least 1.'
    """
    return _mention(Mention("name", name, name))


def call(python: str, command: str) -> str:
    """Mention a call, as Python and as the command line write it.

    >>> InvalidInput(f"See {call('dc.calibrate', 'discreet calibrate')}.").written(lambda mention: mention.name)
    'See discreet calibrate.'
    """
    return _mention(Mention("call", command, python))


def subject(what: str) -> str:
    """Mention an argument if ``what`` is a name; return other words as they are.

    >>> mentions(subject("max_groups")) != [], subject("the number")
    (True, 'the number')
    """
    return named(what) if what.isidentifier() else what


def meant(name: str, meaning: str) -> str:
    """Mention an argument and its meaning, at the beginning of a sentence.

    >>> in_python(meant("n", "the largest count") + " must be at least 1.")
    'n, the largest count, must be at least 1.'
    """
    return f"{named(name)}, {meaning},"


def _mention(mention: Mention) -> str:
    return f"{_BEGIN}{_BETWEEN.join(mention)}{_END}"


def mentions(text: str) -> list[Mention]:
    """Return the mentions in a text, in order."""
    return [Mention(*parts.split(_BETWEEN)) for parts in _MENTION.findall(text)]


def write_mentions(text: str, write: Writer) -> str:
    """Write a text with its mentions for a reader."""
    return _MENTION.sub(lambda match: write(Mention(*match[1].split(_BETWEEN))), text)


def in_python(text: str) -> str:
    """Write a text with its mentions as Python does.

    >>> in_python(f"leave {arg('error')} out")
    'leave error=... out'
    """
    return write_mentions(text, lambda mention: mention.python)


def warn_renamed(former: str, name: str, stacklevel: int = 3) -> None:
    """Warn that a public name has changed; the default ``stacklevel`` is for the caller of the function that warns."""
    warnings.warn(f"{former} is now {name}; the next version removes {former}.", DeprecationWarning, stacklevel)


#: The call that gives unbounded noise a range.
ON_A_RANGE = call("m.on(Counts(n), clamp=True)", "m.on(Counts(n), clamp=True) in Python")


class InWords(str):
    """A description of a given value, for messages; other values are shown by their repr.

    >>> print(InvalidInput.must_be("scores", "a matrix", InWords("a list of texts")))
    scores must be a matrix; got a list of texts.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class DiscreetError(Exception):
    """The root of every error raised on purpose by this package.

    Parameters
    ----------
    problem
        What went wrong, in a sentence.
    advice
        What to do next, in a sentence of its own. The message is both sentences.
    argument
        The name of the argument in Python, if the message does not mention it first.
    given
        The given value, which is never a value from the data.
    allowed
        What is allowed.

    Attributes
    ----------
    argument
        The name of the argument in Python: as given, or the first that the message mentions.
    message
        The message with its mentions, for :meth:`written`.

    Examples
    --------
    >>> problem = InvalidInput("a bundle has no level.", f"Leave {arg('level')} out.", given=2)
    >>> str(problem)
    'a bundle has no level. Leave level=... out.'
    >>> problem.argument, problem.given, problem.allowed, problem.advice
    ('level', 2, None, 'Leave level=... out.')
    """

    def __init__(
        self,
        problem: str = "",
        advice: str = "",
        *,
        argument: str | None = None,
        given: object = None,
        allowed: str | None = None,
    ) -> None:
        self.message = f"{problem} {advice}" if problem and advice else problem or advice
        super().__init__(in_python(self.message))
        self.argument = argument or next((one.name for one in mentions(self.message) if one.kind != "call"), None)
        self._problem, self._advice, self._given, self._allowed = problem, advice or None, given, allowed

    @classmethod
    def because(cls, what: str, cause: DiscreetError) -> Self:
        """Return an error with the parts of its cause, and ``what`` (if not empty) before the message.

        >>> cause = InvalidInput.must_be("epsilon", "positive", 0, "Try 1.")
        >>> problem = UnreadableFile.because("request.json", cause)
        >>> print(problem)
        request.json: epsilon must be positive; got 0. Try 1.
        >>> problem.argument, problem.given, problem.allowed, problem.advice
        ('epsilon', 0, 'positive', 'Try 1.')
        >>> print(WrongType.because("", cause))
        epsilon must be positive; got 0. Try 1.
        """
        return cls(
            f"{what}: {cause._problem}" if what else cause._problem,
            cause._advice or "",
            argument=cause.argument,
            given=cause._given,
            allowed=cause._allowed,
        )

    @property
    def given(self) -> object:
        """The given value; None if the error does not state it separately."""
        return InWords(in_python(self._given)) if isinstance(self._given, InWords) else self._given

    @property
    def allowed(self) -> str | None:
        """What is allowed; None if the error does not state it separately."""
        return None if self._allowed is None else in_python(self._allowed)

    @property
    def advice(self) -> str | None:
        """What to do next; None if the error does not state it separately."""
        return None if self._advice is None else in_python(self._advice)

    def written(self, write: Writer) -> str:
        """Return the message for a reader; ``write`` writes each mention."""
        return write_mentions(self.message, write)

    def form_field(self, write: Writer) -> dict[str, str | None]:
        """Return the error for a form or a program: its field, the message, and its parts as text.

        Parameters
        ----------
        write
            The function that writes each mention, and the field as a mention of the argument's name.

        Examples
        --------
        >>> problem = InvalidInput.must_be("max_groups", "at least 1", 0, f"Or take {arg('unit', 'row')}.")
        >>> titles = {"max_groups": "Groups per person", "unit": "Protected unit"}
        >>> parts = problem.form_field(lambda mention: titles[mention.name] + f" {mention.value}".rstrip())
        >>> parts["field"], parts["given"], parts["allowed"], parts["advice"]
        ('Groups per person', '0', 'at least 1', 'Or take Protected unit row.')
        >>> parts["message"]
        'Groups per person must be at least 1; got 0. Or take Protected unit row.'
        """
        parts = {
            "field": None if self.argument is None else named(self.argument),
            "message": self.message,
            "given": None if self._given is None else repr(self._given),
            "allowed": self._allowed,
            "advice": self._advice,
        }
        return {name: None if part is None else write_mentions(part, write) for name, part in parts.items()}


class InvalidInput(DiscreetError, ValueError):
    """An argument that cannot be used.

    >>> import discreet as dc
    >>> dc.geometric(10)
    Traceback (most recent call last):
    discreet.errors.InvalidInput: give exactly one of epsilon=... and alpha=... (alpha = e^-epsilon); got neither.
    """

    @classmethod
    def must_be(
        cls, what: str, allowed: str, got: object, advice: str = "", *, meaning: str = "", argument: str | None = None
    ) -> Self:
        """Return the error of an argument with a wrong value; the message consists of these parts.

        Parameters
        ----------
        what
            The argument's name in Python, or the words by which the reader knows it.
        allowed
            The end of "... must be".
        got
            The given value, which is never a value from the data; :class:`InWords` where its repr would not help.
        advice
            What to do next, in a sentence.
        meaning
            The meaning of the argument in a few words, where its name is not enough.
        argument
            Its name in Python, if ``what`` is not.

        Examples
        --------
        >>> problem = InvalidInput.must_be("n", "a positive integer", -3, "Try 10.", meaning="the largest count")
        >>> print(problem)
        n, the largest count, must be a positive integer; got -3. Try 10.
        >>> problem.argument, problem.allowed, problem.given, problem.advice
        ('n', 'a positive integer', -3, 'Try 10.')
        """
        about = meant(what, meaning) if meaning else subject(what)
        return cls(f"{about} must be {allowed}; got {got!r}.", advice, argument=argument, given=got, allowed=allowed)


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
    """A file that cannot be used: missing, damaged, or of another kind.

    >>> import discreet as dc
    >>> dc.load("no such file")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: cannot read no such file: No such file or directory.
    """


class Altered(UnreadableFile):
    """A file of a known kind that was damaged or changed, or contradicts itself.

    ``discreet verify`` reports it as "does not hold" (exit code 1); nothing else accepts such a file.

    >>> issubclass(Altered, UnreadableFile)
    True
    """


class Conflict(InvalidInput):
    """Requirements that are infeasible together. ``requirements`` names a smallest infeasible set.

    ``proved`` is True if a Farkas certificate proves it (with a bound on every rounding), and False if only the linear
    solver reports it.

    >>> import discreet as dc
    >>> dc.design(4, alpha="1/2", properties=["S", "support<=1"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.Conflict: alpha = 1/2 (privacy) and support<=1 (support) are infeasible together on ... 0..4. ...
    """

    def __init__(
        self, problem: str, advice: str = "", requirements: tuple[str, ...] = (), *, proved: bool = False
    ) -> None:
        super().__init__(problem, advice, argument="properties")
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
    """A release that the ledger cannot pay for; the message says what is spent, asked for and left.

    >>> issubclass(BudgetExceeded, InvalidInput)
    False
    """


class NotAccepted(DiscreetError):
    """A release whose plan does not meet the acceptance criteria; the message has each value and what is accepted.

    >>> issubclass(NotAccepted, InvalidInput)
    False
    """


class SourceFailed(DiscreetError):
    """An engine that stopped while reading the table. Its message is withheld, since it could quote a person's row.

    >>> issubclass(SourceFailed, DiscreetError)
    True
    """


class NotCertified(DiscreetError):
    """An answer in floating point that could not be proved in integers, and is withheld.

    >>> issubclass(NotCertified, DiscreetError)
    True
    """


class MissingExtra(DiscreetError, ImportError):
    """A missing optional dependency, with the command that installs it.

    >>> print(MissingExtra("vl-convert-python", "plots"))
    this needs the package 'vl-convert-python'. Install it with: pip install 'discreet[plots]'
    """

    def __init__(self, package: str, extra: str = "", command: str = "") -> None:
        command = command or f"pip install 'discreet[{extra}]'"
        super().__init__(f"this needs the package {package!r}.", f"Install it with: {command}")
        self._needs = package, extra, command

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str, str]]:
        return type(self), self._needs


class WeakLocalPrivacy(UserWarning):
    """A mechanism proved for counts that is used on people's own values; the message states its epsilon there.

    >>> issubclass(WeakLocalPrivacy, DiscreetError)
    False
    """
