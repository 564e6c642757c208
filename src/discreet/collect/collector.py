"""``discreet.collect.Collector``: makes collections at a service and estimates from their reports."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from urllib.parse import quote

from ..errors import InvalidInput, UnreadableFile
from ..estimation.methods import estimate
from ..estimation.result import Estimate
from ..exact.integers import is_integer
from ..files import mechanism_from_text
from ..mechanism import Mechanism
from ..report import Json
from ..strict_json import read_json
from .planning.target import current_target
from .reporting.transport import (
    Http,
    Refused,
    ServiceResponse,
    ServiceUnreachable,
    Transport,
    ask_patiently,
    read_service,
)

#: Seconds between two attempts to reach a service.
RETRY_SECONDS = 0.2


class Collector:
    """A client that makes collections at a service and estimates from their reports.

    Parameters
    ----------
    service
        Its address; TLS, unless it is on this computer.
    token
        The token that ``discreet collect token`` printed.
    patience
        Seconds to wait for a service that is still starting.
    transport
        Carries the requests; by default HTTP.

    Examples
    --------
    >>> from discreet.collect import Collector
    >>> Collector("https://survey.example", "discreet_...")
    <the service https://survey.example>
    """

    def __init__(self, service: str, token: str, *, patience: float = 0.0, transport: Transport | None = None) -> None:
        self._service, self._token = read_service(service), token.strip()
        self._patience, self._transport = patience, transport or Http()
        if not self._token.isascii() or not self._token.isprintable() or not self._token:
            raise InvalidInput(
                "a token is one line of letters and digits.", "Make one: discreet collect token.", argument="token"
            )

    def __repr__(self) -> str:
        return f"<the service {self._service}>"

    def create(
        self,
        name: str,
        mechanisms: Mechanism | Mapping[str, Mechanism],
        *,
        question: str,
        title: str | None = None,
        target_error: str | None = None,
        minimum_reports: int | None = None,
        reporting: str = "open",
        wanted: str | None = None,
    ) -> dict[str, Json]:
        """Make a collection and return its public description; repeating the call changes nothing.

        Parameters
        ----------
        name
            Its identifier: small letters, digits, - and _.
        mechanisms
            One mechanism, or several by name, of which each person chooses one before entering a value.
        question, title
            The texts that people read; by default the question is the title too.
        target_error, minimum_reports
            The error allowed (``"±2 points"``, ``"mean ±0.5"``), from which follows how many reports an estimate
            needs; or that number itself.
        reporting
            ``"open"``, or ``"token"`` for holders of one.
        wanted
            Former name of ``target_error``, accepted with a warning until the next version.
        """
        by_name = {"main": mechanisms} if isinstance(mechanisms, Mechanism) else dict(mechanisms)
        content: dict[str, Json] = {
            "title": title or question,
            "question": question,
            "mechanisms": {one: mechanism.to_json() for one, mechanism in by_name.items()},
            "reporting": reporting,
        }
        if (target := current_target(target_error, wanted)) is not None:
            content["wanted"] = target
        if minimum_reports is not None:
            content["minimum_reports"] = minimum_reports
        return self._ask("PUT", f"/v1/collections/{quote(name, '')}", content)

    def names(self) -> list[str]:
        """Return the names of all collections."""
        names = self._ask("GET", "/v1/collections")["names"]
        return [str(name) for name in names] if isinstance(names, list) else []

    def counts(self, name: str) -> dict[str, dict[object, int]]:
        """Return for each mechanism how often each report was made."""
        counts = self._ask("GET", f"/v1/collections/{quote(name, '')}/counts")["counts"]
        if not isinstance(counts, dict):
            raise Refused("the service does not answer with counts.", "Look at its address.")
        return {mechanism: _by_report(pairs) for mechanism, pairs in counts.items()}

    def estimate(self, name: str) -> Estimate:
        """Estimate the distribution of the true values behind the reports so far, as :func:`dc.estimate` does.

        Raises
        ------
        InvalidInput
            While there are fewer reports than the collection needs.
        """
        description = self._ask("GET", f"/v1/collections/{quote(name, '')}")
        minimum, counts = int(str(description["minimum_reports"])), self.counts(name)
        total = sum(sum(one.values()) for one in counts.values())
        if total < minimum:
            raise InvalidInput(
                f"there are {total:,} reports, and an estimate needs {minimum:,}.", "Wait for more.", argument="name"
            )
        pairs = [(times, self._mechanism(name, one)) for one, times in counts.items() if times]
        return estimate(*pairs[0]) if len(pairs) == 1 else estimate(pairs)

    def make_token(self, right: str, collection: str | None = None) -> str:
        """Return a token for others: ``"read"`` for estimates, ``"report"`` for collections that are not open."""
        content: dict[str, Json] = (
            {"right": right} if collection is None else {"right": right, "collection": collection}
        )
        return str(self._ask("POST", "/v1/tokens", content)["token"])

    def _mechanism(self, collection: str, name: str) -> Mechanism:
        path = f"/v1/collections/{quote(collection, '')}/mechanisms/{quote(name, '')}"
        return mechanism_from_text(json.dumps(self._ask("GET", path)), f"the mechanism {name}")

    def _answered(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> ServiceResponse:
        end = time.monotonic() + self._patience
        while True:
            try:
                return self._transport.ask(method, url, body, headers)
            except ServiceUnreachable:
                if time.monotonic() > end:
                    raise Refused(
                        f"{self._service} does not answer.", "Is the service running? discreet serve starts one."
                    ) from None
            time.sleep(RETRY_SECONDS)

    def _ask(self, method: str, path: str, content: Mapping[str, Json] | None = None) -> dict[str, Json]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        body = None if content is None else json.dumps(content).encode()

        def ask() -> ServiceResponse:
            return self._answered(method, f"{self._service}{path}", body, headers)

        response = ask_patiently(ask, time.sleep) if method == "GET" else ask()
        try:
            answer = read_json(response.body, "the answer")
        except UnreadableFile:
            answer = None
        if not isinstance(answer, dict):
            raise Refused(f"{self._service} is not this service (status {response.status}).", "Look at its address.")
        if response.status not in (200, 201):
            detail = answer.get("detail") or answer.get("title") or f"status {response.status}."
            raise Refused(f"the service refuses this: {detail}")
        return answer


def _by_report(pairs: Json) -> dict[object, int]:
    """Return pairs of a report and its count as a dictionary; a place is a row and a column."""
    counts: dict[object, int] = {}
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and is_integer(pair[1]):
            counts[tuple(pair[0]) if isinstance(pair[0], list) else pair[0]] = int(str(pair[1]))
    return counts
