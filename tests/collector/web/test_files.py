"""Files of results, as the export page offers them."""

import io
import json
import re
import zipfile
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
from halftruth_collector import operations
from halftruth_collector.web import formats
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.protocol.reports import Report
from installed import needs_addons

from .test_pages import Page, signed_in

__all__ = ["signed_in"]

PAGE = "/results/health/export?attributes=smoker,drinks&confidence=0.9"

#: Endings of file names by media type.
TYPES = {
    "text/html": ("-report.html",),
    "text/csv": (".csv",),
    "text/plain": (".codebook.txt",),
    "application/zip": (".zip",),
    "application/vnd.apache.parquet": (".parquet",),
}


def links(page, ending):
    """Return the links of a page to files in a format."""
    hrefs = [tag["href"] for tag in Page(page).all("a")]
    return [href for href in hrefs if href.endswith(f"format={ending}")]


def opened(content, ending):
    """Return the rows of a CSV or Parquet file."""
    if ending == "csv":
        return pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""])
    return pd.read_parquet(io.BytesIO(content))


def without_time(text):
    """Remove the time at which the reports were counted from a text."""
    return re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC", b"", text)


@needs_addons
def test_every_offered_file_has_the_right_type_and_name(signed_in, filled):
    page = signed_in.get(PAGE)
    assert page.status_code == 200
    addresses = [tag["href"] for tag in Page(page.text).all("a") if "format=" in tag["href"]]
    assert len(set(addresses)) == len(addresses) == 16
    for address in addresses:
        answer = signed_in.get(address)
        assert (answer.status_code, len(answer.data) > 0) == (200, True), address
        assert answer.headers["Cache-Control"] == "no-store"
        if answer.mimetype == "application/json":
            assert answer.get_json()["reports"] == 400
            continue
        name = answer.headers["Content-Disposition"].removeprefix("attachment; filename=")
        assert name.startswith("health-")
        assert name.endswith(TYPES[answer.mimetype]), address


def test_records_too_large_for_a_model_are_not_offered(signed_in, store):
    schema = Schema([Attribute(f"q{j}", ["no", "yes"]) for j in range(20)])
    survey = Survey("wide", "Wide", schema, RandomizedResponse(dict.fromkeys(schema.names, "0.9")))
    operations.publish_survey(store, survey)
    reports = [Report(id=uuid4(), values=[0] * 20) for _ in range(50)]
    store.reports.add("wide", survey.digest, reports)
    page = signed_in.get("/results/wide/export")
    assert page.status_code == 200
    assert len(links(page.text, "csv")) == 3
    assert "attributes: a model of 1048576 cells; expected at most 262144" in page.text
    records = [tag["href"] for tag in Page(page.text).all("a") if "microdata" in tag["href"]]
    assert set(records) == {"/results/wide/microdata"}
    some = signed_in.get("/results/wide/microdata?modelled=q0,q1&format=csv")
    assert (some.status_code, some.mimetype) == (200, "text/csv")


def test_the_table_and_its_covariance_equal_those_of_the_command(signed_in, filled, done):
    asked = ("table", "health", "--attributes", "smoker,drinks", "--confidence", "0.9")
    command = json.loads(done("analyse", *asked, "--covariance", "--json"))
    page = signed_in.get(PAGE).text
    table = done("analyse", *asked, "--csv")
    for ending in ("csv", "parquet"):
        [_, address, _] = links(page, ending)[:3]
        content = signed_in.get(address).data
        rows = opened(content, ending)
        pd.testing.assert_frame_equal(rows, opened(table.encode(), "csv"), check_dtype=False)
        assert rows["value"].tolist() == command["estimates"]["value"]
    [address] = links(page, "covariance.csv")
    matrix = opened(signed_in.get(address).data, "csv")
    assert matrix.columns[:3].tolist() == ["smoker", "drinks", "no, never"]
    assert matrix[["smoker", "drinks"]].to_numpy().tolist() == [
        list(row) for row in zip(*(key["values"] for key in command["keys"]), strict=True)
    ]
    np.testing.assert_array_equal(matrix.iloc[:, 2:].to_numpy(), command["covariance"])
    errors = command["estimates"]["standard_error"]
    np.testing.assert_allclose(np.diag(matrix.iloc[:, 2:]), np.square(errors))


