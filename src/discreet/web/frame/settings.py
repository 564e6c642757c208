"""What the pages are started with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from ipaddress import ip_address

from ...strict_json import read_json

#: The environment variable that hands the settings on.
VARIABLE = "DISCREET_PAGES"

#: Names of this computer that no other computer can use.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class PageSettings:
    """What the pages are started with.

    Attributes
    ----------
    hosts
        The names, with their port, under which the pages answer; the first one is printed.
    ledgers
        Ledgers that they show and spend from.
    data
        Data that may be asked, by its addresses.
    out
        The folder that bundles are written into.
    """

    hosts: tuple[str, ...]
    ledgers: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    out: tuple[str] = ("releases",)

    def to_environment(self) -> dict[str, str]:
        """The settings for the environment of the server."""
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> PageSettings:
        """The settings that the server was handed."""
        return cls(**{name: tuple(value) for name, value in read_json(environment[VARIABLE], VARIABLE).items()})


def host_names(host: str, port: int) -> tuple[str, ...]:
    """The names, with their port, that pages answer to: the one they listen on first, which is printed.

    >>> host_names("::1", 80)
    ('[::1]:80', '127.0.0.1:80', 'localhost:80')
    """
    own = f"[{host}]" if ":" in host else host
    return tuple(f"{name}:{port}" for name in dict.fromkeys((own, *LOOPBACK)))


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach it.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
