"""Parts of the API description that the framework does not derive itself."""

from __future__ import annotations

from ...report import Code, Json, Part, Prose, Report, Section, Terms, TextTable
from ..collection import MAX_MECHANISMS, MAX_TEXT, MIN_REPORTS, NAME
from ..keys import KEY_DAYS, PATTERN
from .problems import KINDS, MEDIA_TYPE
from .serve import Settings

TITLE = "discreet: reports from people's own devices"

DESCRIPTION = (
    "Each person's device adds noise, and this service counts the noisy reports: no true value reaches it. A "
    "collection is a question with one or more mechanisms. Anybody may read its description and fetch its mechanisms. "
    "Reports come in batches, each under a key of its own, so that a batch that is sent again is counted once."
)

#: Schemas of bodies that the framework does not parse.
SCHEMAS: dict[str, Json] = {
    "Problem": {
        "type": "object",
        "title": "Problem details (RFC 9457)",
        "required": ["type", "title", "status"],
        "properties": {
            "type": {"type": "string", "enum": [f"urn:discreet:problem:{kind}" for kind in KINDS]},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "field": {"type": "string"},
        },
    },
    "Receipt": {
        "type": "object",
        "required": ["outcome", "reports"],
        "properties": {
            "outcome": {"type": "string", "enum": ["stored", "repeated"]},
            "reports": {"type": "integer", "minimum": 1},
        },
    },
    "NewCollection": {
        "type": "object",
        "required": ["title", "question", "mechanisms"],
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
            "question": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
            "mechanisms": {
                "type": "object",
                "description": "Mechanisms by name, each as m.save(path) writes it.",
                "minProperties": 1,
                "maxProperties": MAX_MECHANISMS,
                "propertyNames": {"pattern": f"^{NAME}$"},
                "additionalProperties": {"type": "object"},
            },
            "reporting": {"type": "string", "enum": ["open", "token"], "default": "open"},
            "minimum_reports": {"type": ["integer", "null"], "minimum": MIN_REPORTS},
            "wanted": {"type": ["string", "null"], "examples": ["±2 points", "mean ±0.5"]},
        },
    },
    "NewToken": {
        "type": "object",
        "required": ["right"],
        "additionalProperties": False,
        "properties": {
            "right": {"type": "string", "enum": ["manage", "read", "report"]},
            "collection": {"type": ["string", "null"], "pattern": f"^{NAME}$"},
        },
    },
}


def problem_responses(*kinds: str) -> dict[int | str, dict[str, object]]:
    """Return the refusals of a route, for its description."""
    responses: dict[int | str, dict[str, object]] = {}
    for kind in kinds:
        title = KINDS[kind].title
        status = KINDS[kind].status
        if status in responses:
            title = f"{responses[status]['description']}; {title[0].lower()}{title[1:]}"
        schema = {"$ref": "#/components/schemas/Problem"}
        responses[status] = {"description": title, "content": {MEDIA_TYPE: {"schema": schema}}}
    return responses


def json_body(schema: str) -> dict[str, object]:
    """Return the description of a request body that a route parses by hand."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"requestBody": {"required": True, "content": content}}


def reports_route(settings: Settings) -> dict[str, object]:
    """Return the description of the route that takes batches."""
    receipt = {"application/json": {"schema": {"$ref": "#/components/schemas/Receipt"}}}
    refusals = problem_responses(
        "bad-request", "bad-key", "no-token", "not-permitted", "not-found", "key-of-another-batch", "expired-key",
        "too-large", "not-json", "invalid", "too-many-requests", "unavailable",
    )  # fmt: skip
    return {
        "tags": ["reports"],
        "summary": "Send a batch of reports",
        "description": (
            "All reports of a batch were made by one mechanism. An answer of 201 or 200 means that the batch is on the "
            "disk and counted once. After any other end, send the same bytes again under the same key."
        ),
        "operationId": "send_reports",
        "security": [{}, {"token": []}],
        "parameters": [
            {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "pattern": f"^{NAME}$"}},
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": True,
                "description": f"The day (UTC), a point and 128 random bits, new for each batch; for {KEY_DAYS} days.",
                "schema": {"type": "string", "pattern": f"^{PATTERN}$"},
            },
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _batch(settings)}}},
        "responses": {
            "201": {"description": "The batch was counted", "content": receipt},
            "200": {"description": "The batch had been counted before", "content": receipt},
            **{str(status): one for status, one in refusals.items()},
        },
    }


def _batch(settings: Settings) -> dict[str, object]:
    return {
        "type": "object",
        "required": ["mechanism", "reports"],
        "additionalProperties": False,
        "properties": {
            "mechanism": {"type": "string", "description": "The name of the mechanism in the collection."},
            "reports": {
                "type": "array",
                "minItems": 1,
                "maxItems": settings.most_reports,
                "description": "Counts and cells by their number, labels by what they say.",
                "items": {"type": ["integer", "string"]},
            },
        },
    }


def as_report(paths: dict[str, dict[str, dict[str, object]]]) -> Report:
    """Return the API as a page for people, which loads nothing and runs nothing."""
    sections = []
    for path, methods in paths.items():
        for method, route in methods.items():
            if not isinstance(route, dict) or "responses" not in route:
                continue
            responses = route["responses"]
            assert isinstance(responses, dict)
            rows = tuple((str(status), str(one["description"])) for status, one in responses.items())
            parts: list[Part] = [Code(f"{method.upper()} {path}")]
            if route.get("description"):
                parts.append(Prose(str(route["description"])))
            sections.append(Section(str(route.get("summary", "")), (*parts, TextTable(("status", "meaning"), rows))))
    about = Terms((("description", "/openapi.json, for programs"),))
    return Report(TITLE, "API", sections=(Section(parts=(Prose(DESCRIPTION, tone="lead"), about)), *sections))
