"""The protection statement."""

from fractions import Fraction

from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    Series,
    Survey,
    worst_case_posterior,
)
from halftruth_shared.protection import Protection


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def survey_of(mechanism, public=(), names=("smoker", "coughs")):
    schema = Schema([Attribute(n, ["no", "yes"], sensitive=n not in public) for n in names])
    return Survey("health", "Health", schema, mechanism)


def test_the_promise_separates_unperturbed_and_protected_questions():
    mechanism = RandomizedResponse({"age": "1", "smoker": "0.75", "coughs": "0.75"})
    found = Protection.of(survey_of(mechanism, public=["age"], names=("age", "smoker", "coughs")))
    assert (found.unperturbed, found.protected) == (("age",), ("smoker", "coughs"))
    assert found.record.gamma == 9
    found = Protection.of(survey_of(GammaDiagonal("19")))
    assert (found.record.gamma, found.answer.gamma) == (19, 19)
    # An equal bound for single answers is not repeated.
    assert len(found.sentences()) == 1


def test_questions_are_named_by_their_label():
    asked = Attribute("age", ["a1", "a2"], sensitive=False, label={"en": "How old?", "de": "Alt?"})
    survey = Survey("s", "S", Schema([asked]), RandomizedResponse({"age": "1"}))
    assert Protection.of(survey).sentences() == ["Sent as answered, without protection: How old?"]


def test_perturbed_attributes_count_whether_or_not_they_are_sensitive():
    mechanism = RandomizedResponse({"smoker": "0.75", "coughs": "0.9"})
    for public in ([], ["coughs"], ["smoker", "coughs"]):
        assert Protection.of(survey_of(mechanism, public)).record.gamma == 27


def test_a_belief_about_people_with_the_same_unperturbed_answer_is_bounded():
    """Of those under 40 nobody smokes, of the others, a tenth, half: 5 % of all people.

    Of people who report "40 or more" and "yes", 75 % smoke; 50 % before.
    """
    mechanism = RandomizedResponse({"age": "1", "smoker": "0.75"})
    survey = survey_of(mechanism, public=["age"], names=("age", "smoker"))
    found = Protection.of(survey)
    prior, kept = Fraction(1, 2), Fraction(3, 4)
    posterior = prior * kept / (prior * kept + (1 - prior) * (1 - kept))
    assert posterior == Fraction(3, 4) == worst_case_posterior(prior, found.record.gamma)
    said = plain(found.sentences()[1])
    assert said == (
        "All other answers together, among people with the same answer to “age”: what someone"
        " thinks 5 % likely before the report is at most 13.7 % likely after it, whoever they are"
        " and whatever else they know (γ = 3, ε = 1.1)."
    )
    assert "likely about one of the people with the same answer to “age”" in found.learning()[0]


def test_a_report_that_proves_nothing_can_tell_more_than_the_protected_question():
    """Somebody knows that whoever cheats was fined; a report of two times "yes" proves nothing."""
    designs = {
        "cheats": {"design": "triangular", "prevalence": "1/4", "not_sensitive": "no"},
        "fined": {"design": "warner", "p": "3/4"},
    }
    schema = Schema([Attribute(name, ["no", "yes"]) for name in designs])
    found = Protection.of(Survey("s", "S", schema, DistortionMatrices({}, designs)))
    both = 1 * Fraction(3, 4)
    neither = Fraction(1, 4) * Fraction(1, 4)
    assert found.record.gamma == both / neither == 12
    *_, whole, single = map(plain, found.sentences())
    assert whole == (
        "All other answers together, among people with the same answer to “cheats” (where a report"
        " proves it): what someone thinks 5 % likely before the report is at most 38.8 % likely"
        " after it, whoever they are and whatever else they know (γ = 12, ε = 2.48)."
    )
    # The least protected single answer is “yes” to “cheats”.
    assert single.endswith("all other answers: from 5 % to at most 17.4 % (γ = 4).")


def test_bounds_are_rounded_up():
    """Neither the posterior 1/(1 + 19/γ) nor γ is understated."""
    for keep in ("0.50001", "0.7501", "0.999", "0.9999999"):
        found = Protection.of(survey_of(RandomizedResponse({"smoker": keep}), names=["smoker"]))
        [said] = map(plain, found.sentences())
        promised = Fraction(said.split("at most ")[1].split(" %")[0]) / 100
        gamma = Fraction(said.split("γ = ")[1].split(",")[0])
        assert found.record.posterior <= promised <= found.record.posterior + Fraction(1, 1000)
        assert found.record.gamma <= gamma <= found.record.gamma * Fraction(101, 100)


def test_an_amplification_beyond_floating_point_can_be_formatted():
    matrix = [["1", "0.5"], ["0", "0.5"]]
    beyond = survey_of(GammaDiagonal(10**400), names=["smoker"])
    assert "γ = 1.00e+400" in Protection.of(beyond).sentences()[0]
    revealing = survey_of(DistortionMatrices({"smoker": matrix}), ["smoker"], ["smoker"])
    assert Protection.of(revealing).unperturbed == ("smoker",)


def test_a_wave_states_the_bound_for_all_waves_of_its_series():
    mechanism = GammaDiagonal("3")
    schema = Schema([Attribute("smoker", ["no", "yes"])])
    origin = "https://survey.example.org"
    series = Series(id="panel", wave=2, total_gamma="9", origin=origin)
    *_, said = map(
        plain, Protection.of(Survey("w", "W", schema, mechanism, series=series)).sentences()
    )
    assert said == (
        "All answers together, in all waves of this series, if no wave leaves other answers"
        " unprotected: from 5 % to at most 32.2 % (γ = 9). A browser counts its reports at the web"
        " address https://survey.example.org, and refuses a wave that would exceed this bound."
    )
    matrices = {"smoker": [["0.75", "0.25"], ["0.25", "0.75"]]}
    dice = DistortionMatrices(matrices, randomized_by="respondent")
    assert Protection.of(Survey("w", "W", schema, dice, series=series)).series is None


def test_conditional_questions_add_a_sentence_about_timing():
    smoker = Attribute("smoker", ("no", "yes"))
    asked = Attribute("often", ("no", "yes"), missing=("not asked",), ask_if={"smoker": ["yes"]})
    for schema, said in ((Schema([smoker, asked]), 1), (Schema([smoker]), 0)):
        sentences = Protection.of(Survey("s", "S", schema, GammaDiagonal(19))).sentences()
        assert sum("can conclude from the time between" in one for one in sentences) == said
