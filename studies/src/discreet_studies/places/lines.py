"""[A] beyond places: energy in kWh and age in years, values on a line, calibrated as in [A] and as in [F]."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.exact.arrays import IntArray
from discreet.mechanism import Mechanism
from discreet.mechanisms.geometric import geometric
from discreet.mechanisms.response import randomized_response
from discreet.optimise.improve.calibration import calibrate
from discreet.spaces import Counts
from discreet.wording import listed

from ..claims import Claim, judge
from ..datasets import SOURCES
from ..means import Mean
from ..reconstruction.surveys import DEFAULT, GEOMETRIC, MAXIMUM, RADIUS, RESPONSE, Surveys, repeat
from ..reconstruction.surveys import mechanisms as at_equal_ratio
from ..study import ExhibitResult, Row, Setting

#: [A] calibrates to three cells.
STEPS = 3

#: The two calibrations in words.
SAME_DISTANCE = f"the same expected distance, {STEPS} steps, as [A] (2)"
SAME_RATIO = f"the same likelihood ratio, 2 within {RADIUS} steps, as [F] section 4"

#: The data sets that are read where they are, by what their values are called.
_OTHERS = {"energy, kWh a day": "household", "age, Adult": "adult"}


def _populations(setting: Setting) -> dict[str, IntArray]:
    """Return the number of people (or days) with each value, from the least value on."""
    table = setting.datasets.doctor_visits()
    first = [int(age) for age, year in zip(table["age"], table["year"], strict=True) if year == "1"]
    populations = {"age, doctor visits": np.array(first)}
    if setting.datasets.has("household"):
        populations["energy, kWh a day"] = np.floor(setting.datasets.household()).astype(np.int64)
    if setting.datasets.has("adult"):
        populations["age, Adult"] = setting.datasets.adult().age
    return {name: np.bincount(values - values.min()) for name, values in populations.items()}


def at_equal_distance(counts: IntArray) -> dict[str, Mechanism]:
    """Return both mechanisms with reports three steps from the truth on average."""
    space, prior = Counts(len(counts) - 1), (counts / counts.sum()).tolist()
    return {
        GEOMETRIC: calibrate(geometric, len(counts) - 1, distance=STEPS, prior=prior).mechanism,
        RESPONSE: calibrate(randomized_response, space, distance=STEPS, prior=prior).mechanism,
    }


def draw_lines(setting: Setting) -> ExhibitResult:
    """Measure Kantorovich distances on each data set under both calibrations."""
    repeats = setting.pick(4, 20)
    rows: list[Row] = []
    claims: list[Claim] = []
    populations = _populations(setting)
    for data, counts in setting.progress(list(populations.items()), "energy and age"):
        made = {SAME_DISTANCE: at_equal_distance(counts), SAME_RATIO: at_equal_ratio(len(counts) - 1)}
        for calibration, mechanisms in made.items():
            surveys = {
                name: repeat(setting, m, counts / counts.sum(), counts, repeats, data, calibration)
                for name, m in mechanisms.items()
            }
            means = {(name, which): _distance(one, which) for name, one in surveys.items() for which in _SHOWN}
            rows += [
                {
                    "data": data, "calibration": calibration, "mechanism": name, "estimate": which,
                    "people": int(counts.sum()), "values": len(counts), "repeats": repeats, **mean.columns("distance"),
                }
                for (name, which), mean in means.items()
            ]  # fmt: skip
            claims.append(_claim(data, calibration, means, int(counts.sum())))
    missing = [SOURCES[need] for data, need in _OTHERS.items() if data not in populations]
    chosen = (
        "The paper names kinds of data only. Steps are 1 kWh and 1 year; every record counts as one person's.",
        *([f"Not there, and left out: {listed(missing, 'and')}."] if missing else []),
    )
    return ExhibitResult({}, {"": rows}, tuple(claims), chosen)


_SHOWN = (MAXIMUM, DEFAULT)


def _distance(surveys: Surveys, which: str) -> Mean:
    return Mean.of(surveys.distances(which, surveys.sample))


def _claim(data: str, calibration: str, means: Mapping[tuple[str, str], Mean], people: int) -> Claim:
    texts = "; ".join(
        f"{which}: geometric {means[GEOMETRIC, which]}, k-RR {means[RESPONSE, which]}" for which in _SHOWN
    )
    better = all(means[GEOMETRIC, which].below(means[RESPONSE, which]) for which in _SHOWN)
    worse = all(means[RESPONSE, which].below(means[GEOMETRIC, which]) for which in _SHOWN)
    how = "distance" if calibration == SAME_DISTANCE else "ratio"
    return Claim(
        f"lines: {data}, {how}", f"[A] section I, on {data}, at {calibration}",
        "For energy consumption and age, d-privacy has a much better utility than LDP at the same level of privacy.",
        f"Kantorovich distance in steps, {people:,} records: {texts}.",
        judge(better),
        "" if better else
        "At an equal expected distance k-RR reports the truth most of the time, which the reconstruction uses." if worse
        else "The order depends on the estimate, or lies within the intervals.",
    )  # fmt: skip