@needs_addons
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_weighted_records_equal_those_of_the_command(signed_in, filled, done, tmp_path, ending):
    done("analyse", "microdata", "health", "--output", str(tmp_path / f"health-microdata.{ending}"))
    written = {file.name: file.read_bytes() for file in tmp_path.glob("health-*")}
    page = signed_in.get(PAGE).text
    [address] = links(page, f"{ending}.zip")
    with zipfile.ZipFile(io.BytesIO(signed_in.get(address).data)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found.keys() == written.keys()
    for name in found:
        if name.endswith((".txt", ".R", ".py")):
            assert without_time(found[name]) == without_time(written[name])
    own = f"health-microdata.{ending}"
    frame = opened(written[own], ending)
    pd.testing.assert_frame_equal(opened(found[own], ending), frame)
    # A file outside an archive describes its data in additional columns.
    alone = opened(signed_in.get(links(page, ending)[-1]).data, ending)
    pd.testing.assert_frame_equal(alone[frame.columns], frame)
    [codebook] = links(page, "codebook.txt")
    text = signed_in.get(codebook).data
    assert without_time(text) == without_time(written["health-microdata-codebook.txt"])


def test_the_report_equals_that_of_the_command(signed_in, filled, done, tmp_path):
    done("analyse", "page", "health", "--output", str(tmp_path / "page.html"))
    [address] = links(signed_in.get(PAGE).text, "html")
    content = signed_in.get(address).data
    assert without_time(content) == without_time((tmp_path / "page.html").read_bytes())


def test_files_are_restricted_to_the_selected_group(signed_in, filled):
    page = signed_in.get("/results/health/export?attributes=drinks&where=smoker%3Dyes")
    assert "Estimates are of those with smoker=yes" in page.text
    overview, table, counts, _ = links(page.text, "csv")
    for address in (overview, table):
        rows = opened(signed_in.get(address).data, "csv")
        assert set(rows["filter"]) == {"smoker=yes"}
    assert opened(signed_in.get(counts).data, "csv")["value"].sum() == 400
    # Links of other pages to this one keep the selection.
    exported = [
        urlsplit(tag["href"]).query
        for tag in Page(signed_in.get("/results/health/table?attributes=drinks").text).all("a")
        if urlsplit(tag["href"]).path == "/results/health/export"
    ]
    assert exported
    assert all("attributes=drinks" in query for query in exported)


def test_files_need_a_token_and_reports(http, signed_in, survey):
    few = signed_in.get(PAGE)
    assert few.status_code == 409
    assert "no report has been counted" in few.text
    assert links(few.text, "csv") == []
    for address in (
        "table?format=covariance.csv",
        "microdata?format=parquet",
        "report?format=html",
    ):
        assert signed_in.get(f"/results/health/{address}").status_code == 409
    signed_in.post("/sign-out")
    for address in ("export", "table?format=covariance.csv", "microdata?format=csv.zip"):
        assert http.get(f"/results/health/{address}").status_code == 401


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("export?attributes=smoker,nobody", 422, "&#39;nobody&#39;"),
        ("export?colour=red", 422, "colour: unknown parameter"),
        ("table?attributes=smoker&format=csv.zip", 422, "format: expected one of: json, csv"),
        ("comparison?format=codebook.txt", 422, "format: expected one of: json, csv"),
        ("report?format=pdf", 422, "format: expected one of: html"),
        (
            "table?attributes=smoker&estimate=likelihood&format=covariance.csv",
            409,
            "covariance: these estimates have none",
        ),
    ],
)
def test_unavailable_files_are_refused_with_a_page(signed_in, filled, address, status, said):
    answer = signed_in.get(f"/results/health/{address}")
    assert (answer.status_code, answer.mimetype) == (status, "text/html")
    assert said in answer.text


@needs_addons
def test_formats_of_missing_extras_are_named_but_not_offered(signed_in, filled, monkeypatch):
    monkeypatch.setattr(formats, "find_spec", lambda name: None if name == "pyarrow" else object())
    page = signed_in.get(PAGE).text
    assert links(page, "parquet") == links(page, "parquet.zip") == []
    assert len(links(page, "csv.zip")) == 1
    assert page.count("halftruth-collector[parquet], which is not installed here") == 4
    answer = signed_in.get("/results/health/microdata?format=parquet.zip")
    assert (answer.status_code, answer.mimetype) == (406, "text/html")
    assert "needs halftruth-collector[parquet], which is not installed here<" in answer.text
