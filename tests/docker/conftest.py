"""The files of ``docker/``, read as the tools that use them would."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@dataclass
class Stage:
    """One stage of a Dockerfile."""

    base: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, name: str) -> list[str]:
        """What follows each instruction of this name."""
        return [text for instruction, text in self.instructions if instruction == name]

    def one(self, name: str) -> str:
        [text] = self.all(name)
        return text

    @property
    def environment(self) -> dict[str, str]:
        return self._pairs("ENV")

    @property
    def arguments(self) -> dict[str, str]:
        """What is in the environment of that which runs in this stage, unless told otherwise."""
        return self._pairs("ARG")

    def _pairs(self, instruction: str) -> dict[str, str]:
        pairs = [
            word.partition("=") for text in self.all(instruction) for word in shlex.split(text)
        ]
        return {name: value for name, _, value in pairs}

    @property
    def command(self) -> list[str]:
        return json.loads(self.one("CMD"))

    @property
    def health_command(self) -> list[str]:
        [command] = re.findall(r"CMD (\[.*\])$", self.one("HEALTHCHECK"))
        return json.loads(command)

    @property
    def copied(self) -> list[tuple[str, str]]:
        """Sources in the build context, and where they go."""
        pairs = [text.split() for text in self.all("COPY") if not text.startswith("--from=")]
        return [(source, target) for *sources, target in pairs for source in sources]


def read_dockerfile(text: str) -> list[Stage]:
    """Its stages; arguments before the first one are put in."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for logical in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, rest = logical.strip().partition(" ")
        if name == "FROM":
            for argument, value in arguments.items():
                rest = rest.replace(f"${{{argument}}}", value)
            base, *alias = rest.split(" AS ")
            stages.append(Stage(base, *(alias or [""])))
        elif name == "ARG":
            argument, _, arguments[argument] = rest.partition("=")
            if stages:
                stages[-1].instructions.append((name, rest))
        elif name:
            stages[-1].instructions.append((name, rest))
    return stages


@pytest.fixture
def stages() -> list[Stage]:
    """The stages of the Dockerfile: that which builds, and the image."""
    return read_dockerfile((ROOT / "docker/Dockerfile").read_text(encoding="utf-8"))


def read_compose(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker" / name).read_text(encoding="utf-8"))


def merged(first: Any, second: Any) -> Any:
    """What Compose makes of the same place in two files."""
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


@pytest.fixture(params=["compose", "with_cluster"])
def composed(request) -> dict[str, Any]:
    """The services of a collector alone, and of one with a cluster."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def root() -> Path:
    return ROOT
