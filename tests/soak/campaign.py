"""Count files of reports on a cluster whose workers are killed; exit 1 if a count is not exact.

    python tests/soak/campaign.py [ROUNDS]

In every round, workers are killed at moments of chance while the command counts. In every tenth
one the scheduler is killed instead: then there is one line of error, and nothing is left.
"""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from clusters import Cluster, started
from counting import command, counted, make
from distributed import Client

#: Reports of a round, and seconds between two faults.
REPORTS, BETWEEN = 3_000_000, (0.3, 2.0)

#: Seconds after which a scheduler has work and has not done it.
AT_WORK = (0.9, 1.3)


def kill_workers(cluster: Cluster, counting: subprocess.Popen[str], rng: random.Random) -> int:
    """Kill one worker after another until all is counted, three at most; how many."""
    killed = 0
    with Client(cluster.scheduler, set_as_default=False) as client:
        while killed < 3:
            try:
                counting.wait(rng.uniform(*BETWEEN))
                break
            except subprocess.TimeoutExpired:
                found = client.run(os.getpid, on_error="ignore").values()
                pids = [pid for pid in found if isinstance(pid, int)]
                if pids:
                    os.kill(rng.choice(pids), 9)
                    killed += 1
    return killed


def run(number: int, folder: Path, expected: list[tuple[int, int]], rng: random.Random) -> str:
    """A round in words; it begins with "exact" where the promise was held."""
    to, place = folder / f"counts-{number}", folder / f"cluster-{number}"
    place.mkdir()
    with started(place, workers=2) as cluster:
        words = command(folder, to, "--scheduler", cluster.scheduler)
        counting = subprocess.Popen(words, stdout=-1, stderr=-1, text=True)
        if number % 10 == 9:
            ended = "after the count"
            try:
                counting.wait(rng.uniform(*AT_WORK))
            except subprocess.TimeoutExpired:
                cluster.end_scheduler()
                ended = "meanwhile"
            _, complaint = counting.communicate(timeout=300)
            left = sorted(each.name for each in folder.iterdir() if "counts" in each.name)
            held = counting.returncode == 0 and counted(to) == expected
            held |= counting.returncode == 2 and complaint.count("\n") == 1 and not left
            return (
                f"{'exact' if held else 'BROKEN'}: scheduler killed {ended}; {complaint.strip()!r}"
            )
        killed = kill_workers(cluster, counting, rng)
        _, complaint = counting.communicate(timeout=300)
    held = counting.returncode == 0 and counted(to) == expected
    return f"{'exact' if held else 'BROKEN'}: {killed} workers killed {complaint.strip()}"


def main() -> None:
    """Run the rounds."""
    rounds, rng, broken = int((sys.argv[1:] or ["20"])[0]), random.Random(20), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected = make(folder, REPORTS)
        for number in range(rounds):
            said = run(number, folder, expected, rng)
            broken += not said.startswith("exact")
            print(f"round {number + 1}: {said}", flush=True)
            for left in folder.glob("counts-*"):
                subprocess.run(["rm", "-r", str(left)], check=True)
    print(f"{rounds - broken} of {rounds} rounds exact")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
