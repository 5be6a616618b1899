"""The Dockerfile's own commands, run without an engine: build, install, start, ask, stop."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from halftruth_client import Client

PACKAGES = ("halftruth_shared", "halftruth_client", "halftruth_collector")
SURVEY = """\
id = "health"
title = "Health at work"
mechanism = {kind = "gamma-diagonal", gamma = "19"}
attributes = [{name = "smoker", categories = ["no", "yes"]}]
"""
LOCATE = f"""\
import importlib, json
print(json.dumps([importlib.import_module(name).__file__ for name in {PACKAGES}]))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's."""
    made = Path(tempfile.mkdtemp(prefix="halftruth-image-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.mark.nightly
def test_the_image_builds_installs_starts_answers_and_stops(folder, root, stages):
    build, image = stages
    send_context(root, build, folder / "src")
    build_image(build, folder)
    assert wheels_of_the_project(folder / "wheels") == {f"{name}-0.1.0" for name in PACKAGES}
    check_packages(folder)
    shutil.rmtree(folder / "src")
    shutil.rmtree(folder / "wheels")
    check_origin(folder)
    check_service(image, folder)


def test_nothing_that_is_made_or_kept_here_reaches_the_build(root):
    for path in (
        *[".git", ".venv", "tests", "docs", "halftruth.db", "docker/.env"],
        *["client/node_modules", "shared/halftruth_shared/__pycache__"],
        *["collector/halftruth_collector/mine.db", "collector/halftruth_collector/mine.db-wal"],
    ):
        assert ignored(root, path), path


def test_the_image_runs_as_a_numbered_user_and_keeps_only_its_data(stages):
    _, image = stages
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", image.one("USER"))
    assert image.one("VOLUME") == "/data"
    assert image.one("STOPSIGNAL") == "SIGTERM"
    assert image.environment["HALFTRUTH_DATABASE"] == "sqlite:////data/halftruth.db"
    # What is installed belongs to root, so that the collector cannot change its own program.
    names = [name for name, _ in image.instructions]
    assert "RUN" not in names[names.index("USER") :]
    port = image.one("EXPOSE")
    assert image.command[-2:] == ["--port", port]
    assert f"http://127.0.0.1:{port}/readyz" in image.health_command[-1]


def send_context(root: Path, build, target: Path) -> None:
    """Copy what the build stage copies, without what the engine would not send."""

    def left_out(directory: str, names: list[str]) -> list[str]:
        inside = Path(directory).relative_to(root)
        return [name for name in names if ignored(root, (inside / name).as_posix())]

    target.mkdir()
    for source, destination in build.copied:
        if (root / source).is_dir():
            shutil.copytree(root / source, target / destination, ignore=left_out)
        else:
            shutil.copy(root / source, target / destination)


def ignored(root: Path, path: str) -> bool:
    """Whether the engine leaves this path of the context out: the last matching line decides."""
    out = False
    text = (root / "docker/Dockerfile.dockerignore").read_text(encoding="utf-8")
    parts = Path(path).parts
    above = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
    for line in text.splitlines():
        pattern = line.removeprefix("!")
        if line.startswith("#"):
            continue
        if any(matches(name, pattern) for name in above):
            out = not line.startswith("!")
    return out


def matches(path: str, pattern: str) -> bool:
    """Whether a path matches a line: ``**/`` is any depth, ``*`` stays within one."""
    if pattern.startswith("**/"):
        return fnmatch(path.rpartition("/")[2], pattern.removeprefix("**/"))
    return path.count("/") == pattern.count("/") and fnmatch(path, pattern)


def placed(text: str, folder: Path) -> str:
    """The same text with the image's absolute folders below this one."""
    return re.sub(r"(?<![\w.])/(wheels|opt/halftruth|data|tmp/matplotlib)\b", rf"{folder}/\1", text)


def build_image(build, folder: Path) -> None:
    """Run every RUN of the build stage with a Python of its own, as the base image has one."""
    subprocess.run([sys.executable, "-m", "venv", folder / "python"], check=True)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    environment["PATH"] = f"{folder / 'python/bin'}:{os.environ['PATH']}"
    # Little of what is installed is ever imported here.
    environment["PIP_COMPILE"] = "0"
    environment |= build.arguments
    for command in build.all("RUN"):
        done = subprocess.run(
            ["sh", "-c", placed(command, folder)],
            cwd=folder / "src",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def wheels_of_the_project(wheels: Path) -> set[str]:
    return {"-".join(wheel.name.split("-")[:2]) for wheel in wheels.glob("halftruth_*.whl")}


def check_packages(folder: Path) -> None:
    """Every file of the three packages is installed, byte for byte, and no other one."""
    [site] = folder.glob("opt/halftruth/lib/python3.*/site-packages")
    source = {
        path.relative_to(package.parent): path.read_bytes()
        for package in (folder / "src").glob("*/halftruth_*")
        for path in package.rglob("*")
        if path.is_file()
    }
    installed = {
        path.relative_to(site): path.read_bytes()
        for name in PACKAGES
        for path in (site / name).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert installed == source
    assert {path.as_posix() for path in installed} >= {
        *[f"{name}/py.typed" for name in PACKAGES],
        "halftruth_client/js/form/index.js",
        "halftruth_collector/demo/census.csv",
        "halftruth_collector/web/pages/assets/style.css",
        "halftruth_collector/web/pages/templates/form.html",
    }


def check_origin(folder: Path) -> None:
    """What is imported lies in the installation, and all that it needs is there."""
    python = folder / "opt/halftruth/bin/python"
    done = subprocess.run(
        [python, "-c", LOCATE], cwd=folder, env={}, capture_output=True, text=True, check=True
    )
    for file in json.loads(done.stdout):
        assert Path(file).is_relative_to(folder / "opt/halftruth")
    pip = [folder / "python/bin/python", "-m", "pip", "--python", python, "check"]
    assert subprocess.run(pip, capture_output=True, check=False).returncode == 0


def check_service(image, folder: Path) -> None:
    """The image's command answers, under the image's user and environment, until SIGTERM."""
    uid, gid = map(int, image.one("USER").split(":"))
    data = folder / "data"
    data.mkdir(mode=0o700)
    environment = {
        name: placed(value, folder)
        for name, value in {**image.environment, "HOME": "/data"}.items()
    }
    if os.geteuid() == 0:
        os.chown(data, uid, gid)
    (folder / "health.toml").write_text(SURVEY, encoding="utf-8")

    def inside(*command: str) -> list[str]:
        program = shutil.which(command[0], path=environment["PATH"])
        assert program is not None
        return [*as_user(uid, gid), program, *command[1:]]

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            inside(*command),
            cwd=data,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    command = list(image.command)
    for option, wanted, here in (("--host", "0.0.0.0", "127.0.0.1"), ("--port", "8000", "0")):
        assert command[command.index(option) + 1] == wanted
        command[command.index(option) + 1] = here
    with subprocess.Popen(
        inside(*command), cwd=data, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            said = server.stdout.readline()
            assert said.startswith("halftruth collector on http://127.0.0.1:")
            url = said.split()[-1]
            probe = [word.replace("http://127.0.0.1:8000", url) for word in image.health_command]
            assert probe != image.health_command
            health = run(*probe)
            assert health.returncode == 0, health.stderr

            published = run("halftruth", "survey", "publish", str(folder / "health.toml"))
            assert published.returncode == 0, published.stderr
            client = Client(url, max_gamma="19")
            delivery = client.submit_many(client.survey("health"), [{"smoker": "yes"}])
            assert (delivery.accepted, delivery.duplicates) == (1, 0)

            server.send_signal(signal.SIGTERM)
            assert server.wait(45) == 0
        finally:
            server.kill()
    assert run(*probe).returncode == 1
    written = list(folder.glob("data/*"))
    assert folder / "data/halftruth.db" in written
    assert {path.stat().st_uid for path in written} == {uid if os.geteuid() == 0 else os.geteuid()}


def as_user(uid: int, gid: int) -> list[str]:
    """A prefix that runs a command as this user, where this process may; it writes nowhere else.

    The interpreter may lie where only its owner may look, so that reading stays allowed.
    """
    if os.geteuid() != 0:
        return []
    return shlex.split(
        f"setpriv --reuid={uid} --regid={gid} --clear-groups --no-new-privs"
        " --inh-caps=-all,+dac_read_search --ambient-caps=-all,+dac_read_search"
    )
