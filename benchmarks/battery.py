"""How near each estimator comes to the truth: a leaderboard, relative to 5,000 iterative Bayesian updates.

A setting is a mechanism, a population and a number of reports. Every method sees the same surveys; its ratio in a
setting is its mean error over that of the updates, and tables show geometric means over settings. Three sets of
populations: like those that the default's constants were chosen on, others, and *held out*: populations, mechanisms
and seeds on which nothing was ever chosen.

    python benchmarks/run.py battery                         # targets for the default, and the leaderboards
    python benchmarks/battery.py held-out --surveys 3        # one set, as a table for the documentation
    python benchmarks/battery.py combs --surveys 24 --first 24   # how often a binomial population becomes a comb
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

import discreet as dc
import measure
from discreet_studies.results.populations import N, counted, mechanisms, not_tuned_on, shares, tuned_on
from estimation import UPDATES, updates
from measure import FULL, Line, Scale

#: The methods of the leaderboard, by the names of ``dc.estimate``; all are compared with the updates of the papers.
METHODS = ("auto", "mle", "smoothed", "ems", "g-model", "wavelet")

#: The name of the updates in tables.
REFERENCE = "5,000 updates"

#: Total variation above which an estimate of a smooth population is a comb (if the information is there at all).
COMB = 0.5

#: Populations without points, heaps or steps: an estimate of one that is far off in total variation is a comb.
SMOOTH = {
    "visits", "binomial", "uniform", "two humps", "geometric", "gamma", "cliff", "binomial .35", "negative binomial",
    "Weibull", "beta 5 2", "skew humps", "exponential", "Student",
}  # fmt: skip

#: Errors of each method (rows: surveys; columns: Kantorovich distance, total variation) in each setting.
Setting = tuple[str, str, int]
Errors = dict[Setting, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Battery:
    """Populations and mechanisms, and the numbers of reports."""

    populations: Mapping[str, np.ndarray]
    mechanisms: Mapping[str, dc.Mechanism]
    sizes: tuple[int, ...]


def _adult(*names: str) -> dict[str, np.ndarray]:
    """Read columns of UCI Adult (Becker and Kohavi 1996) if DISCREET_DATA names a folder that has it."""
    folder = os.environ.get("DISCREET_DATA")
    if folder is None or not (Path(folder) / "adult.csv.gz").is_file():
        return {}
    with gzip.open(Path(folder) / "adult.csv.gz", "rt", encoding="utf-8") as file:
        people = list(csv.DictReader(file))
    return {name: counted([person[name] for person in people]) for name in names}


def held_out() -> Battery:
    """Populations and mechanisms on which no constant was chosen."""
    x, rng = np.arange(N + 1.0), np.random.default_rng(77)

    def normal(mean: float, spread: float) -> np.ndarray:
        return shares(np.exp(-0.5 * ((x - mean) / spread) ** 2))

    def points(number: int) -> np.ndarray:
        p = np.zeros(N + 1)
        p[rng.choice(N + 1, number, replace=False)] = rng.dirichlet(np.full(number, 3.0))
        return p

    populations = {
        "binomial .35": stats.binom.pmf(x, N, 0.35),
        "negative binomial": shares(stats.nbinom.pmf(x, 3, 0.1)),
        "Weibull": shares(stats.weibull_min.pdf(x + 0.5, 1.8, scale=35)),
        "beta 5 2": shares(stats.beta.pdf((x + 0.5) / (N + 1), 5, 2)),
        "skew humps": 0.7 * shares(stats.gamma.pdf(x, 6, scale=3)) + 0.3 * normal(75, 4),
        "exponential": shares(np.exp(-x / 25)),
        "Student": shares(stats.t.pdf((x - 55) / 6, 3)),
        "sevens": shares(np.where(x % 7 == 0, 4.0, 1.0) * normal(45, 20)),
        "zero and full": 0.25 * (x == 0) + 0.15 * (x == N) + 0.6 * normal(50, 15),
        "ramp of steps": shares(np.floor(x / 12) + 0.2),
        **{f"{number} points": points(number) for number in (2, 3, 4, 7)},
        **_adult("age", "hours_per_week"),
    }
    made = {f"geometric {e}": dc.geometric(N, epsilon=e) for e in ("0.03", "0.05", "0.15", "0.5")}
    made |= {
        "k-RR 3": dc.randomized_response(N + 1, epsilon=3),
        "explicit fair 0.2": dc.explicit_fair(N, epsilon="0.2"),
    }
    return Battery(populations, made, (1_000, 10_000, 100_000))


def batteries() -> dict[str, Battery]:
    """The sets of populations by name."""
    sizes = (500, 5_000, 100_000)
    return {
        "tuned on": Battery(tuned_on() | _adult("hours_per_week", "age"), mechanisms(), sizes),
        "not tuned on": Battery(not_tuned_on(), mechanisms(), sizes),
        "held out": held_out(),
    }


# ------------------------------------------------------------------------------------------------ errors


def _distances(p: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the Kantorovich distance and the total variation."""
    return np.array([np.abs(np.cumsum(p - truth)).sum(), np.abs(p - truth).sum() / 2])


