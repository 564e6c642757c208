"""The person's side: a true value goes in, a report comes out, and only the report leaves the device."""

from __future__ import annotations

import warnings
from typing import Any

from ..errors import WeakLocalPrivacy
from ..explanation import local_use
from ..mechanism import Mechanism


def perturb(mechanism: Mechanism, values: object) -> Any:
    """Report noisy values in place of people's own true ones, as each person's device would.

    The same as ``mechanism.release(values)``, for a different situation: here a value is one person's whole answer,
    not a count that a person changes by one. A mechanism that was proved for adjacent counts then gives a weaker
    guarantee, and a warning states its epsilon between any two values.

    Parameters
    ----------
    mechanism
        The mechanism of the devices.
    values
        One value or many, each a different person's.

    Examples
    --------
    >>> import discreet as dc
    >>> answers = dc.randomized_response(["yes", "no"], epsilon=1)
    >>> perturb(answers, "yes") in ("yes", "no")
    True
    """
    weaker = local_use(mechanism)
    if weaker is not None:
        warnings.warn(weaker, WeakLocalPrivacy, stacklevel=2)
    return mechanism.release(values)
