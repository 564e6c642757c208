"""All families by name: the closed forms, and those that need a linear program."""

from __future__ import annotations

from ..mechanisms.families import CLOSED_FORMS, Families, Family

#: All families, for ``comparison``, ``estimation``, ``release`` and the command line.
FAMILIES = Families(
    [
        Family(
            "bounded_noise", "bounded noise", "noise", ".optimise.noise.bounded:bounded_noise",
            ("epsilon", "reach", "noise"), ("design",),
        ),
    ],
    above=CLOSED_FORMS,
)  # fmt: skip