def errors(
    battery: Battery, surveys: int, methods: Sequence[str] = METHODS, times: int = UPDATES, first: int = 0
) -> Errors:
    """Return the errors of all methods and of the updates in every setting, on the same surveys."""
    found: Errors = {}
    for name, mechanism in battery.mechanisms.items():
        matrix = np.array(mechanism.matrix)
        for what, truth in battery.populations.items():
            chances = shares(truth @ matrix)
            for people in battery.sizes:
                here: dict[str, list[np.ndarray]] = {method: [] for method in (*methods, REFERENCE)}
                for survey in range(first, first + surveys):
                    seed = [survey, people, zlib.crc32(name.encode()), zlib.crc32(what.encode())]
                    counts = np.random.default_rng(seed).multinomial(people, chances)
                    for method in methods:
                        e = dc.estimate(counts, mechanism, method=method)  # type: ignore[arg-type]
                        here[method].append(_distances(e.distribution, truth))
                    columns = np.ascontiguousarray(matrix[:, counts > 0])
                    plain = updates(columns, counts[counts > 0] / people, times)
                    here[REFERENCE].append(_distances(plain, truth))
                found[name, what, people] = {method: np.array(rows) for method, rows in here.items()}
    return found


# ------------------------------------------------------------------------------------------------ comparisons


@dataclass(frozen=True)
class Comparison:
    """The geometric mean of the ratio of two methods' errors over settings.

    Attributes
    ----------
    mean
        The geometric mean.
    by_surveys
        Its 95% interval from the chance of the surveys alone: for these populations.
    by_populations
        Its 95% interval from the variation between populations: for others like them.
    worst, where
        The largest ratio, and its setting.
    """

    mean: float
    by_surveys: tuple[float, float]
    by_populations: tuple[float, float]
    worst: float
    where: Setting


