"""The rule of bounding (``base``) as engines of SQL share it: numbers for what a row holds, and the choice among them.

A row's group and the conditions it does not meet are one number, ``v``: the group times 2^c, plus those conditions as
bits, the first one highest. So of two rows in a group with one condition, the one that meets it has the lower number.
What a person's rows hold is then a set of numbers. Either the engine ranks the members of each set, or it groups equal
sets and the choice is made here, once for all people who hold the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..exact.arrays import IntArray
from ..questions.domains import Values
from .base import Counting

#: A person's set of groups is the bits of one signed 64-bit number.
WORD_BITS = 62

#: The chosen numbers ``v``, and the number of people for each. A number may occur more than once.
Chosen = tuple[IntArray, IntArray]


def consecutive(values: Values) -> range | None:
    """Return the values as a range of step one; None if they are not."""
    if isinstance(values, range):
        return values if values.step == 1 else None
    first = values[0]
    if not isinstance(first, int) or values != tuple(range(first, first + len(values))):
        return None
    return range(first, first + len(values))


def fits_in_a_word(counting: Counting, bits: int = WORD_BITS) -> bool:
    """Return whether a person's rows fit into one word as a set, from which :func:`choose_in_sets` can choose.

    With two conditions the order of rows is not that of their numbers, and an even choice looks at each group's hash.
    """
    conditions = len(counting.conditions)
    return not counting.uses_hashed_choice and conditions <= 1 and counting.groups.size << conditions <= bits


def number_sql(counting: Counting) -> str:
    """Return SQL of ``v``, from the number ``g`` of a row's group and the conditions ``h0, h1, ...``.

    There are at most ``base.MAX_COMBINATIONS`` of them.
    """
    c = len(counting.conditions)
    bits = [f"CASE WHEN h{i} THEN 0 ELSE {1 << (c - 1 - i)} END" for i in range(c)]
    return " + ".join([f"g * {1 << c}" if c else "g", *bits])


def number_bits(counting: Counting) -> int:
    """Return the number of bits that ``v`` needs; a rank holds ``v`` in its lowest ones."""
    return (counting.groups.size << len(counting.conditions)).bit_length()


def group_of_rank(counting: Counting) -> int:
    """Return the number of bits by which a rank is shifted to give the place of its group."""
    return number_bits(counting) + len(counting.conditions)


def rank_sql(counting: Counting, whole: str) -> str:
    """Return SQL of the rank of a number ``v`` among those of a person: the smallest goes first.

    A rank is the place of the group going round, then the conditions not met going round, then, to be read off the
    smallest one, ``v`` itself.

    Parameters
    ----------
    counting
        The counts to make.
    whole
        The type that holds a rank. ``start`` and ``turn``, the places where the person's rounds begin, are INTEGER.
    """
    size, c, width = counting.groups.size, len(counting.conditions), number_bits(counting)
    rank = f"(CAST(((v >> {c}) - start + {size}) % {size} AS {whole}) << {group_of_rank(counting)}) + v"
    if c:
        rank += f" + ({missed_sql(counting, whole)} << {width})"
    return rank


def missed_sql(counting: Counting, whole: str) -> str:
    """Return SQL of the conditions that ``v`` does not meet, as bits, going round from the person's ``turn``."""
    c = len(counting.conditions)
    every = (1 << c) - 1
    bits = f"CAST(v & {every} AS {whole})"  # turned round by up to c places, it needs twice as many bits
    return f"((({bits} << turn) | ({bits} >> ({c} - turn))) & {every})" if c > 1 else bits


def choose_in_sets(counting: Counting, held: IntArray, start: IntArray, people: IntArray) -> Chosen:
    """Return the choice for ``people`` who hold the same set (the bits ``v`` of a word) and start at the same group.

    Valid only where :func:`fits_in_a_word` holds.
    """
    size, c = counting.groups.size, len(counting.conditions)
    numbers, numbers_of_people = [], []
    for g in _going_round(_groups_of(held, size, c), start, size, counting.max_groups):
        some = g >= 0
        g = g[some]
        missed = 1 - (held[some] >> 2 * g & 1) if c else 0
        numbers.append((g << c) + missed)
        numbers_of_people.append(people[some])
    return np.concatenate(numbers), np.concatenate(numbers_of_people)


def _groups_of(held: IntArray, size: int, c: int) -> IntArray:
    """Reduce bits for (group, condition) to bits for groups."""
    if c == 0:
        return held
    either = held | held >> 1  # bit 2g: some row is in group g
    groups = np.zeros_like(held)
    for g in range(size):
        groups |= (either >> 2 * g & 1) << g
    return groups


def _going_round(sets: IntArray, start: IntArray, size: int, k: int) -> Iterator[IntArray]:
    """Yield the first to the k-th member of each set, going round from its start; -1 where there are no more."""
    rest = (sets >> start) | (sets & (np.int64(1) << start) - 1) << (size - start)
    for _ in range(min(k, size)):
        lowest = rest & -rest
        place = np.frexp(lowest.astype(np.float64))[1] - 1  # powers of two are exact; 0 gives -1
        yield np.where(rest != 0, (place + start) % size, -1)
        rest &= rest - 1


def add_chosen(counts: IntArray, counting: Counting, choices: Chosen) -> None:
    """Add the choices of people to counts of shape (groups, counts)."""
    numbers, people = choices
    bit = len(counting.conditions)
    group = numbers >> bit
    for j, aggregate in enumerate(counting.question.aggregates):
        if aggregate.condition is None:
            np.add.at(counts[:, j], group, people)
        else:
            bit -= 1
            np.add.at(counts[:, j], group, people * (~numbers >> bit & 1))
