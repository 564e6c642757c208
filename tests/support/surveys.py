"""Surveys that the tests answer in a browser."""

from __future__ import annotations

import discreet as dc

HOSTILE = ['<img src=x onerror="alert(1)">', '"><script>alert(2)</script>', "{{ 7 * 7 }}", "javascript:alert(3)"]

COUNTS = {"strong": dc.geometric(6, epsilon="1/10"), "weak": dc.geometric(6, epsilon=1)}
LABELS = {"main": dc.randomized_response(["yes", "no", "7"], epsilon=1)}
PLACES = {"main": dc.planar_geometric(dc.Grid(4, 5, cell=100.0), epsilon="1/200")}

#: Name -> texts and mechanisms.
SURVEYS: dict[str, tuple[dict[str, str], dict[str, dc.Mechanism]]] = {
    "visits": ({"title": "Visits", "question": "How often did you see a doctor?"}, COUNTS),
    "members": ({"title": "Members", "question": "Do you agree?", "reporting": "token"}, LABELS),
    "yes-or-no": ({"title": "A vote", "question": "Do you agree?"}, LABELS),
    "home": ({"title": "Homes", "question": "Where do you live?"}, PLACES),
    "hostile": (
        {"title": "</title><script>alert(4)</script>", "question": "<b onmouseover=alert(5)>Which?</b>"},
        {"main": dc.randomized_response(HOSTILE, epsilon=1)},
    ),
}