def compare(found: Errors, method: str, other: str, distance: int) -> Comparison:
    """Compare two methods on the same surveys.

    The logarithm of a setting's ratio has a jackknife variance with (surveys - 1) degrees of freedom. Their sum has
    those of Satterthwaite, so that few surveys take quantiles of Student's distribution. Populations are compared by
    their means over mechanisms and numbers of reports, with (populations - 1) degrees of freedom.
    """
    logs, variances = {}, []
    for setting, errors_of in found.items():
        pair = np.maximum(np.stack([errors_of[method][:, distance], errors_of[other][:, distance]], axis=1), 1e-12)
        total, number = pair.sum(axis=0), len(pair)
        logs[setting] = math.log(total[0] / total[1])
        if number > 1:
            rest = np.log((total - pair)[:, 0] / (total - pair)[:, 1])
            variances.append((number - 1) / number * float(((rest - rest.mean()) ** 2).sum()))
    mean = float(np.mean(list(logs.values())))
    degrees = 1.0
    if variances and sum(variances) > 0:
        degrees = sum(variances) ** 2 / sum(v * v / (number - 1) for v in variances)
    by_surveys = math.sqrt(sum(variances)) / len(logs) * float(stats.t.ppf(0.975, degrees))
    names = dict.fromkeys(what for _, what, _ in logs)
    means = [float(np.mean([value for (_, what, _), value in logs.items() if what == name])) for name in names]
    spread = float(np.std(means, ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.inf
    by_populations = spread * float(stats.t.ppf(0.975, max(1, len(means) - 1)))
    where = max(logs, key=lambda one: logs[one])
    ends = [(math.exp(mean - half), math.exp(min(mean + half, 700.0))) for half in (by_surveys, by_populations)]
    return Comparison(math.exp(mean), ends[0], ends[1], math.exp(logs[where]), where)


def combs(found: Errors, method: str) -> tuple[int, int]:
    """Return the number of combs among the estimates of smooth populations under geometric or fair noise, and all."""
    rows = [
        one[method][:, 1] for (name, what, _), one in found.items() if what in SMOOTH and not name.startswith("k-RR")
    ]
    return int(sum((row > COMB).sum() for row in rows)), sum(map(len, rows))


def table(found: Errors) -> str:
    """Return the leaderboard in Markdown, the nearest first."""
    methods = [method for method in next(iter(found.values())) if method != REFERENCE]
    rows = []
    for method in [*methods, REFERENCE]:
        near, shape = (compare(found, method, REFERENCE, k) for k in (0, 1))
        paired = compare(found, method, methods[0], 0)
        number, total = combs(found, method)
        against = "" if method == methods[0] else (
            f"{paired.mean:.2f} ({_ends(paired.by_surveys)}; populations {_ends(paired.by_populations)})"
        )  # fmt: skip
        worst = f"{near.worst:.2f} ({', '.join(map(str, near.where))})"
        cells = (method, f"{near.mean:.2f}", f"{shape.mean:.2f}", against, worst, f"{number} of {total}")
        rows.append((near.mean, "| " + " | ".join(cells) + " |"))
    head = f"| method | Kantorovich | total variation | Kantorovich over {methods[0]} (95%) | worst setting | combs |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *(row for _, row in sorted(rows))])


def _ends(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.2f} to {ends[1]:.2f}"


def binomial_combs(surveys: int, first: int) -> Iterator[str]:
    """Yield, for binomial(100, 0.2) under wide noise, the number of combs and the mean errors of each method."""
    truth = stats.binom.pmf(np.arange(N + 1), N, 0.2)
    for epsilon in ("0.03", "0.1"):
        made = {f"geometric {epsilon}": dc.geometric(N, epsilon=epsilon)}
        found = errors(Battery({"binomial .2": truth}, made, (1_000, 10_000)), surveys, ("auto",), first=first)
        for (name, _, people), one in found.items():
            number = int((one["auto"][:, 1] > COMB).sum())
            near, plain = one["auto"].mean(axis=0)[0], one[REFERENCE].mean(axis=0)[0]
            yield f"{name}, {people:,} reports: {number} combs of {surveys}; distance {near:.2f}, updates {plain:.2f}"


# ------------------------------------------------------------------------------------------------ make bench


def lines(scale: Scale = FULL) -> Iterator[Line]:
    """Measure the default against its targets, then the leaderboard, then the time of a call."""
    surveys, times = scale.pick((8, UPDATES), (2, 10))
    targets = {"tuned on": (0.5, 0.3, 1.6), "not tuned on": (0.7, 0.5, 2.1), "held out": (0.7, 0.5, 2.6)}
    for name, battery in batteries().items():
        if scale.smoke:
            few = {one: battery.populations[one] for one in list(battery.populations)[:2]}
            battery = Battery(few, dict(list(battery.mechanisms.items())[:2]), (500,))
        found = errors(battery, surveys, times=times)
        for method in METHODS:
            near, shape = (compare(found, method, REFERENCE, k) for k in (0, 1))
            paired, (number, total) = compare(found, method, "auto", 0), combs(found, method)
            for k, (what, one) in enumerate((("Kantorovich", near), ("total variation", shape))):
                line = f"{method}, {what}, {name}", f"{one.mean:.3g} ({_ends(one.by_populations)})", REFERENCE
                yield _against(line, one.mean, targets[name][k] if method == "auto" else None)
            if method == "auto":
                worst = f"worst: {', '.join(map(str, near.where))}, {name}", f"{near.worst:.3g}", REFERENCE
                yield _against(worst, near.worst, targets[name][2])
            else:
                text = f"{paired.mean:.3g} (surveys {_ends(paired.by_surveys)}; combs {number}/{total})"
                yield _against((f"{method}, Kantorovich, paired, {name}", text, "the default"), paired.mean, None)
    yield from _times(scale)


def _against(line: tuple[str, str, str], ratio: float, target: float | None) -> Line:
    """Return a line with a target, or one that is reported only."""
    return Line(*line, ratio, ">= 0", True) if target is None else measure.at_most(*line, ratio, target)


def _times(scale: Scale) -> Iterator[Line]:
    for n, target in ((N, None), (scale.pick(1000, 50), 2.0)):
        mechanism = dc.geometric(n, epsilon="0.1")
        x = np.arange(n + 1)
        truth = shares(np.exp(-0.5 * ((x - 0.4 * n) / (0.08 * n)) ** 2))
        matrix = np.array(mechanism.matrix)
        counts = np.random.default_rng(1).multinomial(100_000, shares(truth @ matrix))
        times = scale.pick(UPDATES if n == N else 100, 10)
        ours, plain = measure.in_turn(
            lambda m=mechanism, c=counts: dc.estimate(c, m),
            lambda a=matrix, c=counts, t=times: updates(a, c / c.sum(), t),
            rounds=scale.pick(3, 1),
        )
        plain *= UPDATES / times
        if target is None:
            yield measure.at_most(f"default estimate n={n}", f"{ours:.3g} s", "0.1 s", ours / 0.1, 1)
        else:
            peer = f"{UPDATES} updates {plain:.3g} s"
            yield measure.at_most(f"default estimate n={n}", f"{ours:.3g} s", peer, ours / plain, target)


def main() -> None:
    sets: dict[str, Callable[[], Battery]] = {
        name.replace(" ", "-"): (lambda name=name: batteries()[name])
        for name in ("tuned on", "not tuned on", "held out")
    }
    parser = argparse.ArgumentParser(description="Print the leaderboard of a set of populations in Markdown.")
    parser.add_argument("set", choices=[*sets, "combs"])
    parser.add_argument("--surveys", type=int, default=3, help="surveys in each setting")
    parser.add_argument("--first", type=int, default=0, help="number of the first survey, from which its seed follows")
    parser.add_argument("--method", action="append", help="only these methods (the first is compared with the others)")
    options = parser.parse_args()
    if options.set == "combs":
        print("\n".join(binomial_combs(options.surveys, options.first)))
    else:
        methods = tuple(options.method or METHODS)
        print(table(errors(sets[options.set](), options.surveys, methods, first=options.first)))


if __name__ == "__main__":
    main()
