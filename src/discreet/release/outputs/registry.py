"""A record for the public registry of deployments of differential privacy (opendp/deployments-registry-data).

Fields of its schema that follow from the release are filled in; the publisher completes those that begin with TODO.
The schema is ``schemas/deployments-schema.yaml`` of :data:`SCHEMA_DATE`. The record is YAML with texts quoted as in
JSON; only the slug has no quotes, in the first line, where the registry's scripts look for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ...exact.rationals import float_up
from ...privacy.relations import RELATIONS
from ...report import Json
from ...wording import listed, plural
from ..bundle.released import Release
from ..plan.report import question_in_words

#: Date of the registry's schema that the records follow.
SCHEMA_DATE = "2026-07-15"

_TODO = "TODO: "


def registry_record(release: Release) -> dict[str, Json]:
    """Return the record of a release in the registry's schema."""
    plan, date = release.plan, str(release.ledger["time"])[:10]
    basic: dict[str, Json] = {
        "name": f"{release.title}{f', {plan.edition}' if plan.edition else ''}",
        "data_curators": [f"{_TODO}who publishes the counts"],
        "description": " ".join(question_in_words(plan, table.plan) for table in release.tables),
        "intended_use": f"{_TODO}what the counts are for",
        "data_product_type": "Summary statistics",
        "data_product_region": f"{_TODO}the region that the data describes",
        "publication_date": date,
    }
    return {
        "url_slug": _slug(basic),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": basic,
            "dp_variant": _variant(release),
            "privacy_loss": _loss(release),
            "deployment_model": _model(release),
            "accounting": {
                "post_processing": _post_processing(release),
                "composition": f"{plan.lead.composition_in_words(plan.tables, plan.cells, plan.cost.delta)}: "
                f"{plan.sensitivity_text} A ledger adds up the cost of every release that it pays for and refuses what "
                "its budget does not pay for.",
            },
            "implementation": _implementation(release),
            "administrative": {
                "notes": f"Re-check the bundle with `discreet verify`. Ledger {release.ledger['ledger']}, entry "
                f"{release.ledger['entry']}, head {release.ledger['head']}.",
                "registry_authors": [f"{_TODO}who fills in this record"],
            },
        },
    }


def _slug(basic: Mapping[str, Json]) -> str:
    """Return the slug as the registry's script makes it: from the name, the curators and the year."""
    curators = basic["data_curators"]
    assert isinstance(curators, list)
    parts = (str(basic["name"]), "-".join(map(str, curators)), str(basic["publication_date"])[:4])
    return "-".join(re.sub(r"\W+", "-", part.lower()) for part in parts).replace("_", "-")


def _variant(release: Release) -> dict[str, Json]:
    plan = release.plan
    name = "Pure DP"
    if plan.cost.delta:
        name = "Zero-concentrated DP" if plan.cost.rho is not None else "Approximate DP"
    zeros = sum(len(table.groups.zeros) for table in release.tables)
    sizes = [table.title for table in release.tables if table.plan.noise.known]
    public = [plan.lead.public_in_words]
    public += [f"{plural(zeros, 'structural zero')}, declared as public facts"] if zeros else []
    public += [f"the sizes of the groups of {listed(sizes)}"] if sizes else []
    return {
        "variant_name": name,
        "data_domain": f"All tables with the columns of {plan.dataset}, with any number of rows and any values.",
        "unprotected_quantities": f"Public, and not protected: {listed(public)}. No statistic of the data is released "
        f"without noise.{''.join(table.plan.naming_in_words for table in release.tables)}",
    }


def _loss(release: Release) -> dict[str, Json]:
    plan = release.plan
    who = plan.protection.who
    parameters: dict[str, Json] = {"epsilon": float_up(plan.cost.epsilon)}
    if plan.cost.delta:
        parameters["delta"] = float_up(plan.cost.delta)
    if plan.cost.delta and plan.cost.rho is not None:
        parameters["rho"] = float_up(plan.cost.rho)
    return {
        "privacy_unit": who.protected[0].upper() + who.protected[1:],
        "privacy_unit_details": f"Adjacent tables differ by one {who.one}, "
        f"{RELATIONS[plan.protection.relation].change} ({plan.protection.relation}). {' '.join(release.guarantee)}",
        "privacy_parameters": parameters,
        "privacy_parameters_details": "For everything in this release together, rounded up.",
    }


def _model(release: Release) -> dict[str, Json]:
    repeated = bool(release.edition)
    return {
        "model_name": "Central",
        "model_name_details": "The curator holds the table, adds the noise, and publishes the noisy counts.",
        "actors": "The curator sees the table. Readers see the bundle: noisy counts, the request, the mechanisms. They "
        "need not be trusted.",
        "release_type": "Many releases" if repeated else "One release",
        "release_type_details": "Each question is answered once for each edition of the data; the ledger returns the "
        "recorded answer to whoever asks again, at no cost. Every other release is paid for from its budget.",
        "data_source_type": "Dynamic" if repeated else "Static",
        "access_type": "Non-interactive",
        "access_type_details": "The counts are published as they are.",
    }


def _post_processing(release: Release) -> str:
    sentences = []
    for table in release.tables:
        if table.post_processing:
            sentences.append(table.post_processing)
        if table.plan.suppress_below is not None:
            sentences.append(f"{table.title}: noisy counts below {table.plan.suppress_below} are withheld.")
    return " ".join(sentences) or "None."


def _implementation(release: Release) -> dict[str, Json]:
    noise = [f"{table.title}: {'; '.join(text for _, text in table.plan.noise_lines)}." for table in release.tables]
    who = release.plan.protection.who
    row = who.is_row
    rule = (
        "Each row is counted once in each table, or not at all."
        if row
        else f"{release.guarantee[0]} The rule that bounds contributions looks at each {who.one} alone."
    )
    return {
        "preprocessing_and_hyperparameter_tuning": f"The question: "
        f"{' ; '.join(table.question.text for table in release.tables)}. {rule} "
        f"{_TODO}whether parameters were chosen by looking at the data.",
        "mechanisms": f"{' '.join(noise)} Drawn by discreet {release.version} from the exact law in integer arithmetic "
        f"with bits of the operating system: no floating point is in the noise. {_proof(release)} Timing is not "
        "protected.",
        "justification": f"{_TODO}why this epsilon{' and' if row else ','} these groups"
        f"{'' if row else ' and this contribution bound'}.",
    }


def _proof(release: Release) -> str:
    """State how the guarantee is proved: in exact numbers, or with a delta from floats whose error is bounded."""
    if not release.cost.delta:
        return "The guarantee is proved in exact numbers for the law that is sampled."
    return (
        "Epsilon and delta hold for the law that is sampled. They are upper bounds, worked out in exact numbers or in "
        "floating point with a bound on its error."
    )


# ------------------------------------------------------------------------------------------------ YAML


def yaml_text(record: Mapping[str, Json]) -> str:
    """Return the record as YAML: the slug without quotes, two lines of instructions, then the fields."""
    rest = {name: value for name, value in record.items() if name != "url_slug"}
    head = (
        f"url_slug: {record['url_slug']}",
        "# For deployments/ of opendp/deployments-registry-data: complete every TODO before you propose it, then renew",
        f"# the slug with its scripts/update_slug.py. The fields are those of its schema of {SCHEMA_DATE}.",
    )
    return "\n".join((*head, *_lines(rest, ""))) + "\n"


def _lines(content: Mapping[str, Json], indent: str) -> Iterator[str]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {_scalar(one)}" for one in value)
        else:
            yield f"{indent}{name}: {_scalar(value)}"


def _scalar(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True)
