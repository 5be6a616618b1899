"""A relay that runs as a server in separate processes."""

import os
import signal

import requests
from halftruth_relay import operations as relaying
from relays import Device
from serving import run_collector
from wire import PATIENCE, wait_until


def test_another_worker_passes_reports_on_after_one_was_killed(make, relay_database, tmp_path):
    parties = make(batch=2)
    with run_collector(
        relay_database,
        tmp_path,
        *("--workers", "2"),
        program="relay",
        RELAY_KEYS=tmp_path / "relay.pem",
    ) as relay:
        devices = [Device((n % 2, n % 3)) for n in range(5)]
        body = {
            "digest": parties.survey.digest,
            "reports": [device.sealed(parties.survey) for device in devices],
        }
        response = requests.post(f"{relay.url}{parties.path}", json=body, timeout=PATIENCE)
        assert response.json() == {"accepted": 5, "duplicates": 0}
        # Kill all workers, including the one that passes reports on.
        for worker in (former := relay.workers()):
            os.kill(worker, signal.SIGKILL)
        wait_until(lambda: len(now := relay.workers()) == 2 and not set(now) & set(former))
        relaying.close(parties.relay_store, "health", confirm="health")
        wait_until(lambda: parties.relay_store.get("health").passed == 5)
        assert (parties.held(), parties.counted()) == (0, 5)
        assert requests.get(f"{relay.url}/readyz", timeout=PATIENCE).status_code == 200
    said = relay.said()
    assert said.count("passed on 5 reports of health: 5 counted now") == 1
    # Accepted reports are not logged.
    assert "POST" not in said
