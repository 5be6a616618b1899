"""Static files, the built form and the form's page: compression, tags, lifetimes, contents."""

import gzip
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from halftruth_collector import operations
from halftruth_collector.web import bundle
from halftruth_collector.web.bundle import MODULES, built_form
from halftruth_collector.web.pages import forms
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.framing import Framing
from halftruth_shared.protocol.terms import Terms
from installed import missing

IMMUTABLE = "public, max-age=31536000, immutable"


@pytest.fixture
def built():
    return built_form() or missing("the built form, which make test makes where there is Node.js,")


class Parts(HTMLParser):
    """Addresses that a page loads, and the contents of its data block."""

    def __init__(self, html):
        super().__init__()
        self.loaded, self.elements, self.data, self._is_data = [], [], "", False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.elements.append(tag)
        self._is_data = given.get("type") == "application/json"
        if tag in ("link", "script"):
            self.loaded += filter(None, [given.get("href"), given.get("src")])

    def handle_endtag(self, tag):
        self._is_data = False

    def handle_data(self, data):
        self.data += data if self._is_data else ""


def page_of(http, survey="health", **headers):
    return http.get(f"/s/{survey}", headers=headers)


def test_everything_that_a_form_loads_is_compressed_and_never_asked_for_again(http, built):
    loaded = Parts(page_of(http).text).loaded
    assert len(loaded) == 4
    for address in loaded:
        answer = http.get(address, headers={"Accept-Encoding": "gzip, deflate"})
        assert answer.headers["Cache-Control"] == IMMUTABLE, address
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.headers["Vary"] == "Accept-Encoding"
        plain = http.get(address)
        assert "Content-Encoding" not in plain.headers
        assert gzip.decompress(answer.data) == plain.data
        # The name has the beginning of the hash.
        assert hashlib.sha256(plain.data).hexdigest()[:16] in address
    form = f"/form/{built.form}"
    assert form in loaded
    best = http.get(form, headers={"Accept-Encoding": "gzip, deflate, br, zstd"})
    assert best.headers["Content-Encoding"] == "br"
    refused = http.get(form, headers={"Accept-Encoding": "br;q=0, gzip;q=0.1"})
    assert refused.headers["Content-Encoding"] == "gzip"


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize(
    "address",
    ["/s/health", "/v1/surveys/health", "/js/index.js", "/assets/style.css", "/form/halftruth.js"],
)
def test_contents_that_have_not_changed_are_not_sent_again(http, address, encoding):
    first = http.get(address, headers={"Accept-Encoding": encoding})
    tag = first.headers["ETag"]
    assert "Last-Modified" not in first.headers
    known = {"Accept-Encoding": encoding, "If-None-Match": tag}
    again = http.get(address, headers=known)
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
    for name in ("Vary", "Cache-Control", "Access-Control-Allow-Origin"):
        assert again.headers.get(name) == first.headers.get(name), name
    other = http.get(address, headers={**known, "If-None-Match": '"0"'})
    assert (other.status_code, other.data) == (200, first.data)


