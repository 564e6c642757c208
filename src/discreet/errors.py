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

Every message says what was given, what is allowed and what to do next. It is put together from these parts, so that a
form or a program gets them too: ``InvalidInput(problem, advice)``, :meth:`InvalidInput.must_be` where something must be
something else, :meth:`DiscreetError.because` where one error is the reason of another. No message quotes a true value:
it might be one that must not be logged. Its position is given instead. A message mentions arguments by :func:`arg` and
:func:`named`, and calls by :func:`call`. ``str(problem)`` writes them as Python does; the command line writes its
options and verbs in their place (``problem.written``), a form the titles of its fields (``problem.form_field``).

>>> import discreet as dc
>>> try:
...     dc.geometric(10, epsilon=1).release(11)
... except dc.errors.DiscreetError as problem:
...     print(problem)
a value is not a count in 0..10. Give values in that range, or build for a larger n.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

#: Around a mention, and between its parts. Unicode sets these aside: no text has them.
_BEGIN, _BETWEEN, _END = "\ufdd0", "\ufdd1", "\ufdd2"
_PART = f"[^{_BEGIN}{_BETWEEN}{_END}]*"
_MENTION = re.compile(f"{_BEGIN}((?:argument|name|call)(?:{_BETWEEN}{_PART}){{3}}){_END}")


class Mention(NamedTuple):
    """What a message mentions in the language of whoever reads it.

    Attributes
    ----------
    kind
        "argument" (with a value), "name" (an argument without one) or "call".
    name
        The argument's name in Python; for a call what the command line says instead.
    python
        How Python writes it: ``notion='local'``.
    value
        The value alone, as it is typed on a command line: ``local``. Empty where any value is meant.
    """

    kind: str
    name: str
    python: str
    value: str = ""


#: Writes a mention for some reader.
Writer: TypeAlias = "Callable[[Mention], str]"


def arg(name: str, value: object = ..., typed: str | None = None) -> str:
    """An argument that a message mentions, with a value if it is about one.

    Parameters
    ----------
    name
        Its name in Python.
    value
        A value that could be given; a text stands in quotes.
    typed
        What is typed on a command line where that is not the value: ``n`` for ``Counts(n)``, which is then code.

    Examples
    --------
    >>> problem = InvalidInput(f"give {arg('epsilon')}, {arg('notion', 'local')} or {arg('over', 'Counts(n)', 'n')}.")
    >>> print(problem)
    give epsilon=..., notion='local' or over=Counts(n).
    >>> problem.argument, problem.written(lambda mention: f"--{mention.name} {mention.value}".strip())
    ('epsilon', 'give --epsilon, --notion local or --over n.')
    """
    if value is ...:
        return _marked(Mention("argument", name, f"{name}=..."))
    if typed is not None:
        return _marked(Mention("argument", name, f"{name}={value}", typed))
    plain = "" if value is True else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return _marked(Mention("argument", name, f"{name}={value!r}", plain))


def named(name: str) -> str:
    """An argument that a message mentions by its name alone.

    >>> InvalidInput(f"{named('max_groups')} must be at least 1.").written(lambda mention: "--max-groups")
    '--max-groups must be at least 1.'
    """
    return _marked(Mention("name", name, name))


def call(python: str, command: str) -> str:
    """What to do, as Python does it and as the command line does.

    >>> InvalidInput(f"See {call('dc.calibrate', 'discreet calibrate')}.").written(lambda mention: mention.name)
    'See discreet calibrate.'
    """
    return _marked(Mention("call", command, python))


def subject(what: str) -> str:
    """What a message is about: an argument, where this is the name of one, or words that stay as they are.

    >>> mentions(subject("max_groups")) != [], subject("the number")
    (True, 'the number')
    """
    return named(what) if what.isidentifier() else what


def meant(name: str, meaning: str) -> str:
    """An argument by its name, and what it is in a few words, to begin a sentence with.

    >>> in_python(meant("n", "the largest count") + " must be at least 1.")
    'n, the largest count, must be at least 1.'
    """
    return f"{named(name)}, {meaning},"


