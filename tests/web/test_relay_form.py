"""The form with two TLS servers: a collector with the survey, and a relay."""

import ssl

import pytest
from halftruth_relay import operations as relaying
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.protection import Protection
from playwright.sync_api import expect
from proxies import certify
from relays import parties, with_relay
from wire import free_port, listening

from .conftest import fits_a_phone, heading, let_time_pass, posted

SCREEN = {"width": 390, "height": 844}
LANGUAGES = ("en", "de", "fr", "es")

#: For γ = 19: of 100 people at most 20 if both do not collude, and else 95 of 190.
BATCH, APART, TOGETHER = 1_000, 20, 50


def in_all(english, german, french, spanish):
    return dict(zip(LANGUAGES, (english, german, french, spanish), strict=True))


SURVEY = Survey(
    "work",
    in_all("Health at work", "Gesund arbeiten", "La santé au travail", "Salud en el trabajo"),
    Schema(
        [
            Attribute(
                "smoker",
                ["no-hush", "yes-hush"],
                label=in_all("Do you smoke?", "Rauchen Sie?", "Fumez-vous\u202f?", "¿Fuma usted?"),
            ),
            Attribute(
                "drinks",
                ["never-hush", "weekly-hush", "daily-hush"],
                label=in_all("Drinking?", "Trinken Sie?", "Buvez-vous\u202f?", "¿Bebe usted?"),
            ),
        ]
    ),
    GammaDiagonal(19),
)


@pytest.fixture
def tls(tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certify(tmp_path))
    return context


@pytest.fixture
def two_servers(database, sqlite_template, tmp_path, tls):
    """A collector and a relay, and the collector's URL."""
    port = free_port()
    made = with_relay(SURVEY, tmp_path, url=f"https://127.0.0.1:{port}", batch=BATCH)
    (tmp_path / "relay").mkdir()
    relay_database = f"sqlite:///{tmp_path}/relay/relay.db"
    with (
        parties(made, database, relay_database, tmp_path) as both,
        listening(both.collector, tls=tls) as collector,
        listening(both.relay, port, tls=tls),
    ):
        yield both, collector


def test_reports_are_sent_only_to_the_relay_and_counted_as_a_batch(two_servers, visit):
    both, collector = two_servers
    both.fill(BATCH - len(LANGUAGES))
    # All interfaces use this sentence.
    [said] = Protection.of(both.survey).relayed.sentences()
    chance = "1 in 1\N{NARROW NO-BREAK SPACE}000"
    assert f"at most {APART} of 100 people, except with a probability of {chance}" in said
    assert f" In any other case: at most {TOGETHER}." in said
    for language in LANGUAGES:
        address = f"{collector}/s/work?lang={language}"
        found = visit(address, viewport=SCREEN, ignore_https_errors=True)
        page = found.page
        main = page.locator("halftruth-form button.main")
        expect(main).to_be_visible()
        assert main.bounding_box()["y"] + main.bounding_box()["height"] <= SCREEN["height"]
        figures = page.locator(".figures strong").all_text_contents()
        assert [text.split()[-1] for text in figures] == ["5", str(APART), str(TOGETHER), "100"]
        expect(page.locator(".happens")).to_contain_text(both.survey.relay.url.split("//")[1])
        if language == "en":
            page.get_by_text("The same in exact terms").click()
            for sentence in Protection.of(both.survey).sentences():
                expect(page.get_by_text(sentence, exact=True)).to_be_visible()
            page.get_by_text("The same in exact terms").click()
        fits_a_phone(found, f"relay-opening-{language}")
        main.click()
        for label in ("yes-hush", "never-hush"):
            page.get_by_label(label, exact=True).check()
        main.click()
        main.click()
        expect(page.locator(".card.sent")).to_be_visible()
        [request] = posted(found)
        assert request.startswith(f"POST {both.survey.relay.url}/v1/surveys/work/reports ")
        assert "hush" not in found.traffic()
        learnt = page.locator(".card.sent dd").last.text_content()
        assert str(APART) in learnt
        assert str(TOGETHER) in learnt
        fits_a_phone(found, f"relay-receipt-{language}")
        # Neither of its ids was sent to the collector.
        kept = page.evaluate("JSON.parse(localStorage.getItem('halftruth:work'))")
        asked = [line for line in found.requests if line.split()[1].startswith(collector)]
        assert not [line for line in asked if kept["id"] in line or kept["relayId"] in line]
        assert found.said == []
    assert (both.held(), both.counted()) == (BATCH, 0)
    both.close()
    assert (both.held(), both.counted()) == (0, BATCH)


#: What the form says of a relay, by language.
CLOSED = in_all(
    "Its relay, {host}, accepts no reports for it.",
    "Die Zwischenstelle {host} nimmt keine Berichte dazu an.",
    "Le relais {host} n’accepte pas de rapports à son sujet.",
    "El intermediario {host} no acepta informes sobre ella.",
)


def test_a_closed_relay_is_stated_before_the_first_question(two_servers, visit):
    both, collector = two_servers
    relaying.close(both.relay_store, "work", confirm="work")
    host = both.survey.relay.url.removeprefix("https://")
    for language in LANGUAGES:
        address = f"{collector}/s/work?lang={language}"
        found = visit(address, viewport=SCREEN, ignore_https_errors=True)
        expect(found.page.get_by_text(CLOSED[language].format(host=host))).to_be_visible()
        assert found.page.locator("input, select:not([name=language])").count() == 0
        assert posted(found) == []
        fits_a_phone(found, f"relay-closed-{language}")
    # The collector is told; then its page needs no script to say so.
    both.passing().look()
    found = visit(f"{collector}/s/work?lang=en", ignore_https_errors=True)
    expect(found.page.locator(".notice")).to_contain_text("closed")


def test_a_relay_that_does_not_answer_does_not_keep_anybody_from_answering(two_servers, visit):
    both, collector = two_servers
    found = visit(ignore_https_errors=True)
    found.page.route(f"{both.survey.relay.url}/**", lambda route: route.abort())
    found.page.goto(f"{collector}/s/work?lang=en")
    found.page.locator("button.main").click()
    expect(found.page.get_by_label("yes-hush", exact=True)).to_be_visible()


def test_a_report_waits_in_the_browser_while_the_relay_is_unreachable(two_servers, visit):
    both, collector = two_servers
    found = visit(ignore_https_errors=True)
    page = found.page
    page.clock.install()
    page.route("**/reports", lambda route: route.abort())
    page.goto(f"{collector}/s/work?lang=en")
    page.locator("button.main").click()
    for label in ("yes-hush", "never-hush"):
        page.get_by_label(label, exact=True).check()
    page.locator("button.main").click()
    page.locator("button.main").click()
    let_time_pass(page, heading(page, "Your report is waiting"))
    kept = page.evaluate("localStorage.getItem('halftruth:work')")
    page.unroute("**/reports")
    page.reload()
    expect(heading(page, "Already answered in this browser")).to_be_visible()
    assert both.held() == 1
    after = page.evaluate("localStorage.getItem('halftruth:work')")
    assert after == kept.replace('"sent":false', '"sent":true')
    assert {line.split()[1] for line in posted(found)} == {f"{both.survey.relay.url}{both.path}"}
