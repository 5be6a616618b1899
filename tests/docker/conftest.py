"""The files of ``docker/``, parsed as by the tools that use them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def read_compose(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker" / name).read_text(encoding="utf-8"))


def merged(first: Any, second: Any) -> Any:
    """Merge the same part of two files as Compose does."""
    if isinstance(first, dict) and isinstance(second, dict):
        both = {key: merged(first[key], second[key]) for key in first.keys() & second.keys()}
        return {**first, **second, **both}
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *second]
    return second


@pytest.fixture
def compose() -> dict[str, Any]:
    return read_compose("compose.yaml")


@pytest.fixture
def with_cluster(compose) -> dict[str, Any]:
    return merged(compose, read_compose("compose.cluster.yaml"))


@pytest.fixture
def of_relay() -> dict[str, Any]:
    return read_compose("compose.relay.yaml")


@pytest.fixture(params=["compose", "with_cluster", "of_relay"])
def composed(request) -> dict[str, Any]:
    """The services of a plain collector, of one with a cluster, and of a relay."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def root() -> Path:
    return ROOT
