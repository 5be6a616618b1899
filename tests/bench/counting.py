"""Counting reports in files: one process, two, and a Dask cluster, compared with plain DuckDB.

    python tests/bench/counting.py FOLDER [REPORTS]

Creates that many synthetic reports in FOLDER (10 million, 0.2 GB) unless they exist: records of
CENSUS, perturbed by a seeded split questionnaire, one in a hundred sent twice, in two files. Plain
DuckDB groups the same files by distinct ids on as many cores, without checks, conflicts, files of
ids or hashes. Exits with 1 if counts differ from the simulation or a target is missed.
"""

import ast
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client
from halftruth_collector.cli.output import print_table
from halftruth_collector.demo.census import SCHEMA, census_codes, census_survey
from halftruth_collector.survey_file import of_survey
from halftruth_shared.mechanisms import SplitQuestionnaire

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from clusters import started

#: Reports in a file, and how many of them repeat reports of the previous file.
ROWS, REPEATED = 1_000_000, 10_000

#: Maximum peak memory of a process, minimum speed-up of two, and of DuckDB's speed.
MEMORY, SPEED_UP, OF_DUCKDB = 2**30, 1.6, 0.5

_DUCKDB = """
import sys, duckdb
connection = duckdb.connect()
connection.execute(f"SET threads = {sys.argv[2]}")
connection.execute("SET enable_progress_bar = false")
query = '''
    SELECT symbol, count(*) FROM (
        SELECT id, any_value(values[1]) AS symbol FROM read_parquet(?) GROUP BY id
    ) GROUP BY symbol
'''
print(sorted(connection.execute(query, [sys.argv[1]]).fetchall()))
"""


class Run(NamedTuple):
    """Wall and processor seconds, the largest peak memory of a process, and the counts."""

    seconds: float
    processor: float
    memory: int
    counts: list[tuple[int, int]]


def make(folder: Path, reports: int) -> list[tuple[int, int]]:
    """Create files of reports, and return the expected count of each symbol."""
    truth = folder / f"truth-{reports}.json"
    if truth.exists():
        return [tuple(pair) for pair in json.loads(truth.read_text())]
    survey, rng = _survey(), np.random.default_rng(15)
    shutil.rmtree(folder / "reports", ignore_errors=True)
    (folder / "reports").mkdir(parents=True)
    codes, total = census_codes(), np.zeros(survey.report_space.size, dtype=np.int64)
    before = np.empty(0, dtype="V16"), np.empty(0, dtype=np.int64)
    for number in range(reports // ROWS):
        new = ROWS - len(before[0])
        chosen = codes[rng.integers(len(codes), size=new)]
        symbols = survey.perturbation.reports(chosen, rng)[:, 0]
        total += np.bincount(symbols, minlength=len(total))
        ids = np.frombuffer(rng.bytes(16 * new), "V16")
        order = rng.permutation(ROWS)
        ids = np.concatenate([ids, before[0]])[order]
        symbols = np.concatenate([symbols, before[1]])[order]
        _write(folder / "reports" / f"{number:03}.parquet", survey.digest, ids, symbols)
        # A file's last reports may be repeats themselves, which are then sent three times.
        before = ids[-REPEATED:], symbols[-REPEATED:]
        print(f"\rmade {(number + 1) * ROWS:,} reports", end="", file=sys.stderr)
    print(file=sys.stderr)
    expected = [(symbol, count) for symbol, count in enumerate(total.tolist()) if count]
    truth.write_text(json.dumps(expected))
    return expected


def _write(path: Path, digest: str, ids: np.ndarray, symbols: np.ndarray) -> None:
    storage = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(16), len(ids), [None, pa.py_buffer(ids)]
    )
    digests = pa.DictionaryArray.from_arrays(np.zeros(len(ids), dtype=np.int32), [digest])
    offsets = np.arange(len(ids) + 1, dtype=np.int32)
    values = pa.ListArray.from_arrays(offsets, pa.array(symbols.astype(np.uint32)))
    columns = {
        "id": pa.ExtensionArray.from_storage(pa.uuid(), storage),
        "digest": digests.cast(pa.string()),
        "values": values,
    }
    pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=["digest"])


def _survey():
    mechanism = SplitQuestionnaire.for_amplification(SCHEMA, 19, max_length=3)
    return census_survey("census", mechanism)


