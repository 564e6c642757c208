"""Labels for exhibits that were results on synthetic check-ins, and the same claims on both sets of check-ins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

from discreet.plots import Chart

from ..claims import Basis, Claim
from ..datasets import FOLDER
from ..study import ExhibitResult, Row, Setting
from ..tables import significant
from .calibration import draw_calibration
from .losses import draw_losses
from .mechanisms import NAMES, PRINTED, at_epsilon, distances_by_cell
from .radius import draw_radius
from .square import EVENTS, Square, square
from .synthetic import DESCRIPTION

#: The exhibits whose claims are judged on both sets.
ON_BOTH = (draw_calibration, draw_losses, draw_radius)

#: What every chart says that shows synthetic check-ins.
LABEL = "Synthetic check-ins, not Gowalla."


def on_checkins(draw: Callable[[Setting], ExhibitResult]) -> Callable[[Setting], ExhibitResult]:
    """Label what an exhibit draws, and what its claims rest on, by the check-ins that it was given."""

    @wraps(draw)
    def labelled(setting: Setting) -> ExhibitResult:
        results = draw(setting)
        return results if setting.datasets.has("gowalla") else _standing_in(results, setting.seed)

    return labelled


def _standing_in(results: ExhibitResult, seed: int) -> ExhibitResult:
    note = f"{LABEL} Seed {seed}: {DESCRIPTION} The folder that {FOLDER} or --data names has no Gowalla."
    charts = {name: _with_label(chart) for name, chart in results.charts.items()}
    return replace(results, charts=charts, claims=tuple(map(_on_synthetic, results.claims)), note=note)


def _with_label(chart: Chart) -> Chart:
    title = chart.spec["title"]
    return Chart({**chart.spec, "title": {**title, "subtitle": [LABEL, *title["subtitle"]]}})


def _on_synthetic(claim: Claim) -> Claim:
    if claim.basis is Basis.MATHEMATICS:
        return claim
    return replace(claim, place=f"{claim.place}, on synthetic check-ins", basis=Basis.OURS)


def draw_synthetic(setting: Setting) -> ExhibitResult:
    """Describe the synthetic check-ins, and Gowalla where its file exists, and judge the claims on them too."""
    invented = replace(setting, datasets=replace(setting.datasets, stand_ins=True))
    both = [square(invented)]
    claims: list[Claim] = []
    if setting.datasets.has("gowalla"):
        both.append(square(setting))
        for draw in ON_BOTH:
            claims += [
                replace(_on_synthetic(claim), key=f"synthetic, {claim.key}")
                for claim in draw(invented).claims
                if claim.basis is not Basis.MATHEMATICS
            ]
    chosen = (f"The synthetic check-ins, seed {setting.seed}: {DESCRIPTION}", EVENTS)
    return ExhibitResult({}, {"": [_summary(one) for one in both]}, tuple(claims), chosen)


def _summary(area: Square) -> Row:
    """Return the size, the clustering and the inequality of a set of check-ins; nothing of single cells or people."""
    counts = sorted(area.counts.tolist(), reverse=True)
    return {
        "checkins": area.source, "in_square": len(area.cells), "people": len(area.by_person),
        "cells_with_any": sum(count > 0 for count in counts),
        "share_of_ten_fullest_cells": significant(sum(counts[:10]) / len(area.cells)),
        "most_of_one_person": int(area.by_person.max()),
        **{
            f"metres_at_printed_epsilon_{name}": significant(
                float(distances_by_cell(at_epsilon(name, PRINTED[name])) @ area.distribution)
            )
            for name in NAMES
        },
    }  # fmt: skip
