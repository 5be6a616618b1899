"""The compose files name only what exists, and its password opens a real PostgreSQL."""

import configparser
import json
import os
import pwd
import re
import shutil
import ssl
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from distributed.cli import dask_scheduler, dask_worker
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.ops.settings import Config
from installed import program
from wire import PATIENCE, free_port, listening, wait_until


def test_every_service_has_an_image_or_a_build_that_exists(composed, root):
    manual = (root / "docs/operating.md").read_text(encoding="utf-8")
    for name, service in composed["services"].items():
        # A version is named; only what is built here has none.
        built = service["image"] in ("halftruth", "halftruth-cluster")
        if not built:
            # Another one, with its digest, may be named in its place.
            assert re.search(r":\d", default_of(service["image"])), name
        assert ("build" in service) == (name == "collector")
        # The manual says how to pin it.
        assert built or f"$(digest {default_of(service['image'])})" in manual, name
    build = composed["services"]["collector"]["build"]
    context = (root / "docker" / build["context"]).resolve()
    assert context == root
    assert (context / build["dockerfile"]).is_file()
    assert (context / f"{build['dockerfile']}.dockerignore").is_file()


def test_every_network_volume_and_file_that_a_service_names_exists_and_is_used(composed, root):
    networks, volumes = set(), set()
    for name, service in composed["services"].items():
        networks |= set(service.get("networks", []))
        assert set(service.get("depends_on", [])) <= set(composed["services"]), name
        for mount in service.get("volumes", []):
            source, target, *mode = mount.split(":")
            assert target.startswith("/")
            if source.startswith("."):
                assert (root / "docker" / source).is_file(), mount
                assert mode == ["ro"]
            else:
                volumes.add(source)
    assert networks == set(composed["networks"])
    assert volumes == set(composed["volumes"])


def test_no_service_can_write_to_its_image_gain_rights_or_stay_down(composed):
    for name, service in composed["services"].items():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert set(service.get("cap_add", [])) <= {"CHOWN", "NET_BIND_SERVICE"}
        once = {"password": "no", "store-key": "no", "bucket": "on-failure"}
        assert service["restart"] == once.get(name, "unless-stopped")


def test_every_service_has_a_limit_of_memory_and_whatever_stays_says_whether_it_is_well(composed):
    for name, service in composed["services"].items():
        assert re.fullmatch(r"\d+[mg]", default_of(service["mem_limit"])), name
        # The image of the collector asks by itself, on the port of a collector.
        asks = "healthcheck" in service and "test" in service["healthcheck"]
        assert asks == (service["restart"] == "unless-stopped" and name != "collector"), name
        if service["image"] == "halftruth-cluster" and name != "collector":
            assert "healthcheck" in service


def test_only_the_proxy_is_reached_from_outside_and_only_it_reaches_out(compose):
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


def test_the_collector_is_given_only_settings_that_it_reads(compose):
    environment = compose["services"]["collector"]["environment"]
    known = {f"HALFTRUTH_{name.upper()}" for name in Config.__struct_fields__}
    assert set(environment) <= known
    given = {name: value for name, value in environment.items() if value is not None}
    given["HALFTRUTH_MAX_BODY"] = default_of(given["HALFTRUTH_MAX_BODY"])
    config = Config.from_environment(given)
    assert config.max_body == Config().max_body
    assert config.proxies == 1
    assert config.log_format == "json"


def test_a_stop_leaves_open_requests_the_time_that_the_server_gives_them(compose):
    collector = compose["services"]["collector"]
    assert int(collector["stop_grace_period"].removesuffix("s")) > 30


def test_no_secret_stands_in_the_file_or_in_an_environment(composed):
    for service in composed["services"].values():
        for name, value in (service.get("environment") or {}).items():
            if re.search("PASSWORD|USER_|CREDENTIALS", name):
                assert name.endswith("_FILE")
                assert re.match("/run/(secrets|store)/", value)
    url = urlsplit(database_url(composed))
    assert url.password is None


def test_the_owners_of_the_password_are_the_users_of_the_images(compose, image):
    services = compose["services"]
    database, collector = services["password"]["entrypoint"][-2:]
    assert services["db"]["user"].split(":")[0] == database
    assert image["USER"].split(":")[0] == collector
    assert services["password"]["image"] == services["db"]["image"]


def test_the_image_runs_as_a_numbered_user_and_keeps_only_its_data(image):
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", image["USER"])
    assert (image["VOLUME"], image["STOPSIGNAL"]) == ("/data", "SIGTERM")


def test_the_password_files_are_private_agree_and_are_made_once(compose, root, tmp_path):
    make_password(compose, root, tmp_path, os.getuid())
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert re.fullmatch(r"[0-9a-f]{48}", made["password"])
    assert made["pgpass"] == f"db:5432:halftruth:halftruth:{made['password']}\n"
    assert set(made) == {"password", "pgpass"}
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o400
    make_password(compose, root, tmp_path, os.getuid())
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == made
    # The first start may have been broken off before its last step.
    (tmp_path / "pgpass").rename(tmp_path / "pgpass.new")
    if os.geteuid() == 0:
        os.chown(tmp_path / "pgpass.new", 10001, -1)
    make_password(compose, root, tmp_path, os.getuid())
    assert {path.name for path in tmp_path.iterdir()} == set(made)
    assert (tmp_path / "password").read_text() in (tmp_path / "pgpass").read_text()


