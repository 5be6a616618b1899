"""A collector moves from SQLite to PostgreSQL by the lines of the manual, and loses no report."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import pytest
import requests
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from wire import PATIENCE, free_port

PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
HALFTRUTH = [sys.executable, "-m", "halftruth_collector"]


def lines_of_moving() -> list[str]:
    text = PAGE.read_text(encoding="utf-8").partition("\n*Moving* from SQLite")[2]
    return re.search(r"^```sh\n(.*?)^```", text, re.M | re.S)[1].splitlines()


@pytest.mark.parametrize("fresh_database", ["postgresql"], indirect=True)
@pytest.mark.nightly
@pytest.mark.parametrize("to", ["postgresql", "sqlite"])
def test_a_collector_moves_to_the_other_database(survey, tmp_path, monkeypatch, fresh_database, to):
    """Clients send during the move, and repeat what was not acknowledged."""
    old, new = f"sqlite:///{tmp_path / 'halftruth.db'}", fresh_database
    if to == "sqlite":
        old, new = new, old
    monkeypatch.chdir(tmp_path)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HALFTRUTH_")}
    environment |= {"HALFTRUTH_DATABASE": old, "HALFTRUTH_RATE_LIMIT": "off"}
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1/surveys/health/reports"
    reports = [{"id": str(UUID(int=n)), "values": [n % 2, n % 3]} for n in range(30)]
    waiting = list(reports)

    def send(count: int) -> None:
        """Send reports; those that are not acknowledged wait."""
        for each in waiting[:count]:
            try:
                body = {"digest": survey.digest, "reports": [each]}
                answer = requests.post(url, json=body, timeout=PATIENCE)
            except requests.ConnectionError:
                continue
            assert answer.status_code == 202
            waiting.remove(each)

    with Store(old) as store:
        operations.publish_survey(store, survey)
        operations.create_token(store, "analyst", name="Anna")
    with ExitStack() as service:

        def start() -> None:
            words = [*HALFTRUTH, "serve", "--port", str(port), "--workers", "1", "--quiet"]
            process = service.enter_context(
                subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
            )
            service.callback(process.terminate)
            assert f":{port}" in process.stdout.readline()

        start()
        send(20)
        assert len(waiting) == 10
        for line in lines_of_moving():
            line = line.replace("postgresql://halftruth@db.example.org/halftruth", new)
            words = shlex.split(line)
            if words[:2] == ["systemctl", "stop"]:
                service.pop_all().close()
            elif words[:2] == ["systemctl", "start"]:
                send(3)
                assert len(waiting) == 10
                start()
            elif words[0] == "echo":
                name, _, value = words[1].partition("=")
                environment[name] = value
            else:
                assert words[0] == "halftruthctl"
                subprocess.run([*HALFTRUTH, *words[1:]], env=environment, check=True)
        # The answers to five of the reports were lost.
        waiting += reports[:5]
        send(15)
    with Store(new) as store:
        state = store.surveys.state("health")
        assert (waiting, state.reports) == ([], 30)
        _, counts, _ = store.reports.counts("health")
        expected = {(n % 2, n % 3): 5 for n in range(30)}
        found = zip(map(tuple, counts.cells.tolist()), counts.counts.tolist(), strict=True)
        assert dict(found) == expected
        assert [token.name for token in store.tokens.all()] == ["Anna"]
    with Store(old) as store:
        assert store.surveys.state("health").reports == 20
