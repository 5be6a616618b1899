"""The form in each of its languages, and with a survey in a language that it lacks."""

import re

import pytest
from halftruth_collector import operations
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.attribute import MultipleResponse
from halftruth_shared.framing import Framing
from halftruth_shared.number import NumberRange
from halftruth_shared.protocol.terms import Terms
from playwright.sync_api import expect

from .conftest import PHONE, anyone_can_use, element, fits_a_phone, heading, posted, script

#: Address of the texts in a language, built or as a module.
LANGUAGE = re.compile(r"/(?:form|words)/([a-z]{2})\.(?:\w+\.)?js")

LANGUAGES = ("en", "de", "fr", "es")

#: Headings of the form's states, by language.
HEADINGS = {
    "opening": ("Before you begin", "Bevor Sie beginnen", "Avant de commencer", "Antes de empezar"),
    "practice": ("A practice round", "Eine Übungsrunde", "Un tour d’essai", "Una ronda de prueba"),
    "review": (
        "Nothing has been sent yet",
        "Noch ist nichts gesendet",
        "Rien n’a encore été envoyé",
        "Todavía no se ha enviado nada",
    ),
    "thanks": ("Thank you", "Vielen Dank", "Merci", "Gracias"),
    "before": (
        "Already answered in this browser",
        "In diesem Browser wurde schon geantwortet",
        "Déjà répondu dans ce navigateur",
        "En este navegador ya se ha respondido",
    ),
    "another": (
        "Are you another person?",
        "Sind Sie eine andere Person?",
        "Êtes-vous quelqu’un d’autre\u202f?",
        "¿Es usted otra persona?",
    ),
}


def in_all(english, german, french, spanish):
    return dict(zip(LANGUAGES, (english, german, french, spanish), strict=True))


DRINKS = ["never", "weekly", "daily"]
SCHEMA = Schema(
    [
        Attribute(
            "smoker",
            ["no", "yes"],
            label=in_all("Do you smoke?", "Rauchen Sie?", "Fumez-vous\u202f?", "¿Fuma usted?"),
            help=in_all("Now and then, too.", "Ab und zu auch.", "Parfois aussi.", "A veces."),
            answers={
                "no": in_all("not at all", "gar nicht", "pas du tout", "nada"),
                "yes": in_all("I do", "ja, schon", "oui, je fume", "sí, fumo"),
            },
        ),
        Attribute(
            "drinks",
            DRINKS,
            kind="scale",
            label=in_all("Drinking?", "Trinken Sie?", "Buvez-vous\u202f?", "¿Bebe usted?"),
            answers={"never": in_all("Never", "Nie", "Jamais", "Nunca")},
            optional=True,
        ),
        Attribute(
            "sleep",
            number=NumberRange("0", "14", "3.5"),
            label=in_all("Hours of sleep?", "Stunden Schlaf?", "Heures de sommeil", "¿Horas?"),
        ),
        Attribute(
            "symptoms.cough",
            ("no", "yes"),
            items=("yes",),
            label=in_all("A cough", "Husten", "La toux", "Tos"),
            question=MultipleResponse(
                "symptoms", label=in_all("Symptoms", "Beschwerden", "Symptômes", "Síntomas")
            ),
        ),
    ],
)
FORM = Framing(
    consent=in_all("I agree.", "Ich stimme zu.", "J’accepte.", "Estoy de acuerdo."),
    thanks=in_all("See you!", "Bis bald!", "À bientôt\u202f!", "¡Hasta pronto!"),
)


@pytest.fixture
def survey():
    return Survey(
        "work",
        in_all("Health at work", "Gesund arbeiten", "La santé au travail", "Salud en el trabajo"),
        SCHEMA,
        RandomizedResponse.for_amplification(SCHEMA, 19),
        description=in_all("Two minutes.", "Zwei Minuten.", "Deux minutes.", "Dos minutos."),
        framing=FORM,
    )


