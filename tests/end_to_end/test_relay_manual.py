"""The commands of the manual's section on running a relay work in order."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from installed import needs_addons
from wire import free_port, wait_until

PAGE = Path(__file__).parents[2] / "docs" / "relay.md"
BIN = Path(sys.executable).parent


def blocks(text: str) -> list[tuple[str, str]]:
    """Return language and lines of each block."""
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S)


@needs_addons
@pytest.mark.nightly
def test_the_relay_walk_through_counts_a_thousand_reports(tmp_path, monkeypatch):
    text = PAGE.read_text(encoding="utf-8").partition("### The whole way on one machine\n")[2]
    text = text.partition("\n### ")[0]
    ports = {port: free_port() for port in (8000, 8001)}
    for port, free in ports.items():
        text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{free}")
    monkeypatch.chdir(tmp_path)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HALFTRUTH_")}
    environment["PATH"] = f"{BIN}:{environment['PATH']}"
    printed: list[str] = []
    with ExitStack() as running:

        def run(line: str) -> None:
            if line.startswith("export "):
                name, _, value = line.removeprefix("export ").partition("=")
                environment[name] = value
            elif line.endswith(" serve"):
                port = ports[8001 if " relay " in line else 8000]
                words = [*shlex.split(line), "--port", str(port)]
                process = subprocess.Popen(
                    words, env=environment, stdout=subprocess.PIPE, stderr=-3, text=True
                )
                running.callback(process.wait)
                running.callback(process.terminate)
                running.callback(process.stdout.close)
                assert f":{port}" in process.stdout.readline()
            else:
                done = subprocess.run(
                    ["bash", "-c", line], env=environment, capture_output=True, text=True
                )
                assert done.returncode == 0, done.stderr
                printed.append(done.stdout)

        keys = {}
        for language, block in blocks(text):
            if language == "toml":
                for name, public in keys.items():
                    block = block.replace(f"<{name}>", public)
                Path("health.toml").write_text(block, encoding="utf-8")
            elif language == "python":
                subprocess.run([sys.executable, "-c", block], env=environment, check=True)
            else:
                lines = block.splitlines()
                if lines[0].startswith("halftruth relay close"):
                    run(lines.pop(0))
                    wait_until(lambda: is_closed(environment))
                for line in lines:
                    run(line.partition("  #")[0].strip())
                    if made := re.search(r"create (\S+\.keys)", line):
                        keys |= keys_of(made[1], printed[-1].strip())
    status, listed = printed[-2:]
    # Of the tickets, those that are not written yet are missing: the relay is running.
    assert status.splitlines()[2].split()[2:6] == ["released", "0", "1000", "0"]
    assert listed.splitlines()[2].split()[:3] == ["health", "closed", "1000"]


def keys_of(file: str, said: str) -> dict[str, str]:
    """Return the public keys that a command has printed, by their names in the manual."""
    named = re.findall(r'(\w+) = "(\w+)"', said)
    return {f"{file} {name}": key for name, key in named} or {file: said}


def is_closed(environment: dict[str, str]) -> bool:
    """Whether the relay has forwarded its reports, and closed the survey at the collector."""
    words = ["halftruth", "survey", "list"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return re.search(r"health +closed +1000 ", done.stdout) is not None
