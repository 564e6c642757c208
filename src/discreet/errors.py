"""What can go wrong, as a tree.

::

    DiscreetError
    ├── InvalidInput (ValueError)     an argument that cannot be used: what was given, what is allowed, what to do
    │   ├── ForeignValue              a value that does not belong to the space it was given for
    │   ├── WrongType (TypeError)     a value of a kind that is never accepted (a float where a count belongs)
    │   └── UnreadableFile            a file that is not what it should be
    ├── Unsupported                   a sensible question this object cannot answer; the message names what can
    ├── NotPrivate                    a claim the judge refutes, with the witness
    └── MissingExtra (ImportError)    an optional dependency is absent; the message is the install command

Every message says what was given, what is allowed and what to do next. No message ever quotes a whole column:
at most the first offending value and its position.
"""

from __future__ import annotations


class DiscreetError(Exception):
    """The root of every error raised on purpose by this package."""


class InvalidInput(DiscreetError, ValueError):
    """An argument that cannot be used."""


class ForeignValue(InvalidInput):
    """A value that does not belong to the space it was given for."""


class WrongType(InvalidInput, TypeError):
    """A value of a kind that is never accepted, such as a float where a count belongs."""


class UnreadableFile(InvalidInput):
    """A file that is not what it claims or needs to be."""


class Unsupported(DiscreetError):
    """A sensible question that this object cannot answer."""


class NotPrivate(DiscreetError):
    """A claimed guarantee that the judge refutes."""


class MissingExtra(DiscreetError, ImportError):
    """An optional dependency is absent."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs the package {package!r}; install it with: pip install 'discreet[{extra}]'")
