"""Requests of every kind that the service's own description allows, and of kinds that it does not: no 5xx."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error

from discreet.collect.keys import new_key
from support.running_service import RunningService


@pytest.mark.filterwarnings("ignore")  # of the library that makes the requests
def test_no_request_by_the_description_makes_the_service_fail(service: RunningService, token: str) -> None:
    described = service.ask("GET", "/openapi.json").json
    schema = schemathesis.openapi.from_dict(described)
    schema.config.update(base_url=f"http://127.0.0.1:{service.port}")
    seen: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def holds(case) -> None:
            headers = {"Authorization": f"Bearer {token}"}
            if case.operation.path.endswith("/reports"):
                headers["Idempotency-Key"] = new_key()
            if "name" in (case.path_parameters or {}) and case.method != "PUT":
                case.path_parameters["name"] = service.name  # one that exists
            answer = case.call(headers=headers)
            case.validate_response(answer, checks=[not_a_server_error])
            seen.setdefault(case.operation.label, set()).add(answer.status_code)

        holds()
    assert len(seen) == sum(len(methods) for methods in described["paths"].values())
    assert {201, 422} & seen["POST /v1/collections/{name}/reports"], seen
    assert all(status < 500 for found in seen.values() for status in found), seen
    assert service.ask("GET", "/ready").status == 200
