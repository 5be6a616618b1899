"""No log of the collector, of a relay or of a proxy has the time of a browser's report."""

import re
import subprocess
import time
from contextlib import ExitStack, contextmanager
from datetime import datetime
from shutil import copyfile

import pytest
import requests
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_relay import operations as relaying
from halftruth_relay.store import RelayStore
from halftruth_shared.protocol.sealing import SealingKeys, create_sealing_key
from halftruth_shared.protocol.terms import Terms
from installed import program
from proxies import nginx_files
from relays import with_relay
from serving import run_collector
from wire import PATIENCE, free_port, wait_until

from .conftest import CLIENT, RECORD

#: For each kind of server: 21 reports together.
BROWSERS = 7

#: A page of another origin, which sends a report when it is asked to.
PAGE = """
<script type="module">
  import {{ Client }} from "{collector}/js/index.js";
  window.answer = async (record) => {{
    const client = new Client("{collector}", {{ maxGamma: 19 }});
    await client.submit(await client.survey("work"), record);
  }};
</script>
"""


@contextmanager
def served(kind, survey, database, sqlite_template, folder):
    """Run the servers; yield the collector's URL, the logs, a count of reports, a certificate."""
    with ExitStack() as stack:
        port = free_port()
        keys = folder / "collector.pem"
        if kind == "relay":
            # The seal of the terms is for surveys without a relay.
            survey, terms = with_relay(survey, folder, url=f"http://127.0.0.1:{port}"), Terms()
        else:
            terms = Terms(sealing_key=create_sealing_key(keys))
        store = stack.enter_context(Store(database))
        operations.publish_survey(store, survey, terms)
        held = lambda: store.reports.counts("work")[1].reports  # noqa: E731
        given = {"SEALING_KEYS": keys, "PROXIES": int(kind == "nginx")}
        collector = stack.enter_context(run_collector(database, folder, **given))
        logs, url, certificate = [collector.said], collector.url, None
        if kind == "relay":
            relay_keys = folder / "relay.pem"
            copyfile(sqlite_template, folder / "relay.db")
            relay_database = f"sqlite:///{folder / 'relay.db'}"
            relay_store = stack.enter_context(RelayStore(relay_database))
            token = operations.create_token(store, "relay", "work")
            public = SealingKeys.read(relay_keys).public
            address = survey.relay.url
            relaying.register(relay_store, url, "work", token, url=address, keys=public)
            given = {"program": "relay", "RELAY_KEYS": relay_keys}
            relay = stack.enter_context(
                run_collector(relay_database, folder, "--port", str(port), **given)
            )
            logs.append(relay.said)
            held = lambda: relay_store.held(relay_store.get("work")).reports  # noqa: E731
        if kind == "nginx":
            proxy = folder / "nginx"
            proxy.mkdir()
            upstream = url.removeprefix("http://")
            main, _ = nginx_files(CLIENT.parent, proxy, free_port(), port, [upstream])
            process = stack.enter_context(
                subprocess.Popen([program("nginx"), "-c", main, "-p", proxy])
            )
            stack.callback(process.terminate)
            url = f"https://127.0.0.1:{port}"
            wait_until(lambda: (proxy / "log").exists())
            logs.append((proxy / "log").read_text)
            certificate = proxy / "tls.crt"
        yield url, logs, held, certificate


def times(text: str) -> list[datetime]:
    """Return the times at the beginnings of lines."""
    found = re.findall(r"^\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d", text, re.M)
    return [datetime.fromisoformat(each) for each in found]


def lines_within(logs, moments) -> int:
    """Return the number of lines whose time is within one of these intervals, to a second."""
    logged = [each.timestamp() for log in logs for each in times(log())]
    return sum(begin - 1 <= each <= end for each in logged for begin, end in moments)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("alone", marks=pytest.mark.nightly),
        "relay",
        pytest.param("nginx", marks=pytest.mark.nightly),
    ],
)
def test_no_log_has_the_time_of_a_report_from_another_origin(
    kind, survey, database, sqlite_template, tmp_path, origin, browser
):
    """Sealed reports, each with its preflight and the survey that the client fetches before."""
    with served(kind, survey, database, sqlite_template, tmp_path) as served_here:
        url, logs, held, certificate = served_here
        address = origin.add("", PAGE.format(collector=url))
        # A second after the start, whose lines have a time.
        time.sleep(1.1)
        moments = []
        for _ in range(BROWSERS):
            with browser.new_context(ignore_https_errors=certificate is not None) as context:
                page = context.new_page()
                began = time.time()
                page.goto(address)
                page.wait_for_function("() => window.answer !== undefined")
                page.evaluate("record => window.answer(record)", RECORD)
                moments.append((began, time.time()))
        assert held() == BROWSERS
        assert lines_within(logs, moments) == 0
        # The search finds the time of a request that is logged; nginx writes whole seconds.
        time.sleep(1.1)
        asked = time.time()
        trusted = True if certificate is None else str(certificate)
        requests.get(f"{url}/operate/", verify=trusted, timeout=PATIENCE, allow_redirects=False)
        wait_until(lambda: lines_within(logs, [(asked, time.time())]) > 0)
    # Nor do the lines that are written when the servers end.
    assert lines_within(logs, moments) == 0
