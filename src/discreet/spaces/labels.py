"""Labels: a finite set of names without order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..errors import ForeignValue, InvalidInput, InWords, WrongType
from ..exact.arrays import Array, FloatArray, IntArray
from ..exact.integers import is_integer, refuse_masked, to_numpy
from ..lists import read_list
from ..report import MAX_REPR, Json, one_line
from .base import Description, Space


@dataclass(frozen=True)
class Labels(Space):
    """A finite set of names without order: blood groups, postcodes, answers to a question.

    >>> Labels(["a", "b", "ab", "o"]).index("ab")
    2
    """

    labels: tuple[int | str, ...]
    _position: dict[Hashable, int] = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "labels"
    noun: ClassVar[str] = "label"

    def __init__(self, labels: Iterable[Hashable]) -> None:
        if isinstance(labels, str | bytes):
            raise WrongType.must_be(
                "labels", "a list of labels", InWords(f"the text {labels!r}"), f"Write [{labels!r}, ...]."
            )
        values = tuple(read_list(labels, "labels", "labels"))
        for label in values:
            if label is None or isinstance(label, float) or not isinstance(label, str | int | np.integer | np.str_):
                raise WrongType.must_be("a label", "text or an integer", label, argument="labels")
        names = tuple(_plain_label(v) for v in values)
        position = {label: k for k, label in enumerate(names)}
        if len(position) != len(names):
            repeat = next(v for k, v in enumerate(names) if position[v] != k)
            raise InvalidInput(f"every label must be given once; {repeat!r} is given twice.", argument="labels")
        if len(names) < 2:
            raise InvalidInput.must_be("labels", "at least two", len(names))
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "_position", position)

    def __repr__(self) -> str:
        whole = f"Labels(labels={self.labels!r})"
        if len(whole) <= MAX_REPR:
            return whole
        return f"Labels({one_line(', '.join(map(repr, self.labels)), MAX_REPR)} {self.size:,} in all)"

    @property
    def size(self) -> int:
        return len(self.labels)

    def index(self, value: object) -> int:
        name = _plain_label(value)
        try:
            number = self._position[name]
        except (KeyError, TypeError):
            number = -1
        # Python takes 1, 1.0 and True for equal; people do not
        if number < 0 or type(self.labels[number]) is not type(name):
            examples = ", ".join(repr(v) for v in self.labels[:5]) + (", ..." if self.size > 5 else "")
            raise ForeignValue(f"a value is not one of the {self.size} labels ({examples}).")
        return number

    def indices(self, values: object) -> Array:
        refuse_masked(values, "labels")
        if isinstance(values, str | int) or np.ndim(values) == 0:  # type: ignore[arg-type]
            return np.asarray(self.index(values.item() if isinstance(values, np.ndarray) else values))
        items = to_numpy(values) if hasattr(values, "to_numpy") else values
        array = np.asarray(items, dtype=object)
        return np.fromiter((self.index(v) for v in array.ravel()), np.int64, array.size).reshape(array.shape)

    def values(self, indices: Array) -> Array:
        table = np.empty(self.size, dtype=object)
        table[:] = self.labels
        return np.asarray(table[indices])

    def value(self, index: int) -> Hashable:
        return self.labels[int(index)]

    def squared_distance(self, i: Array, j: Array) -> IntArray:
        return np.asarray(np.asarray(i) != np.asarray(j)).astype(np.int64)

    @property
    def has_lengths(self) -> bool:
        return False

    @property
    def largest_squared_distance(self) -> int:
        return 1

    def transport_cost(self, surplus: FloatArray) -> float:
        return float(np.abs(surplus).sum() / 2)

    @property
    def is_text(self) -> bool:
        return not all(type(label) is int for label in self.labels)

    def neighbours(self) -> tuple[Array, Array]:
        return np.triu_indices(self.size, 1)

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.name, "labels": list(self.labels)}

    @classmethod
    def from_json(cls, description: Description) -> Labels:
        """Return the labels with this description."""
        return cls(description["labels"])


def _plain_label(value: Any) -> Any:
    """Return a label as Python's own text or integer (booleans stay what they are)."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    return int(value) if is_integer(value) else value
