"""The choice of one group by a hash: each of a person's groups is equally likely, over the secret key.

Going round from an offset (``bounding``) is not: of groups 0 and 1 among five, the first is met from four of the five
places to start at. With bands a person's groups are often neighbours, so one group is chosen by the smallest of

    H(g) = the first 15 hexadecimal digits of md5(hex(key) || ':' || the unit as text || ':' || g) as a number

over the numbers g of the groups where the person has rows (the lower number, should two hashes be equal).
"""

from __future__ import annotations

from .base import Counting
from .bounding import number_bits


def hash_input_sql(unit: str, group: str, text: str) -> str:
    """Return SQL of the hash input that follows the key; ``text`` is the engine's text type.

    >>> hash_input_sql("unit", "g", "text")
    "CAST(unit AS text) || ':' || CAST(g AS text)"
    """
    return f"CAST({unit} AS {text}) || ':' || CAST({group} AS {text})"


def one_row_in_each_group(counting: Counting, rows: str, turned: str) -> str:
    """Return SQL of ``unit``, ``g`` and the number ``v`` of the row that counts, for each group of a person.

    Parameters
    ----------
    counting
        The counts to make.
    rows
        SQL of ``unit`` and ``v`` for each row.
    turned
        SQL of the conditions that a row misses, going round from the person's own; of several the least counts.
    """
    c = len(counting.conditions)
    if not c:
        return f"SELECT DISTINCT unit, v AS g, v FROM ({rows}) AS r"
    width = number_bits(counting)
    best = f"min((CAST({turned} AS BIGINT) << {width}) + v)"
    by_group = f"SELECT unit, v >> {c} AS g, {best} AS best FROM ({rows}) AS r GROUP BY unit, v >> {c}"
    return f"SELECT unit, g, best & {(1 << width) - 1} AS v FROM ({by_group}) AS each"