def test_the_stores_key_is_private_agrees_with_the_credentials_and_is_made_once(
    with_cluster, root, tmp_path
):
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


def test_nobody_outside_reaches_the_scheduler_or_its_workers(with_cluster):
    services = with_cluster["services"]
    ports = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert set(ports) == {"proxy", "store"}
    assert all(port.startswith("127.0.0.1:") for port in ports["store"])
    assert with_cluster["networks"]["counting"]["internal"]
    for name in ("scheduler", "worker"):
        assert services[name]["networks"] == ["counting"]
    assert "counting" in services["collector"]["networks"]


def test_scheduler_and_workers_understand_what_they_are_told(with_cluster):
    services, parsed = with_cluster["services"], {}
    for name, command in (("scheduler", dask_scheduler.main), ("worker", dask_worker.main)):
        program, said, *arguments = services[name]["command"]
        assert (program, said) == ("dask", name)
        parsed[name] = command.make_context(name, arguments).params
    assert parsed["worker"]["scheduler"] == f"tls://scheduler:{parsed['scheduler']['port']}"
    # A second thread of a worker would count in the same memory.
    assert (parsed["worker"]["n_workers"], parsed["worker"]["nthreads"]) == ("1", 1)
    assert services["scheduler"]["image"] == services["collector"]["image"]
    extras = services["collector"]["build"]["args"]["EXTRAS"]
    assert {"plot", "postgres", "redis", "xlsx", "cluster"} == set(extras.split(","))


def test_the_bucket_is_asked_for_at_the_store(with_cluster):
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


@pytest.mark.nightly
def test_the_collectors_url_opens_a_database_that_asks_for_this_password(
    compose, database_server, survey, tmp_path
):
    folder, port = database_server
    line = (folder / "pgpass").read_text()
    [service, database_port] = line.split(":")[:2]
    url = database_url(compose)
    assert urlsplit(url).hostname == service
    assert parse_qs(urlsplit(url).query)["passfile"] == ["/run/secrets/pgpass"]

    def here(passfile: Path) -> str:
        return url.replace(f"@{service}/", f"@127.0.0.1:{port}/").replace(
            "/run/secrets/pgpass", str(passfile)
        )

    def passfile(name: str, text: str) -> Path:
        path = tmp_path / name
        path.touch(0o600)
        path.write_text(text.replace(f"{service}:{database_port}:", f"127.0.0.1:{port}:"))
        return path

    with Store(here(passfile("right", line))) as store:
        operations.publish_survey(store, survey)
        assert [stored.digest for stored in store.surveys.all()] == [survey.digest]
    *beginning, password = line.strip().split(":")
    wrong = ":".join([*beginning, password[::-1]])
    assert wrong != line.strip()
    with pytest.raises(StoreUnavailable):
        Store(here(passfile("wrong", wrong)))


def test_compose_itself_accepts_the_file(root):
    command = [shutil.which("docker") or "docker", "compose"]
    try:
        plugin = subprocess.run([*command, "version"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no Docker client")
    if plugin.returncode != 0:
        pytest.skip("no Compose")
    done = subprocess.run(
        [*command, "--file", root / "docker/compose.yaml", "config", "--quiet"],
        env={**os.environ, "HALFTRUTH_HOST": "collect.example"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def database_server(compose, root) -> Iterator[tuple[Path, int]]:
    """A PostgreSQL of its own, set up with the password as the image sets it up; and its port."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = programs[-1] if programs else program("initdb")
    # It refuses to run as root.
    uid = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.getuid()
    user = {"user": uid} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="halftruth-compose-"))
    environment = compose["services"]["db"]["environment"]
    port = free_port()
    try:
        make_password(compose, root, folder, uid)
        os.chown(folder, uid, -1)
        folder.chmod(0o755)
        subprocess.run(
            [
                *[initdb, "--pgdata", folder / "data", "--no-sync", "--auth=scram-sha-256"],
                *[f"--username={environment['POSTGRES_USER']}"],
                *[f"--pwfile={folder / 'password'}", *environment["POSTGRES_INITDB_ARGS"].split()],
            ],
            check=True,
            capture_output=True,
            **user,
        )
        server = subprocess.Popen(
            [
                *[Path(initdb).with_name("postgres"), "-D", folder / "data", "-p", str(port)],
                *["-k", "", "-h", "127.0.0.1", "-F"],
            ],
            stderr=subprocess.DEVNULL,
            **user,
        )
        try:
            create_database(environment, port, (folder / "password").read_text())
            yield folder, port
        finally:
            server.terminate()
            server.wait(PATIENCE)
    finally:
        shutil.rmtree(folder)


def create_database(environment: dict[str, str], port: int, password: str) -> None:
    """As the image does at its first start, once the server answers."""

    def created() -> bool:
        try:
            with psycopg.connect(
                host="127.0.0.1",
                port=port,
                user=environment["POSTGRES_USER"],
                password=password,
                dbname="postgres",
                autocommit=True,
            ) as connection:
                connection.execute(f"CREATE DATABASE {environment['POSTGRES_DB']}")
        except psycopg.OperationalError:
            return False
        return True

    wait_until(created)


def make_password(compose, root: Path, folder: Path, owner: int, service: str = "password") -> None:
    """Run what such a service runs, for users of this machine and with its rights."""
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


def database_url(compose) -> str:
    return compose["services"]["collector"]["environment"]["HALFTRUTH_DATABASE"]


def default_of(text: str) -> str:
    """Return the default of a variable that is not set, or the text itself."""
    return re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", text)
