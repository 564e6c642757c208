"""``discreet.collect.Client``: takes part in a collection for the people of a device.

It trusts the service with nothing but the counting. The mechanism is fetched and proved again here; its cost is
computed here, between any two values, and added up over all questions about the same matter; the noise is drawn here.
Only a report under a random key leaves the device.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from ...errors import InvalidInput, NotPrivate, UnreadableFile, Unsupported, arg
from ...exact.integers import positive_integer
from ...exact.rationals import Number, as_fraction, claimed, text_up
from ...files import mechanism_from_text
from ...mechanism import Mechanism
from ...privacy.verify import verify
from ...spaces import Grid
from ...strict_json import read_json
from ..collection import MAX_TEXT, NAME
from ..keys import read_day
from .diary import Diary, Participation, WaitingReport
from .transport import (
    MAX_RETRY_SECONDS,
    RETRY_SECONDS,
    Http,
    Refused,
    ServiceResponse,
    ServiceUnreachable,
    Transport,
    ask_patiently,
    read_service,
    refusal,
)

#: Parts of a metre to which distances are rounded up.
PARTS_OF_A_METRE = 10**9

Outcome = Literal["counted", "counted before", "waiting", "expired", "refused"]


@dataclass(frozen=True)
class Offer:
    """The terms of taking part, before a value is entered and before anything is drawn.

    Attributes
    ----------
    title, question
        The collection's own texts.
    mechanism
        The mechanism of the report, proved on this device.
    part
        The destination of reports, the person and the matter.
    spent, maximum
        Epsilon already spent on the same matter, and its maximum.
    mechanism_name
        Its name in the collection.
    """

    title: str
    question: str
    mechanism: Mechanism
    mechanism_name: str
    part: Participation
    spent: Fraction
    maximum: Fraction

    @property
    def epsilon(self) -> float:
        """The cost of taking part: epsilon between two values for all reports together, rounded up.

        With several draws it is between two series of values that change at the same times: that a value changed, and
        when, shows as soon as two reports differ.
        """
        return float(self.part.cost) * (1 + 2.0**-52)

    def describe(self) -> str:
        """Return the offer as text for consent."""
        between = "any two values"
        if self.part.radius is not None:
            between = f"any two places up to {float(self.part.radius):g} metres apart"
        moves = (
            "The report is drawn once: asked again, you send the same one."
            if self.part.draws == 1
            else f"Up to {self.part.draws} different values get a report of their own; after that, earlier ones are "
            "sent again. When your answer changes, that can show in your reports."
        )
        return (
            f"{self.title}\n{self.question}\n"
            f"Your device changes your answer at random before it is sent. Between {between}, epsilon is "
            f"{text_up(self.epsilon, 4)} for all your reports together. {moves}\n"
            f"About this matter you have spent {text_up(float(self.spent), 4)} of {text_up(float(self.maximum), 4)}."
        )


class Client:
    """A client that takes part in a service's collections, for the people of one device.

    Parameters
    ----------
    service
        Its address: ``https://survey.example``.
    diary
        The file in which this device keeps its reports and its spending.
    maximum
        The largest epsilon between any two values that one person may spend on one matter: summed over all
        collections, mechanisms and draws.
    radius
        For places: the distance in metres up to which two places are protected.
    token
        For collections that are not open.
    transport, sleep
        Functions that carry requests, and that wait.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     client = Client("https://survey.example", f"{folder}/my.diary", maximum=4)
    ...     client.spent("ann", "visits")
    0.0
    """

    def __init__(
        self,
        service: str,
        diary: str | Path,
        *,
        maximum: Number,
        radius: Number | None = None,
        token: str | None = None,
        transport: Transport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._service = read_service(service)
        self._maximum = as_fraction(maximum, "maximum")
        if self._maximum <= 0:
            raise InvalidInput.must_be("maximum", "positive", maximum)
        self._radius = None if radius is None else as_fraction(radius, "radius")
        if self._radius is not None and self._radius <= 0:
            raise InvalidInput.must_be("radius", "positive", radius)
        self._token = token
        self._diary = Diary(diary)
        self._transport, self._sleep = transport or Http(), sleep

    def spent(self, person: str, about: str) -> float:
        """Return the epsilon that a person has spent on a matter so far."""
        return float(self._diary.spent(person, about))

    def offer(self, collection: str, *, person: str, about: str, mechanism: str | None = None, draws: int = 1) -> Offer:
        """Fetch a collection, prove the chosen mechanism again, and return the cost of taking part.

        Parameters
        ----------
        collection
            Its name.
        person
            A name for the person who answers, which stays on this device.
        about
            The matter of the question, in the app's own words: all questions about it count against one
            maximum. It is never taken from the service, which could call the same thing by many names.
        mechanism
            Its name, where people may choose; it is chosen before a value is entered.
        draws
            Number of different values of this person that get reports of their own: 1 for a value that never changes.
        """
        if re.fullmatch(NAME, collection) is None:
            raise InvalidInput.must_be("collection", "small letters, digits, - and _", collection)
        description = self._fetch(f"/v1/collections/{collection}")
        names = _names(description.get("mechanisms"))
        if mechanism is None and len(names) > 1:
            raise InvalidInput(f"choose one of the mechanisms {', '.join(names)}: {arg('mechanism')}.")
        choice = names[0] if mechanism is None else mechanism
        if choice not in names:
            raise InvalidInput.must_be("mechanism", f"one of {', '.join(names)}", mechanism)
        body = self._get(f"/v1/collections/{collection}/mechanisms/{choice}").body
        exact = mechanism_from_text(body, f"the mechanism {choice!r} of {collection!r}")
        part = Participation(
            person, about, self._service, collection, str(exact.to_json()["sha256"]),
            positive_integer(draws, "draws"), self._epsilon(exact),
            None if exact.inputs.as_grid is None else self._radius,
        )  # fmt: skip
        return Offer(
            _text(description, "title"), _text(description, "question"), exact, choice, part,
            self._diary.spent(person, about), self._maximum,
        )  # fmt: skip

    def report(self, offer: Offer, value: object, *, consent: bool, again: bool = False) -> Outcome:
        """Draw the report for a value, or find the one that was drawn before, keep it, and send it.

        Parameters
        ----------
        offer
            The offer that the person accepted.
        value
            Their true value, which stays here.
        consent
            True if they agreed, before anything is drawn.
        again
            Count this person's report once more, in a survey that asks in rounds. Otherwise a person with one draw is
            counted once, even if their value changes later. With several draws every call is a round.

        Returns
        -------
        str
            "counted", or "counted before" where nothing is sent; "waiting" if no acknowledgement came, in which case
            :meth:`send_waiting` sends the same bytes again; "expired" if it waited so long that the service takes it no
            more.

        Raises
        ------
        BudgetExceeded
            If taking part would cost more than is left. Nothing was drawn.
        """
        if consent is not True:
            raise InvalidInput.must_be("consent", "True: people agree before anything is drawn", consent)
        if offer.part.service != self._service:
            raise InvalidInput(
                f"the offer is one of {offer.part.service}.", "Report by the client that made it.", argument="offer"
            )
        mechanism = offer.mechanism
        index = mechanism.inputs.index(value)

        def draw() -> int:
            return mechanism.outputs.index(mechanism.release(mechanism.inputs.value(index)))

        def request(report: int) -> tuple[str, bytes]:
            content = {"mechanism": offer.mechanism_name, "reports": [mechanism.outputs.value(report)]}
            return f"{self._service}/v1/collections/{offer.part.collection}/reports", json.dumps(content).encode()

        waiting_report = self._diary.answer(offer.part, self._maximum, index, draw, request, again)
        return "counted before" if waiting_report is None else self._send(waiting_report)

    def send_waiting(self) -> dict[Outcome, int]:
        """Send unacknowledged reports again, with the same bytes and keys, and return the number of each outcome.

        Refused reports are kept too: a token may be missing, or the address may have changed.
        """
        outcomes: dict[Outcome, int] = {"counted": 0, "waiting": 0, "expired": 0, "refused": 0}
        for one in self._diary.waiting_reports(f"{self._service}/"):
            try:
                outcomes[self._send(one)] += 1
            except Refused:
                outcomes["refused"] += 1
        return outcomes

    # ---------------------------------------------------------------- what a mechanism costs

    def _epsilon(self, mechanism: Mechanism) -> Fraction:
        """Return epsilon of one draw between any two values, or on a map between any two places within the radius."""
        try:
            grid = mechanism.inputs.as_grid
            if grid is not None:
                if self._radius is None:
                    raise InvalidInput(
                        f"for places, give the distance in metres within which they are protected: {arg('radius')}."
                    )
                metric_epsilon = verify(mechanism, "metric").epsilon
                apart = farthest_centres(grid, self._radius)
                epsilon = math.inf if math.isinf(metric_epsilon) else claimed(metric_epsilon) * apart
            else:
                anywhere = mechanism.local_epsilon
                epsilon = math.inf if math.isinf(anywhere) else claimed(anywhere)
        except Unsupported:
            epsilon = math.inf
        if not isinstance(epsilon, Fraction):
            raise NotPrivate("the mechanism does not protect a person's own value: no finite epsilon holds for it.")
        return epsilon

    # ---------------------------------------------------------------- requests

    def _send(self, one: WaitingReport) -> Outcome:
        has_new_key = False
        waits = iter(RETRY_SECONDS)
        while True:
            answer = self._post(one)
            if answer.status in (200, 201):
                self._diary.forget(one, counted=True)
                return "counted"
            if answer.status == 410:  # whether it was counted is not known: it must not be sent under another key
                self._diary.forget(one, counted=False)
                return "expired"
            day = _stated_day(answer)
            if day is not None and not has_new_key:  # a clock is wrong: this key was not counted, and never will be
                current = self._diary.renew_key(one, day)
                if current is None:
                    return "counted"  # by another process of this device
                one, has_new_key = current, True
                continue
            if answer.status < 500 and answer.status != 429:
                raise Refused(
                    f"the service refuses the report (status {answer.status}).", "It is kept, and was not redrawn."
                )
            wait = next(waits, None)
            if wait is None or answer.retry_after > MAX_RETRY_SECONDS:
                return "waiting"
            self._sleep(max(wait, answer.retry_after))

    def _post(self, one: WaitingReport) -> ServiceResponse:
        headers = {"Content-Type": "application/json", "Idempotency-Key": one.key, **self._permission()}
        try:
            return self._transport.ask("POST", one.url, one.body, headers)
        except ServiceUnreachable:
            return ServiceResponse(503, b"")

    def _permission(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def _get(self, path: str) -> ServiceResponse:
        url, headers = f"{self._service}{path}", self._permission()
        answer = ask_patiently(lambda: self._transport.ask("GET", url, None, headers), self._sleep)
        if answer.status != 200:
            raise refusal(answer)
        return answer

    def _fetch(self, path: str) -> dict[str, object]:
        try:
            content = read_json(self._get(path).body, "the answer")
        except UnreadableFile:
            content = None
        if not isinstance(content, dict) or content.get("format") != "discreet collection":
            raise Refused("the service does not describe a collection.", "Look at its address.")
        return content


def farthest_centres(grid: Grid, radius: Fraction) -> Fraction:
    """Return the largest distance, rounded up, between cell centres of two places that are ``radius`` metres apart.

    A place is anywhere in its cell: places on both sides of a border are neighbours even if the cells are wide. Cells
    that are u rows and v columns apart have points within ``r`` of each other if
    ``max(u - 1, 0)^2 + max(v - 1, 0)^2 <= (r / cell)^2``.

    >>> float(farthest_centres(Grid(10, 10, 100), Fraction(1)))
    141.421356...
    """
    cell = as_fraction(grid.cell, "cell")
    reach = (radius / cell) ** 2
    farthest = 0
    for up in range(grid.rows):
        room = reach - max(up - 1, 0) ** 2
        if room < 0:
            break
        right = min(grid.cols - 1, 1 + math.isqrt(math.floor(room)))
        farthest = max(farthest, up**2 + right**2)
    square = cell**2 * farthest * PARTS_OF_A_METRE**2
    root = math.isqrt(math.floor(square))
    return Fraction(root if root**2 == square else root + 1, PARTS_OF_A_METRE)


def _stated_day(answer: ServiceResponse) -> int | None:
    """Return the day that a service requires in a new key, if it will never count the old one."""
    try:
        content = read_json(answer.body, "the answer") if answer.status == 400 else None
    except UnreadableFile:
        return None
    if not isinstance(content, dict) or content.get("type") != "urn:discreet:problem:bad-key":
        return None
    return read_day(content.get("today"))


def _text(description: dict[str, object], field: str) -> str:
    """Return one of the service's texts for people: one line without terminal control characters."""
    text = description.get(field)
    if not isinstance(text, str) or len(text) > MAX_TEXT or not text.isprintable():
        raise Refused(f"the {field} of the collection cannot be shown.", "Look at the service's address.")
    return text


def _names(content: object) -> list[str]:
    """Return the names of the mechanisms that a description lists."""
    values = [one.get("name") for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    names = [name for name in values if isinstance(name, str) and re.fullmatch(NAME, name)]
    if not names:
        raise Refused("the service describes a collection without mechanisms.", "Look at its address.")
    return names