def test_a_survey_is_compressed_for_pages_that_fetch_it(http):
    plain = http.get("/v1/surveys/health")
    packed = http.get("/v1/surveys/health", headers={"Accept-Encoding": "gzip, br"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert packed.mimetype == "application/json"


def test_tags_are_of_contents_and_not_of_files(http, tmp_path, monkeypatch):
    monkeypatch.setattr(forms, "_ASSETS", tmp_path)
    file, tags = tmp_path / "style.css", []
    for text in ("a { color: red }", "a { color: tan }", "a { color: red }"):
        file.unlink(missing_ok=True)
        file.write_text(text, encoding="utf-8")
        answer = http.get("/assets/style.css")
        assert answer.text == text
        tags.append(answer.headers["ETag"])
    assert tags[0] == tags[2] != tags[1]


def test_the_page_changes_with_terms_and_language_alone(http, store, survey):
    def tag(**headers):
        return page_of(http, **headers).headers["ETag"]

    english = tag()
    assert tag() == english
    assert page_of(http).headers["Vary"] == "Accept-Encoding, Accept-Language"
    operations.set_terms(store, "health", Terms(max_reports=9))
    assert tag() != english


def test_a_page_names_the_texts_of_its_language_and_no_others(http, store, built):
    schema = Schema([Attribute("a", ["no", "yes"])])
    titles = {"en": "Work", "de": "Arbeit", "ar": "عمل"}
    operations.publish_survey(store, Survey("work", titles, schema, GammaDiagonal(19)))
    for language, names in (("de-AT", [built.words["de"]]), ("en", []), ("ar", [])):
        answer = http.get("/s/work", headers={"Accept-Language": language})
        loaded = Parts(answer.text).loaded
        assert [name for name in built.words.values() if f"/form/{name}" in loaded] == names
        assert answer.headers["Content-Security-Policy"].startswith(
            "default-src 'none'; script-src 'self'; style-src 'self'; "
        )


EVIL = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></halftruth-form><img src=x onerror=alert(1)>",
    "</SCRIPT ><b>",
    "&lt;/script&gt; \\u003c/script> \\",
    '"}</script><style>*{display:none}</style>',
]


@pytest.mark.parametrize("evil", EVIL)
def test_no_text_of_a_survey_leaves_the_data_of_its_page(http, store, evil):
    schema = Schema([Attribute("a", ["no", evil], label=evil, help=evil)])
    hostile = Survey(
        "evil", evil, schema, GammaDiagonal(19), description=evil, framing=Framing(purpose=evil)
    )
    operations.publish_survey(store, hostile)
    parts, plain = Parts(page_of(http, "evil").text), Parts(page_of(http).text)
    # The same elements as of a harmless survey, but for its description; and all of the text.
    assert [each for each in parts.elements if each != "p"] == [
        each for each in plain.elements if each != "p"
    ]
    assert "<" not in parts.data
    assert json.loads(parts.data) == http.get("/v1/surveys/evil").get_json()
    assert json.loads(parts.data)["survey"]["title"] == evil


def test_names_of_another_version_are_those_of_the_current_files(http, built):
    """Behind a proxy a page of one version can ask a collector of another for its files."""
    current = http.get(f"/form/{built.form}").data
    other = http.get("/form/halftruth.0123456789abcdef.js")
    assert (other.data, other.headers["Cache-Control"]) == (current, "no-cache")
    german = http.get("/form/de.0123456789abcdef.js")
    assert german.data == http.get(f"/form/{built.words['de']}").data
    stable = http.get("/form/halftruth.js")
    assert stable.data == current
    assert stable.headers["Cache-Control"] == ("public, max-age=600, stale-while-revalidate=86400")
    for name in ("nothing.js", "manifest.json", "halftruth", f"{built.form}.br", "de.js.gz", "%00"):
        assert http.get(f"/form/{name}").status_code == 404, name
    asset = http.get("/assets/style.css?v=0123456789abcdef")
    assert asset.headers["Cache-Control"] == "no-cache"


@pytest.fixture
def not_built(tmp_path, monkeypatch):
    def use(folder):
        monkeypatch.setattr(bundle, "_BUILT", folder)
        for cached in (built_form, forms._render_form):
            cached.cache_clear()
        return tmp_path

    yield use
    monkeypatch.undo()
    for cached in (built_form, forms._render_form):
        cached.cache_clear()


def test_a_collector_without_the_built_form_serves_the_modules(http, tmp_path, not_built):
    not_built(tmp_path / "nowhere")
    loaded = Parts(page_of(http).text).loaded
    assert "/js/form/index.js" in loaded
    assert not [address for address in loaded if address.startswith("/form/")]
    # The stable name is a module with the same exports.
    for name in ("halftruth.js", "halftruth.0123456789abcdef.js"):
        answer = http.get(f"/form/{name}")
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        [module] = re.findall(r'^export \* from "\.\./js/(.+)";\n$', answer.text)
        assert (MODULES / module).is_file()
    assert http.get("/form/de.0123456789abcdef.js").status_code == 404


def test_a_collector_without_the_built_form_says_so(tmp_path, not_built, caplog):
    not_built(tmp_path / "nowhere")
    bundle.warn_if_not_built()
    [line] = caplog.messages
    assert "'make client/node_modules/.installed' builds it" in line


def test_a_form_built_from_other_modules_is_not_served(tmp_path, not_built, built, monkeypatch):
    for file in bundle._BUILT.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    not_built(tmp_path)
    assert built_form() == built
    built_form.cache_clear()
    manifest = tmp_path / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    sources = json.loads(text)["sources"]
    manifest.write_text(text.replace(sources, "0" * 64), encoding="utf-8")
    assert built_form() is None
