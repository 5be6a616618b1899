"""Clients that others generate from the OpenAPI document work without edits."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from halftruth_collector import operations
from halftruth_collector.web.openapi import document
from installed import module, program

#: A program with the client of openapi-fetch.
TYPESCRIPT = """\
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const [baseUrl, token] = process.argv.slice(2) as [string, string];
// Results come as CSV, too, if that is asked for.
type Media = "application/json" | "application/problem+json";
const client = createClient<paths, Media>({ baseUrl });

// A member that has a default need not be given.
const report: components["schemas"]["Report"] = { id: crypto.randomUUID(), values: [1, 0] };
const path = { survey_id: "health" };
const survey = await client.GET("/v1/surveys/{survey_id}", { params: { path } });
const digest: string = survey.data!.digest;

const send = (digest: string) =>
  client.POST("/v1/surveys/{survey_id}/reports", {
    params: { path },
    body: { digest, reports: [report] },
  });
const sent = await send(digest);
const refused = await send("0".repeat(64));
const problem: components["schemas"]["Problem"] | undefined = refused.error;

// @ts-expect-error A report has an id.
const unfit: components["schemas"]["Report"] = { values: [1] };

const overview = await client.GET("/v1/surveys/{survey_id}/overview", {
  params: { path, query: { attributes: ["smoker", "drinks"], confidence: 0.9 } },
  headers: { Authorization: `Bearer ${token}` },
});
console.log(
  JSON.stringify({
    sent: [sent.response.status, sent.data],
    refused: [refused.response.status, problem?.type],
    overview: [overview.data?.reports, overview.data?.query.attributes],
  }),
);
"""

COMPILER = {
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "target": "ES2022",
    "module": "NodeNext",
    "lib": ["ES2022", "DOM"],
    "types": [],
    "outDir": "built",
}


@pytest.fixture
def description(tmp_path):
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document()), encoding="utf-8")
    return file


def run(*words, folder):
    """Run a program, which must succeed and say nothing of warnings."""
    ran = subprocess.run(
        list(map(str, words)), capture_output=True, encoding="utf-8", cwd=folder, timeout=240
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, said
    assert "warning" not in said.lower(), said
    return ran.stdout


def test_a_client_of_openapi_python_client_sends_reports_and_reads_results(
    live, description, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    generator = program("openapi-python-client")
    words = ("generate", "--path", description, "--meta", "none", "--output-path", "generated")
    run(generator, *words, "--fail-on-warning", folder=tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    client, models = (importlib.import_module(f"generated{name}") for name in ("", ".models"))

    def call(name, **given):
        return importlib.import_module(f"generated.api.{name}").sync_detailed(**given)

    anyone = client.Client(base_url=live.url)
    survey = call("respondents.get_survey", client=anyone, survey_id="health").parsed
    report = models.Report(id=uuid4(), values=[1, 0])
    for expected in ("accepted", "duplicates"):
        batch = models.ReportBatch(digest=survey.digest, reports=[report])
        sent = call("respondents.add_reports", client=anyone, survey_id="health", body=batch)
        assert sent.status_code == 202
        assert getattr(sent.parsed, expected) == 1
    stale = models.ReportBatch(digest="0" * 64, reports=[report])
    refused = call("respondents.add_reports", client=anyone, survey_id="health", body=stale)
    assert (refused.status_code, refused.parsed.type_) == (
        409,
        "urn:halftruth:problem:stale-digest",
    )
    assert isinstance(refused.parsed, models.Problem)
    token = operations.create_token(live.store, "analyst")
    analyst = client.AuthenticatedClient(base_url=live.url, token=token)
    overview = call(
        "analysts.get_overview",
        client=analyst,
        survey_id="health",
        attributes=["smoker", "drinks"],
    )
    assert overview.parsed.reports == 1
    assert overview.parsed.query.attributes == ["smoker", "drinks"]


def test_a_client_of_openapi_typescript_compiles_and_sends_reports(live, description, tmp_path):
    node = program("node")
    generator, compiler = module(".bin/openapi-typescript"), module(".bin/tsc")
    module("openapi-fetch")
    (tmp_path / "node_modules").symlink_to(module(".bin").parent)
    run(generator, description, "--output", "api.d.ts", folder=tmp_path)
    (tmp_path / "main.ts").write_text(TYPESCRIPT, encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    config = {"compilerOptions": COMPILER, "files": ["main.ts", "api.d.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    run(compiler, "--project", "tsconfig.json", folder=tmp_path)
    token = operations.create_token(live.store, "analyst")
    found = json.loads(run(node, "built/main.js", live.url, token, folder=tmp_path))
    assert found["sent"] == [202, {"accepted": 1, "duplicates": 0}]
    assert found["refused"] == [409, "urn:halftruth:problem:stale-digest"]
    assert found["overview"] == [1, ["smoker", "drinks"]]
