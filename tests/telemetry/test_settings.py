"""The variables of OpenTelemetry say whether and where spans are sent."""

from __future__ import annotations

import pytest

from errands.model.errors import BadValue
from errands.telemetry.settings import is_on, read

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318/"}


def test_without_an_endpoint_nothing_is_sent() -> None:
    assert not is_on({})
    assert is_on(ENDPOINT)
    assert not is_on({**ENDPOINT, "OTEL_SDK_DISABLED": "true"})
    assert not is_on({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"})


def test_the_usual_variables_are_understood() -> None:
    settings = read(
        {
            **ENDPOINT,
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, tenant=7",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "2500",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test,service.name=other",
            "OTEL_SERVICE_NAME": "mine",
        }
    )
    assert settings.url == "http://localhost:4318/v1/traces"
    assert settings.headers == {"authorization": "Bearer x", "tenant": "7"}
    assert settings.timeout == 2.5
    assert settings.resource == {"deployment.environment": "test", "service.name": "mine"}


def test_an_endpoint_for_traces_is_taken_as_it_is() -> None:
    settings = read({**ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://collector/in"})
    assert settings.url == "https://collector/in"
    assert settings.resource == {"service.name": "errands"}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "not supported"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317", "must begin with http"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "milliseconds"),
    ],
)
def test_what_cannot_be_followed_is_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        read({**ENDPOINT, name: value})
