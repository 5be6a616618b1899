"""The compose files: validation, and permissions, networks and secrets."""

import configparser
import json
import os
import re
import shutil
import ssl
import stat
import subprocess
import sys
from collections.abc import Sequence
from functools import reduce
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import click
import pytest
from halftruth_collector.cli import main
from halftruth_collector.ops.settings import Config
from installed import missing, needs_addons, program
from wire import free_port, listening

from .conftest import ROOT, merged, read_compose


def run_compose(files: Sequence[str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run Compose with these files."""
    named = [word for file in files for word in ("--file", str(ROOT / "docker" / file))]
    return subprocess.run(
        ["docker", "compose", *named, *words],
        env={**os.environ, "HALFTRUTH_HOST": "localhost"},
        capture_output=True,
        text=True,
        check=False,
    )


def works(*command: str) -> bool:
    """Return whether this command of Docker is installed and succeeds."""
    found = shutil.which(command[0]) is not None
    return found and subprocess.run(command, capture_output=True, check=False).returncode == 0


def check_schema(document: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """Validate a compose file by the schema of the Compose specification."""
    (folder / "compose.json").write_text(json.dumps(document))
    command = [program("check-jsonschema"), "--builtin-schema", "vendor.compose-spec"]
    return subprocess.run(
        [*command, folder / "compose.json"], capture_output=True, text=True, check=False
    )


def undefined(document: dict[str, Any]) -> set[str]:
    """Return the services, networks and volumes that services refer to and the file lacks."""
    found = set()
    for service in document["services"].values():
        found |= {f"service {name}" for name in {*service.get("depends_on", [])}}
        found |= {f"network {name}" for name in {*service.get("networks", [])}}
        sources = [mount.partition(":")[0] for mount in service.get("volumes", [])]
        found |= {f"volume {name}" for name in sources if not name.startswith((".", "/"))}
    kinds = ("service", "network", "volume")
    return found - {f"{kind} {name}" for kind in kinds for name in document.get(f"{kind}s", [])}


FILES = [["compose.yaml"], ["compose.yaml", "compose.cluster.yaml"], ["compose.relay.yaml"]]


@pytest.mark.parametrize("files", FILES, ids=lambda files: files[-1])
def test_the_files_are_valid(files, tmp_path):
    """By the schema of the specification and, where it is installed, by Compose itself."""
    document = reduce(merged, map(read_compose, files))
    done = check_schema(document, tmp_path)
    assert done.returncode == 0, done.stdout
    assert undefined(document) == set()
    if works("docker", "compose", "version"):
        done = run_compose(files, "config", "--quiet")
        assert done.returncode == 0, done.stderr


def test_all_files_are_checked():
    found = {file.name for file in (ROOT / "docker").glob("compose*.yaml")}
    assert found == {name for files in FILES for name in files}


@pytest.mark.parametrize(
    "change",
    [
        {"restrat": "always"},
        {"depends_on": 1},
        {"mem_limit": True},
        {"healthcheck": {"interval": 30}},
        {"ports": {"80": 80}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_invalid_service_is_refused(compose, change, tmp_path):
    compose["services"]["collector"] |= change
    done = check_schema(compose, tmp_path)
    assert done.returncode == 1
    assert "services.collector" in done.stdout


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"depends_on": ["dbs"]}, "service dbs"),
        ({"networks": ["front", "inside"]}, "network inside"),
        ({"volumes": ["date:/data", "./Caddyfile:/file"]}, "volume date"),
    ],
)
def test_undefined_names_are_found(compose, change, name):
    compose["services"]["collector"] |= change
    assert undefined(compose) == {name}


@pytest.mark.nightly
def test_the_services_start_and_are_healthy():
    if not works("docker", "compose", "version") or not works("docker", "info"):
        missing("Docker with Compose")
    files, project = ["compose.yaml"], ("--project-name", "halftruth-test")
    try:
        done = run_compose(
            files, *project, "up", "--build", "--detach", "--wait", "db", "collector"
        )
        assert done.returncode == 0, done.stderr
    finally:
        run_compose(files, *project, "down", "--volumes", "--timeout", "5")


def test_services_are_read_only_unprivileged_and_restarted(composed):
    for name, service in composed["services"].items():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert set(service.get("cap_add", [])) <= {"CHOWN", "NET_BIND_SERVICE"}
        once = {"password": "no", "store-key": "no", "bucket": "on-failure"}
        assert service["restart"] == once.get(name, "unless-stopped")


def test_only_the_proxy_is_connected_to_the_outside(compose):
    services = compose["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    reaches_out = {
        name for name, network in compose["networks"].items() if not (network or {}).get("internal")
    }
    assert reaches_out == {"outside"}
    for name, service in services.items():
        assert ("outside" in service.get("networks", [])) == (name == "proxy")
        assert service.get("network_mode", "none") == "none"
        assert ("networks" in service) != ("network_mode" in service)
    assert not set(services["proxy"]["networks"]) & set(services["db"]["networks"])


@needs_addons
def test_a_relay_is_reached_only_through_its_proxy_which_logs_no_requests(of_relay, root):
    services = of_relay["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert {name: set(service["networks"]) for name, service in services.items()} == {
        "relay": {"front", "outside"},
        "proxy": {"front", "outside"},
    }
    assert of_relay["networks"]["front"]["internal"]
    proxy = services["proxy"]["environment"]
    assert (proxy["HALFTRUTH_PROXY_OUTPUT"], proxy["HALFTRUTH_PROXY_LOG"]) == (
        "discard",
        "anonymous",
    )
    caddyfile = (root / "docker/Caddyfile").read_text(encoding="utf-8")
    assert set(re.findall(r"\{\$(\w+)", caddyfile)) == set(proxy)
    config = read_config(services["relay"], HALFTRUTH_RELAY_URL="https://relay.example.edu")
    assert config.relay_keys == Path("/data/relay.keys")
    words = services["relay"]["command"]
    assert proxy["HALFTRUTH_UPSTREAM"] == f"relay:{words[-1]}"
    assert main.get_command(click.Context(main), words[1]).get_command(None, words[2]) is not None


def test_the_scheduler_and_its_workers_are_not_reachable_from_outside(with_cluster):
    services = with_cluster["services"]
    ports = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert set(ports) == {"proxy", "store"}
    assert all(port.startswith("127.0.0.1:") for port in ports["store"])
    assert with_cluster["networks"]["counting"]["internal"]
    for name in ("scheduler", "worker"):
        assert services[name]["networks"] == ["counting"]
    assert "counting" in services["collector"]["networks"]


def test_the_collector_has_only_settings_that_it_reads(compose):
    config = read_config(compose["services"]["collector"])
    assert config.max_body == Config().max_body
    assert config.log_format == "json"


def test_the_password_files_are_private_consistent_and_created_once(compose, root, tmp_path):
    make_password(compose, root, tmp_path, os.getuid())
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert re.fullmatch(r"[0-9a-f]{48}", made["password"])
    assert made["pgpass"] == f"db:5432:halftruth:halftruth:{made['password']}\n"
    assert set(made) == {"password", "pgpass"}
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o400
    make_password(compose, root, tmp_path, os.getuid())
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == made
    # The first start may be interrupted before its last step.
    (tmp_path / "pgpass").rename(tmp_path / "pgpass.new")
    if os.geteuid() == 0:
        os.chown(tmp_path / "pgpass.new", 10001, -1)
    make_password(compose, root, tmp_path, os.getuid())
    assert {path.name for path in tmp_path.iterdir()} == set(made)
    assert (tmp_path / "password").read_text() in (tmp_path / "pgpass").read_text()


def test_the_key_of_the_store_is_private_and_matches_the_credentials(with_cluster, root, tmp_path):
    make_password(with_cluster, root, tmp_path, os.getuid(), "store-key")
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert set(made) == {"store.json", "credentials", "cluster.pem"}
    context = ssl.create_default_context(cafile=tmp_path / "cluster.pem")
    context.load_cert_chain(tmp_path / "cluster.pem")
    said = with_cluster["services"]["worker"]["environment"]
    tls = [value for name, value in said.items() if "__TLS__" in name]
    assert tls == ["/run/store/cluster.pem"] * 4
    credentials = configparser.ConfigParser()
    credentials.read_string(made["credentials"])
    [identity] = json.loads(made["store.json"])["identities"]
    [key] = identity["credentials"]
    assert dict(credentials["default"]) == {
        "aws_access_key_id": key["accessKey"],
        "aws_secret_access_key": key["secretKey"],
    }
    assert re.fullmatch(r"[0-9a-f]{48}", key["secretKey"])
    assert "-s3.config=/run/store/store.json" in with_cluster["services"]["store"]["command"]
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o400
    make_password(with_cluster, root, tmp_path, os.getuid(), "store-key")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == made


def test_the_bucket_is_created_in_the_store(with_cluster):
    service = with_cluster["services"]["bucket"]
    port = free_port()
    environment = {
        **service["environment"],
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
    }
    asked = []

    def store(environ, start_response):
        asked.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
        start_response("404 Not Found" if environ["REQUEST_METHOD"] == "HEAD" else "200 OK", [])
        return []

    with listening(store, port):
        program, *words = service["command"]
        assert program == "python"
        done = subprocess.run([sys.executable, *words], env=environment, check=False)
    assert done.returncode == 0
    assert ("PUT", "/reports") in asked


def make_password(compose, root: Path, folder: Path, owner: int, service: str = "password") -> None:
    """Run the entrypoint of such a service with its capabilities, for this machine's users."""
    service = compose["services"][service]
    shell, script, target, *_ = service["entrypoint"]
    mounts = dict(mount.split(":")[1::-1] for mount in service["volumes"])
    assert target in mounts
    rights = ",".join(["-all", *(f"+{right.lower()}" for right in service["cap_add"])])
    restricted = ["setpriv", f"--bounding-set={rights}"] if os.geteuid() == 0 else []
    file = root / "docker" / mounts[script]
    done = subprocess.run(
        [*restricted, shell, file, folder, str(owner), str(os.getuid())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def read_config(service, **more: str) -> Config:
    """Return the settings of a service, after checking their names."""
    environment = service["environment"]
    assert set(environment) <= {f"HALFTRUTH_{name.upper()}" for name in Config.__struct_fields__}
    given = {name: value for name, value in environment.items() if value is not None} | more
    # The default of an unset variable.
    size = re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", given["HALFTRUTH_MAX_BODY"])
    config = Config.from_environment(given | {"HALFTRUTH_MAX_BODY": size})
    assert config.proxies == 1
    return config


@needs_addons
def test_the_image_is_built_from_all_packages_with_the_wanted_extras(root):
    text = (root / "docker/Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    [words] = re.findall(r"^RUN python -m pip wheel .*?(\./.*)$", text, re.M)
    extras = re.search(r"^ARG EXTRAS=(.*)$", text, re.M)[1]
    given = {**os.environ, "EXTRAS": extras}
    # As the shell of the image expands them.
    said = subprocess.check_output(
        ["sh", "-c", f"printf '%s\\n' {words}"], cwd=root, env=given, text=True
    )
    built = [line.partition("[")[0] for line in said.splitlines()]
    assert all((root / folder / "pyproject.toml").is_file() for folder in built)
    addons = [str(file.parent) for file in root.glob("collector/addons/*/pyproject.toml")]
    rooms = [str(root / room) for room in ("shared", "client", "collector")]
    assert sorted(str(root / folder) for folder in built) == sorted([*rooms, *addons])
    offered = metadata("halftruth-collector").get_all("Provides-Extra")
    assert set(extras.split(",")) <= set(offered)