def _marked(mention: Mention) -> str:
    return f"{_BEGIN}{_BETWEEN.join(mention)}{_END}"


def mentions(text: str) -> list[Mention]:
    """What a text mentions, in order."""
    return [Mention(*parts.split(_BETWEEN)) for parts in _MENTION.findall(text)]


def written(text: str, write: Writer) -> str:
    """A text with everything it mentions written for some reader."""
    return _MENTION.sub(lambda found: write(Mention(*found[1].split(_BETWEEN))), text)


def in_python(text: str) -> str:
    """A text with everything it mentions written as Python does.

    >>> in_python(f"leave {arg('error')} out")
    'leave error=... out'
    """
    return written(text, lambda mention: mention.python)


#: How noise without end gets a range.
ON_A_RANGE = call("m.on(Counts(n), clamp=True)", "m.on(Counts(n), clamp=True) in Python")


class InWords(str):
    """What was given, said in words; everything else that is given is shown as Python writes it.

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
        What to do next, in a sentence of its own; the message is both.
    argument
        The argument it is about, by its name in Python, if it is not the first one that the message mentions.
    given
        What was given, which is never a value out of somebody's data.
    allowed
        What is allowed.

    Attributes
    ----------
    argument
        The argument it is about, by its name in Python: as stated, or the first one that the message mentions.
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
        """The error of something that fails by another error: that one's parts, after words on what it is in, if any.

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
        """What was given; None where the error does not state it apart."""
        return InWords(in_python(self._given)) if isinstance(self._given, InWords) else self._given

    @property
    def allowed(self) -> str | None:
        """What is allowed; None where the error does not state it apart."""
        return None if self._allowed is None else in_python(self._allowed)

    @property
    def advice(self) -> str | None:
        """What to do next; None where the error does not state it apart."""
        return None if self._advice is None else in_python(self._advice)

    def written(self, write: Writer) -> str:
        """The message for some reader: ``write`` says how each mention is written."""
        return written(self.message, write)

    def form_field(self, write: Writer) -> dict[str, str | None]:
        """The error for a form or a program: which field it is about, the message, and its parts as text.

        Parameters
        ----------
        write
            How each mention is written; the field is named as a mention of the argument by its name is.

        Examples
        --------
        >>> problem = InvalidInput.must_be("max_groups", "at least 1", 0, f"Or take {arg('unit', 'row')}.")
        >>> titles = {"max_groups": "Groups per person", "unit": "Protected unit"}
        >>> found = problem.form_field(lambda mention: titles[mention.name] + f" {mention.value}".rstrip())
        >>> found["field"], found["given"], found["allowed"], found["advice"]
        ('Groups per person', '0', 'at least 1', 'Or take Protected unit row.')
        >>> found["message"]
        'Groups per person must be at least 1; got 0. Or take Protected unit row.'
        """
        parts = {
            "field": None if self.argument is None else named(self.argument),
            "message": self.message,
            "given": None if self._given is None else repr(self._given),
            "allowed": self._allowed,
            "advice": self._advice,
        }
        return {name: None if part is None else written(part, write) for name, part in parts.items()}


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
        """The error of an argument that is not what it must be; its message is put together from the parts.

        Parameters
        ----------
        what
            The argument's name in Python, or words where the reader knows it by another name.
        allowed
            What it must be, as it stands after these words.
        got
            What was given, which is never a value out of somebody's data; :class:`InWords` where its own writing would
            not help.
        advice
            What to do next, in a sentence.
        meaning
            What the argument is, in a few words, where its name does not say it.
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
    """An optional dependency is absent. It is installed as an extra, or by a command of its own.

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
    """A mechanism that was proved for counts is used on people's own values; the message states its epsilon there.

    >>> issubclass(WeakLocalPrivacy, DiscreetError)
    False
    """
