"""The compose files: validation by Compose, and permissions, networks and secrets."""

import configparser
import json
import os
import re
import shutil
import ssl
import stat
import subprocess
import sys
from pathlib import Path

import click
import pytest
from halftruth_collector.cli import main
from halftruth_collector.ops.settings import Config
from wire import free_port, listening


@pytest.fixture
def docker_compose(root):
    """Run Compose with these files; skip without a Docker client."""
    if shutil.which("docker") is None:
        pytest.skip("no Docker client")
    if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode != 0:
        pytest.skip("no Compose")

    def run(files, *words):
        named = [word for file in files for word in ("--file", root / "docker" / file)]
        return subprocess.run(
            ["docker", "compose", *named, *words],
            env={**os.environ, "HALFTRUTH_HOST": "localhost"},
            capture_output=True,
            text=True,
        )

    return run


@pytest.mark.parametrize(
    "files",
    [["compose.yaml"], ["compose.yaml", "compose.cluster.yaml"], ["compose.relay.yaml"]],
    ids=lambda files: files[-1],
)
def test_compose_accepts_the_files(docker_compose, files):
    done = docker_compose(files, "config", "--quiet")
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_the_services_start_and_are_healthy(docker_compose):
    if subprocess.run(["docker", "info"], capture_output=True).returncode != 0:
        pytest.skip("no Docker engine")
    files, project = ["compose.yaml"], ("--project-name", "halftruth-test")
    try:
        done = docker_compose(
            files, *project, "up", "--build", "--detach", "--wait", "db", "collector"
        )
        assert done.returncode == 0, done.stderr
    finally:
        docker_compose(files, *project, "down", "--volumes", "--timeout", "5")


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