def speak(page, language):
    chooser = page.locator("select[name=language]")
    chooser.focus()
    chooser.select_option(language)
    expect(page.locator("html")).to_have_attribute("lang", language)


def test_every_step_is_accessible_in_every_language(live, visit, survey):
    operations.publish_survey(live.store, survey, Terms(shared_devices=True))
    found = visit(f"{live.url}/s/work", locale="de-AT", viewport=PHONE)
    page = found.page

    def press_main():
        page.locator("button.main").click()

    def check(step, do=None):
        """Check a step in each language, ending with German; switching must not move the focus."""
        for place, language in enumerate((*LANGUAGES, "de")):
            speak(page, language)
            if step in HEADINGS:
                said = HEADINGS[step][place % 4 if place < 4 else 1]
                expect(heading(page, said)).to_be_visible()
            expect(page.locator("select[name=language]")).to_be_focused()
            if do is not None:
                do()
            if place == 4:
                break
            # Other languages differ only in words, and other tests cover the other steps.
            if language == "en" and step in ("consent", "before", "another"):
                anyone_can_use(found, f"language-{step}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, (step, language)
            shadow = page.locator("halftruth-form > *, halftruth-form div[lang]").last
            assert shadow.get_attribute("lang") == language

    # The browser's language, if the survey has it.
    expect(heading(page, "Bevor Sie beginnen")).to_be_visible()
    expect(page.locator("h1")).to_have_text("Gesund arbeiten")
    page.get_by_text("Dasselbe in genauen Worten").click()
    check("opening", page.locator("summary").click)
    check("consent", lambda: (press_main(), page.locator("select[name=language]").focus()))
    page.get_by_role("button", name="Erst ausprobieren").click()
    page.get_by_label("ja", exact=True).check()
    page.get_by_role("button", name="Zufällig verändern").click()
    expect(page.get_by_text("Das würde gesendet")).to_be_visible()
    tried = page.locator("input[name=practice]:checked").or_(page.locator("ol li"))
    check("practice", lambda: expect(tried).to_have_count(2))
    page.get_by_role("button", name="Zurück").click()
    page.get_by_label("Ich stimme zu.").check()
    speak(page, "fr")
    expect(page.get_by_label("J’accepte.")).to_be_checked()
    speak(page, "de")
    press_main()

    # Switching the language keeps entered values and their meaning.
    page.get_by_label("ja, schon").check()
    page.get_by_label("Nie", exact=True).check()
    page.get_by_label("Stunden Schlaf?").fill("7.5")
    check("questions", lambda: (press_main(), page.locator("select[name=language]").focus()))
    expect(page.get_by_text("Bitte wählen Sie, was zutrifft")).to_be_visible()
    page.get_by_label("Husten").check()
    speak(page, "es")
    expect(page.get_by_label("sí, fumo")).to_be_checked()
    expect(page.get_by_label("Tos")).to_be_checked()
    expect(page.get_by_label("¿Horas?")).to_have_value("7,5")
    speak(page, "de")
    press_main()
    assert page.locator(".card dd").all_text_contents() == ["ja, schon", "Nie", "7,5", "Husten"]
    check("review")
    press_main()
    expect(heading(page, "Vielen Dank")).to_be_visible()
    expect(page.get_by_text("Bis bald!")).to_be_visible()
    answers = {
        "ja, schon", "gar nicht", "Nie", "weekly", "daily", "Keine Antwort", "ja", "nein",
        "0 bis unter 3,5", "3,5 bis unter 7", "7 bis unter 10,5", "10,5 bis 14",
    }  # fmt: skip
    *report, learnt = page.locator(".card.sent dd").all_text_contents()
    how_often = page.locator(".often dd").first.text_content()
    assert {text.split("\n")[0] for text in report} <= answers
    assert "mit Ihren Antworten: etwa " in how_often
    assert "Von 100 Menschen, die denselben Bericht senden, haben es höchstens " in learnt
    check("thanks")
    assert len(posted(found)) == 1
    page.reload()
    check("before")
    page.get_by_role("button", name="Als andere Person antworten").click()
    check("another")
    # Categories are sent, independent of their translations.
    [post] = posted(found)
    assert "values" in post
    assert found.said == []


def test_only_the_displayed_language_is_loaded(live, visit):
    found = visit(f"{live.url}/s/work?lang=fr", locale="de-DE")
    expect(heading(found.page, "Avant de commencer")).to_be_visible()
    loaded = [match[1] for match in map(LANGUAGE.search, found.requests) if match]
    assert loaded == ["fr"]
    # The language in the link is updated by the user's choice.
    speak(found.page, "es")
    assert found.page.url.endswith("?lang=es")
    found.page.reload()
    expect(heading(found.page, "Antes de empezar")).to_be_visible()


def test_the_lang_attribute_overrides_the_link_and_the_browser(live, origin, visit):
    address = origin.add(element(live, more='max-gamma="19" lang="es"'), script(live))
    page = visit(f"{address}?lang=de", locale="fr-FR").page
    expect(heading(page, "Antes de empezar")).to_be_visible()
    page.evaluate("document.querySelector('halftruth-form').lang = 'de'")
    expect(heading(page, "Bevor Sie beginnen")).to_be_visible()


def test_a_form_keeps_its_language_if_another_fails_to_load(live, visit):
    page = visit(f"{live.url}/s/work?lang=en").page
    expect(heading(page, "Before you begin")).to_be_visible()
    page.route(LANGUAGE, lambda route: route.abort())
    with page.expect_request(LANGUAGE):
        page.locator("select[name=language]").select_option("de")
    expect(heading(page, "Before you begin")).to_be_visible()
    expect(page.locator("select[name=language]")).to_have_value("en")


ARABIC = Schema(
    [
        Attribute(
            "smoker",
            ["no", "yes"],
            label="هل تدخن؟",
            help="يشمل ذلك التدخين أحيانًا.",
            answers={"no": "لا", "yes": "نعم"},
            page="العادات",
        ),
        Attribute(
            "drinks",
            ["1", "2", "3"],
            kind="scale",
            label="كم مرة تشرب؟",
            answers={"1": "أبدًا", "3": "يوميًا"},
            page="العادات",
        ),
        Attribute("age", number=NumberRange(18, 99, 10), label="كم عمرك؟", page="عنك"),
    ]
)


def test_right_to_left_texts_are_laid_out_correctly_among_english_words(live, visit):
    mechanism = RandomizedResponse.for_amplification(ARABIC, 19)
    asked = Survey("arabic", "الصحة في العمل", ARABIC, mechanism, languages=["ar"])
    operations.publish_survey(live.store, asked)
    found = visit(f"{live.url}/s/arabic")
    page = found.page

    expect(heading(page, "Before you begin")).to_be_visible()
    html = page.locator("html")
    assert [html.get_attribute(name) for name in ("lang", "dir")] == ["ar", "rtl"]
    anyone_can_use(found, "right-to-left-opening")
    page.get_by_role("button", name="Begin").click()
    legend = page.get_by_text("هل تدخن؟")
    assert legend.get_attribute("lang") == "ar"
    # Right to left, with English words in their own direction.
    box, mark = page.locator(".option").first, page.get_by_role("radio").first
    right = box.bounding_box()["x"] + box.bounding_box()["width"]
    assert right - mark.bounding_box()["x"] < 50
    assert page.locator("div[lang=en]").get_attribute("dir") == "rtl"
    page.get_by_role("button", name="Continue").click()
    anyone_can_use(found, "right-to-left-questions")
    page.get_by_label("نعم").check()
    page.get_by_role("radio", name="1: أبدًا").check()
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("كم عمرك؟").fill("30")
    page.get_by_role("button", name="Continue").click()
    expect(heading(page, "Nothing has been sent yet")).to_be_visible()
    fits_a_phone(found, "right-to-left-review")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(heading(page, "Thank you")).to_be_visible()
    fits_a_phone(found, "right-to-left-thanks")
