"""Reading lists: one reader for every argument that is a list, whatever holds its items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np

from .errors import InWords, WrongType


def read_list(values: object, what: str, items: str, argument: str | None = None) -> list[Any]:
    """Read a list, tuple, range, set, array, column or generator as a list; refuse single values, text and mappings.

    Parameters
    ----------
    values
        What was given.
    what
        The argument's name in Python, or words where the reader knows it by another name.
    items
        What it must be a list of.
    argument
        Its name in Python, if ``what`` is not.

    Examples
    --------
    >>> import numpy as np
    >>> read_list(np.array([1, 2]), "releases", "mechanisms") == [1, 2]
    True
    >>> read_list(np.array(5), "releases", "mechanisms")
    Traceback (most recent call last):
    discreet.errors.WrongType: releases must be a list of mechanisms; got the single value 5.
    """
    if isinstance(values, np.ma.MaskedArray) or not is_list(values):
        raise WrongType.must_be(what, f"a list of {items}", InWords(_in_words(values)), argument=argument)
    return list(values)


def is_list(values: object) -> TypeGuard[Iterable[Any]]:
    """Return whether this can be read as a list: it has items, and is neither text nor a mapping.

    >>> import numpy as np
    >>> [is_list(one) for one in ((1, 2), range(3), "ab", {"a": 1}, 5, np.array(5))]
    [True, True, False, False, False, False]
    """
    if isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) == 0:
        return False
    return isinstance(values, Iterable)


def _in_words(values: object) -> str:
    if values is None:
        return "None"
    if isinstance(values, np.ma.MaskedArray):
        return "a masked array"
    if isinstance(values, str):
        return f"the text {str(values)!r}"
    if isinstance(values, bool | int | float) or getattr(values, "ndim", 1) == 0:
        return f"the single value {values}"
    return f"a {type(values).__name__}"