def command(folder: Path, to: Path, *options: str) -> list[str]:
    """Return the command that counts the files."""
    survey = folder / "census.toml"
    survey.write_text(of_survey(_survey()))
    words = Path(sys.executable).with_name("halftruth"), "reports", "count", _files(folder)
    return [*map(str, words), "--survey", str(survey), "--output", str(to), *options]


def counted(folder: Path) -> list[tuple[int, int]]:
    """Return the count of each symbol."""
    with closing(sqlite3.connect(folder / "counts.db")) as counts:
        rows = counts.execute("SELECT cell, count FROM cells").fetchall()
    return sorted((int.from_bytes(cell, "big"), count) for cell, count in rows)


def ours(folder: Path, *options: str) -> Run:
    """Run the command on an empty target folder."""
    to = folder / "counts"
    shutil.rmtree(to, ignore_errors=True)
    run = _run(command(folder, to, *options))
    return run._replace(counts=counted(to))


def on_cluster(folder: Path) -> Run:
    """Run the command with a scheduler and two single-threaded workers, including their memory."""
    with (
        tempfile.TemporaryDirectory() as place,
        started(Path(place), workers=2) as cluster,
        Client(cluster.scheduler, set_as_default=False) as client,
    ):
        run = ours(folder, "--scheduler", cluster.scheduler)
        usages = [*client.run(getrusage, RUSAGE_SELF).values()]
        usages.append(client.run_on_scheduler(getrusage, RUSAGE_SELF))
    memory = max(run.memory, *(usage.ru_maxrss * 1024 for usage in usages))
    processor = run.processor + sum(usage.ru_utime + usage.ru_stime for usage in usages)
    return run._replace(memory=memory, processor=processor)


def peer(folder: Path, program: str, threads: int) -> Run:
    """Run a peer's group by in a separate process."""
    return _run([sys.executable, "-c", program, _files(folder), str(threads)])


def _run(command: list[str]) -> Run:
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said)
        # Includes descendant processes.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        said.seek(0)
        printed = said.read()
    if process.returncode:
        sys.exit(f"{command[0]} ended with {process.returncode}: {printed}")
    counts = ast.literal_eval(printed) if printed.startswith("[") else []
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, counts)


def _files(folder: Path) -> str:
    return str(folder / "reports" / "*.parquet")


def main() -> None:
    """Create the files, count them in every way, and print the results."""
    folder, reports = Path(sys.argv[1]), int((sys.argv[2:] or ["10_000_000"])[0])
    expected = make(folder, reports)
    runs = {
        "halftruth, one process": ours(folder),
        "halftruth, two processes": ours(folder, "--processes", "2"),
        "halftruth, Dask, two workers": on_cluster(folder),
        "DuckDB, one thread": peer(folder, _DUCKDB, 1),
        "DuckDB, two threads": peer(folder, _DUCKDB, 2),
    }
    one, two, dask, duckdb, duckdb_two = runs.values()
    size = sum(file.stat().st_size for file in (folder / "reports").iterdir())
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{reports:,} reports in {size / 2**30:.2f} GiB; load {load} on {os.cpu_count()} cores")
    print_table(
        ["", "seconds", "of processors", "million reports/s", "peak of a process, MiB", "counts"],
        [
            [
                name,
                f"{run.seconds:.1f}",
                f"{run.processor:.1f}",
                f"{reports / run.seconds / 1e6:.2f}",
                f"{run.memory / 2**20:.0f}",
                "right" if run.counts == expected else "WRONG",
            ]
            for name, run in runs.items()
        ],
    )
    targets = [
        ("speed-up by two processes", one.seconds / two.seconds, SPEED_UP),
        ("speed-up by two workers", one.seconds / dask.seconds, SPEED_UP),
        ("of DuckDB's speed, one core", duckdb.seconds / one.seconds, OF_DUCKDB),
        ("of DuckDB's speed, two processes", duckdb_two.seconds / two.seconds, OF_DUCKDB),
        ("of DuckDB's speed, two workers", duckdb_two.seconds / dask.seconds, OF_DUCKDB),
    ]
    print_table(
        ["", "", "target", ""],
        [
            [name, f"{value:.2f}", f"≥ {target}", "met" if value >= target else "MISSED"]
            for name, value, target in targets
        ],
    )
    missed = any(value < target for _, value, target in targets)
    heavy = any(run.memory >= MEMORY for run in (one, two, dask))
    wrong = any(run.counts != expected for run in runs.values())
    sys.exit(missed or heavy or wrong)


if __name__ == "__main__":
    main()
