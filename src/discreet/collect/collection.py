"""A collection: what people are asked, and the mechanisms with which their devices may answer.

Its description is public: anyone who is asked can read it, fetch the mechanisms and prove them again. A service keeps
it, and a client reads it from there.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from ..errors import DiscreetError, ForeignValue, InvalidInput, InWords, WrongType
from ..exact.integers import is_integer
from ..explanation import local_guarantee
from ..files import rebuild
from ..mechanism import Mechanism
from ..report import Json, plain, stamped
from ..spaces import Counts, Grid, Labels, Range, Space
from ..strict_json import read_json
from .planning.target import read_target
from .planning.trials import Surveys

#: Pattern of the names of collections and of their mechanisms.
NAME = r"[a-z0-9][a-z0-9_-]{0,62}"

#: Maximum number of mechanisms to choose from, and of characters in a text.
MAX_MECHANISMS, MAX_TEXT = 16, 2000

#: Minimum number of reports behind any estimate that is shown.
MIN_REPORTS = 10

#: Coverage of the intervals from which the number of reports follows.
COVERAGE = 0.95

#: A function that reads the reports of a batch as indices of a mechanism's outputs, and refuses anything else.
ReportReader: TypeAlias = "Callable[[Sequence[object]], Sequence[int]]"

Reporting = Literal["open", "token"]


@dataclass(frozen=True)
class Collection:
    """A question, and the mechanisms that people choose from before they enter a value.

    Attributes
    ----------
    name
        Its identifier at the service.
    title, question
        The texts that people read.
    mechanisms
        Name -> mechanism. All have the same true values; several epsilons are several mechanisms.
    reporting
        "open" if anybody may report, "token" if only holders of a token may.
    minimum_reports
        Number of reports below which no estimate is shown.
    target_error
        The target error from which that number follows, as typed; None if the number was given.
    """

    name: str
    title: str
    question: str
    mechanisms: Mapping[str, Mechanism]
    reporting: Reporting
    minimum_reports: int
    target_error: str | None = None

    @property
    def space(self) -> Space:
        """The true values."""
        return next(iter(self.mechanisms.values())).inputs

    @cached_property
    def readers(self) -> dict[str, ReportReader]:
        """The reader of each mechanism's reports."""
        return {name: reader_of(mechanism.outputs) for name, mechanism in self.mechanisms.items()}

    def text(self) -> str:
        """Return everything as a store keeps it; :func:`collection_from_text` reads it."""
        content: dict[str, Json] = {
            "title": self.title,
            "question": self.question,
            "mechanisms": {name: mechanism.to_json() for name, mechanism in self.mechanisms.items()},
            "reporting": self.reporting,
            "minimum_reports": self.minimum_reports,
            "wanted": self.target_error,
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    def to_json(self) -> dict[str, Json]:
        """Return the public description. The mechanisms themselves are fetched one by one."""
        return stamped(
            "collection",
            1,
            {
                "name": self.name,
                "title": self.title,
                "question": self.question,
                "values": self.space.to_json(),
                "reporting": self.reporting,
                "minimum_reports": self.minimum_reports,
                "wanted": self.target_error,
                "mechanisms": [_mechanism_json(name, one) for name, one in self.mechanisms.items()],
            },
        )


def _mechanism_json(name: str, mechanism: Mechanism) -> dict[str, Json]:
    guarantee = local_guarantee(mechanism)
    return {
        "name": name,
        "title": mechanism.title,
        "notion": mechanism.certificate.notion,
        "epsilon": plain(mechanism.certificate.epsilon),
        "delta": mechanism.certificate.delta,
        "local_epsilon": None if guarantee.epsilon is None else plain(guarantee.epsilon),
        "guarantee": list(guarantee.sentences),
        "reports": mechanism.outputs.to_json(),
        "sha256": mechanism.to_json()["sha256"],
    }


def read_collection(name: str, content: object) -> Collection:
    """Read a collection from its description: title, question, mechanisms, who may report, and the error allowed.

    Raises
    ------
    InvalidInput
        If the description cannot be used; the message names the field.
    """
    if re.fullmatch(NAME, name) is None:
        raise InvalidInput.must_be("name", "small letters, digits, - and _, at most 63", name)
    if not isinstance(content, dict):
        raise InvalidInput.must_be("the collection", "a JSON object", InWords(type(content).__name__), argument="body")
    unknown = sorted(set(map(str, content)) - set(FIELDS))
    if unknown:
        raise InvalidInput(f"{unknown[0][:40]!r} is not a field of a collection.", f"Fields: {', '.join(FIELDS)}.")
    mechanisms = _read_mechanisms(content.get("mechanisms"))
    reporting = content.get("reporting", "open")
    if reporting not in ("open", "token"):
        raise InvalidInput.must_be("reporting", '"open" or "token"', reporting)
    target, minimum = content.get("wanted"), content.get("minimum_reports")
    if minimum is None:
        minimum = reports_needed(mechanisms, target)
    elif not is_integer(minimum) or not MIN_REPORTS <= minimum <= 10**12:
        raise InvalidInput.must_be("minimum_reports", f"a whole number from {MIN_REPORTS} on", minimum)
    elif target is not None and not isinstance(target, str):
        raise InvalidInput.must_be("wanted", "a text", target)
    return Collection(
        name, _text(content, "title"), _text(content, "question"), mechanisms, reporting, int(minimum), target
    )


#: Fields of a collection's description.
FIELDS = ("title", "question", "mechanisms", "reporting", "minimum_reports", "wanted")


def collection_from_text(name: str, text: str) -> Collection:
    """Read a collection from a store's text."""
    return read_collection(name, read_json(text, f"the collection {name}"))


def _text(content: Mapping[str, object], field: str) -> str:
    text = content.get(field)
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT or not text.isprintable():
        raise InvalidInput.must_be(field, f"a text of at most {MAX_TEXT} letters", InWords(type(text).__name__))
    return text


def _read_mechanisms(content: object) -> dict[str, Mechanism]:
    if not isinstance(content, dict) or not 1 <= len(content) <= MAX_MECHANISMS:
        raise InvalidInput.must_be(
            "mechanisms",
            f"an object with 1 to {MAX_MECHANISMS} mechanisms by name",
            InWords(type(content).__name__),
            "A mechanism is what m.save(path) writes.",
        )
    mechanisms: dict[str, Mechanism] = {}
    for name, file in content.items():
        if re.fullmatch(NAME, name) is None:
            raise InvalidInput.must_be("mechanisms", "named by small letters, digits, - and _", name)
        try:
            mechanisms[name] = rebuild(file, f"the mechanism {name!r}")
        except DiscreetError as problem:
            raise InvalidInput(str(problem), argument="mechanisms") from None
        except (RecursionError, OverflowError):  # nested too deeply, or with absurdly large numbers
            raise InvalidInput(f"the mechanism {name!r} cannot be read.", argument="mechanisms") from None
    spaces = [one.inputs for one in mechanisms.values()]
    sizes = [one.outputs.size for one in mechanisms.values()]
    if not isinstance(spaces[0], Counts | Grid | Labels | Range) or None in sizes:
        raise InvalidInput(  # without an end, anybody could fill a store with reports that no device makes
            "a collection is about counts, places or labels, with finitely many reports.",
            "Give the mechanism a range: m.on(Counts(n), clamp=True).",
            argument="mechanisms",
        )
    if any(space != spaces[0] for space in spaces):
        raise InvalidInput("all mechanisms must have the same true values.", argument="mechanisms")
    return mechanisms


def reports_needed(mechanisms: Mapping[str, Mechanism], target: object) -> int:
    """Return the number of reports needed for a target error, by the Fisher information and the widest noise.

    The error is half the length of the 95% interval, where all true values are equally frequent and everybody chooses
    the mechanism that reveals least.

    Examples
    --------
    >>> import discreet as dc
    >>> reports_needed({"main": dc.randomized_response(["yes", "no"], alpha="1/3")}, "±2 points")
    9604
    """
    from scipy.special import ndtri

    first = next(iter(mechanisms.values()))
    if target is None:
        raise InvalidInput(
            "a collection needs a target error, or the number of reports for an estimate.",
            'Give wanted ("±2 points", "mean ±0.5") or minimum_reports.',
            argument="wanted",
        )
    error = read_target(target, first.inputs, "wanted")
    uniform = np.full(first.inputs.size or 1, 1 / (first.inputs.size or 1))
    worst = math.inf
    if error.kind != "map":
        worst = max(Surveys(one, uniform, error, COVERAGE).variance for one in mechanisms.values())
    if not math.isfinite(worst):
        raise InvalidInput(
            "no formula gives the number of reports here.",
            "Find it with discreet collect plan, and give minimum_reports.",
            argument="wanted",
        )
    number = float(ndtri((1 + COVERAGE) / 2)) ** 2 * worst / error.error**2
    return max(MIN_REPORTS, math.ceil(number))


# ------------------------------------------------------------------------------------------------ reports


def reader_of(outputs: Space) -> ReportReader:
    """Return a reader of a space's reports: counts and cells by their number, labels by their text.

    Examples
    --------
    >>> reader_of(Counts(9))([3, 0, 9]), reader_of(Labels(["yes", "no"]))(["no"])
    ([3, 0, 9], [1])
    >>> reader_of(Counts(9))([3, True])
    Traceback (most recent call last):
    discreet.errors.WrongType: reports must be whole numbers.
    """
    if isinstance(outputs, Labels):
        return _label_reader(outputs, {int, str})
    if outputs.as_grid is None and not outputs.is_line:  # the numbers of a range
        return _label_reader(outputs, {int, float})
    assert outputs.size is not None  # a collection has no other mechanisms
    largest = outputs.size - 1

    def read(reports: Sequence[object]) -> Sequence[int]:
        if set(map(type, reports)) != {int}:
            raise WrongType("reports must be whole numbers.", argument="reports")
        numbers: Sequence[int] = reports  # type: ignore[assignment]
        if min(numbers) < 0 or max(numbers) > largest:
            raise ForeignValue(f"reports must be between 0 and {largest}.", argument="reports")
        return numbers

    return read


def _label_reader(outputs: Space, kinds: set[type]) -> ReportReader:
    positions: dict[object, int] = {outputs.value(k): k for k in range(outputs.size or 0)}

    def read(reports: Sequence[object]) -> Sequence[int]:
        if not kinds.issuperset(map(type, reports)):
            raise WrongType(f"reports must be {outputs.noun}s of the mechanism.", argument="reports")
        try:
            return [positions[one] for one in reports]
        except KeyError:
            raise ForeignValue(
                f"a report is not one of the {outputs.noun}s of the mechanism.", argument="reports"
            ) from None

    return read
