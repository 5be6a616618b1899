"""What the members of messages mean and what they take, beyond what their types say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...estimate.measures import ALIASES, MEASURE_NAMES

Json = dict[str, Any]

#: An attribute's name.
NAME = r"[A-Za-z][A-Za-z0-9_.\-]{0,63}"

SURVEY_ID: Json = {"type": "string", "pattern": "^[a-z0-9][a-z0-9\\-]{0,63}$"}

_MEASURES: Json = {"enum": [*MEASURE_NAMES, *ALIASES]}
_ABOVE_0_BELOW_1: Json = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
_AT_LEAST_1: Json = {"minimum": 1}
_NAMES: Json = {"items": {"type": "string", "pattern": f"^{NAME}$"}, "uniqueItems": True}
_RATIONAL: Json = {"pattern": r"^[+\-]?[0-9]+(\.[0-9]+|/[0-9]+)?$", "maxLength": 1000}


def _hexadecimal(digits: int) -> Json:
    return {"pattern": f"^[0-9a-f]{{{digits}}}$"}


@dataclass(frozen=True)
class Meaning:
    """What a member means, and keywords of JSON Schema for what its type does not say.

    Keywords about items apply to a list, those about text to text, whatever else a member takes.
    """

    text: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)


_GAMMA = Meaning("The amplification, an exact number above 1.", _RATIONAL)
_BREACH = Meaning(
    "Two probabilities: what someone thought at most as likely as the first, no report makes"
    " likelier than the second."
)
_PRESENT = Meaning(
    "The category that counts as presence, as attribute=category. By default the only item of an"
    " attribute, or the second of two categories."
)

#: By the name of a query parameter, or of a member of a body that has the same name.
_COMMON: dict[str, Meaning] = {
    "antecedent": Meaning("Items on the left of the rule, as attribute=category."),
    "attributes": Meaning("Which attributes, in this order.", _NAMES),
    "confidence": Meaning("Level of each single interval, not of all together.", _ABOVE_0_BELOW_1),
    "consequent": Meaning("Items on the right of the rule, as attribute=category."),
    "covariance": Meaning("Whether to give the covariance of the cells, too."),
    "estimate": Meaning(
        "What the supports are: the unbiased moment estimate, or one inside [0, 1] that agrees"
        " with itself. Intervals are always those of the moment estimate."
    ),
    "features": Meaning(
        "Attributes to predict from; by default all but the one predicted.", _NAMES
    ),
    "given": Meaning("Attributes that are held constant, one or more.", _NAMES),
    "kind": Meaning("Which kind of classifier."),
    "limit": Meaning("Most rules to give; by default all.", _AT_LEAST_1),
    "max_depth": Meaning("Most questions that a decision tree asks of one record.", _AT_LEAST_1),
    "max_length": Meaning("Longest itemsets; by default any length.", _AT_LEAST_1),
    "measures": Meaning(
        "Names of measures; by default all that apply.", {"items": _MEASURES, "uniqueItems": True}
    ),
    "min_confidence": Meaning("Least estimated confidence.", {"minimum": 0, "maximum": 1}),
    "min_lift": Meaning("Least estimated lift; by default any.", {"minimum": 0}),
    "min_support": Meaning("Least support.", {"exclusiveMinimum": 0, "maximum": 1}),
    "predict": Meaning("The attribute to predict.", {"pattern": f"^{NAME}$"}),
    "present": _PRESENT,
    "select": Meaning(
        "What must reach the threshold: the estimate, a bound of its interval, or the lower bounds"
        " of all itemsets together (bonferroni, holm)."
    ),
    "sort": Meaning(
        "What comes first when largest.", {"enum": ["confidence", "support", *_MEASURES["enum"]]}
    ),
    "target": Meaning("Whether the respondents are a sample of those spoken of, or all of them."),
    "terms": Meaning(
        "The highest-order terms of the model, each the names of its attributes with commas between"
        " them."
    ),
}

#: By the name of a message and of its member.
_OWN: dict[tuple[str, str], Meaning] = {
    ("AssociationsQuery", "attributes"): Meaning(
        "Which attributes, two or more; by default all.", {**_NAMES, "minItems": 2}
    ),
    ("ClassifierQuery", "min_support"): Meaning(
        "Least share of the people at a node that a decision tree splits.", _ABOVE_0_BELOW_1
    ),
    ("ClassifierQuery", "features"): Meaning(
        "Attributes to predict from; by default all but the one predicted.",
        {**_NAMES, "minItems": 1},
    ),
    ("LoglinearQuery", "terms"): Meaning(_COMMON["terms"].text, {"minItems": 1}),
    ("MeasuresQuery", "attributes"): Meaning(
        "Which attributes, two or more; with more than two, only some measures apply.",
        {**_NAMES, "minItems": 2},
    ),
    ("PartialQuery", "attributes"): Meaning(
        "The two attributes.", {**_NAMES, "minItems": 2, "maxItems": 2}
    ),
    ("PartialQuery", "given"): Meaning(_COMMON["given"].text, {**_NAMES, "minItems": 1}),
    ("RandomizedQuery", "attributes"): Meaning(
        "Which attributes, two or more; with more than two, only some measures apply.",
        {**_NAMES, "minItems": 2},
    ),
    ("RuleQuery", "antecedent"): Meaning(_COMMON["antecedent"].text, {"minItems": 1}),
    ("RuleQuery", "consequent"): Meaning(
        "Items on the right of the rule, of other attributes, as attribute=category.",
        {"minItems": 1},
    ),
    ("RulesQuery", "measures"): Meaning(
        "Names of measures to compute of each rule; by default none.",
        {"items": _MEASURES, "uniqueItems": True},
    ),
}

#: The same for bodies and answers. A member that is not here is explained by its message.
_MEMBERS: dict[tuple[str, str], Meaning] = {
    ("PlanRequest", "survey"): Meaning("The survey in the shape of a survey file."),
    ("PublishedSurvey", "survey"): Meaning(
        "The survey in canonical JSON, every parameter of its mechanism resolved."
    ),
    ("PublishedSurvey", "digest"): Meaning(
        "SHA-256 of the canonical JSON, in hexadecimal.", _hexadecimal(64)
    ),
    ("ReportBatch", "digest"): Meaning(
        "Digest of the version of the survey that was answered.", _hexadecimal(64)
    ),
    ("SealedBatch", "digest"): Meaning(
        "Digest of the version of the survey that was answered.", _hexadecimal(64)
    ),
    ("SealedBatch", "reports"): Meaning(limits={"minItems": 1}),
    ("Report", "id"): Meaning("A random UUID that stays with the report."),
    ("Report", "values"): Meaning(
        "One number for each column of the report: for the mechanisms of this version, the position"
        " from 0 of each attribute's category.",
        {"items": {"type": "integer", "minimum": 0}},
    ),
    ("Report", "invitation"): Meaning(
        "A single-use invitation, where the survey asks for one.", _hexadecimal(32)
    ),
    ("SealedReport", "id"): Meaning("A random UUID that stays with the report."),
    ("SealedReport", "sealed"): Meaning(
        "The encrypted report, base64 with padding.", {"pattern": "^[A-Za-z0-9+/]*={0,2}$"}
    ),
    ("Terms", "invitations"): Meaning("Whether each report needs a single-use invitation."),
    ("Terms", "sealing_key"): Meaning(
        "X25519 public key that every report is encrypted to, or null.", _hexadecimal(64)
    ),
    ("SignedTerms", "terms"): Meaning("The terms from now on."),
    ("SignedTerms", "signature"): Meaning("The operator's signature of them, or null."),
    ("Signature", "key"): Meaning("The operator's Ed25519 public key.", _hexadecimal(64)),
    ("Signature", "value"): Meaning("Signature of the digest and the terms.", _hexadecimal(128)),
    ("SurveyDocument", "id"): Meaning(
        "Lower-case letters, digits and hyphens.", {"pattern": SURVEY_ID["pattern"]}
    ),
    ("SurveyDocument", "title"): Meaning(limits={"minLength": 1, "maxLength": 256}),
    ("SurveyDocument", "description"): Meaning(limits={"maxLength": 10_000}),
    ("SurveyDocument", "attributes"): Meaning(limits={"minItems": 1, "maxItems": 1024}),
    ("SurveyDocument", "mechanism"): Meaning("How each record is perturbed."),
    ("AttributeDocument", "name"): Meaning(
        "A letter followed by letters, digits, '_', '.' or '-'.", {"pattern": f"^{NAME}$"}
    ),
    ("AttributeDocument", "categories"): Meaning(
        "Two or more, all different.",
        {
            "items": {"type": "string", "minLength": 1, "maxLength": 256},
            "minItems": 2,
            "maxItems": 65_536,
            "uniqueItems": True,
        },
    ),
    ("AttributeDocument", "items"): Meaning(
        "The categories that count in itemsets; by default all.",
        {
            "items": {"type": "string", "minLength": 1, "maxLength": 256},
            "uniqueItems": True,
        },
    ),
    ("AttributeDocument", "sensitive"): Meaning("Whether it must be perturbed."),
    ("AttributeDocument", "label"): Meaning("The question as a form asks it.", {"maxLength": 2000}),
    ("AttributeDocument", "help"): Meaning("A line below the question.", {"maxLength": 2000}),
    ("AttributeDocument", "page"): Meaning(
        "Title of the page of a form that asks it.", {"maxLength": 2000}
    ),
    ("GammaDiagonalParameters", "gamma"): _GAMMA,
    ("GammaDiagonalParameters", "breach"): _BREACH,
    ("RandomizedGammaDiagonalParameters", "alpha"): Meaning(
        "Half of the range that a client's matrix is drawn from, as a fraction from 0 to 1.",
        _RATIONAL,
    ),
    ("RandomizedGammaDiagonalParameters", "gamma"): _GAMMA,
    ("RandomizedGammaDiagonalParameters", "breach"): _BREACH,
    ("RandomizedGammaDiagonalParameters", "steps"): Meaning(
        "Steps of the grid that a client's matrix is drawn from.",
        {"minimum": 1, "maximum": 2**20},
    ),
    ("RandomizedResponseParameters", "keep"): Meaning(
        "Probability that the true category is reported, by attribute."
    ),
    ("RandomizedResponseParameters", "gamma"): _GAMMA,
    ("RandomizedResponseParameters", "breach"): _BREACH,
    ("DistortionMatricesParameters", "matrices"): Meaning(
        "By attribute, a list of one row for each reported category, each of one entry for each"
        " true one; every column sums to 1."
    ),
    ("PlanRequest", "respondents"): Meaning(
        "How many people answer.", {"minimum": 2, "maximum": 10**18}
    ),
    ("PlanRequest", "support"): Meaning("The support asked about.", _ABOVE_0_BELOW_1),
    ("PlanRequest", "lengths"): Meaning(
        "Lengths of itemsets asked about; by default the usual ones.",
        {"items": {"type": "integer", "minimum": 1}},
    ),
    ("PlanRequest", "half_width"): Meaning(
        "Half-width wanted of an interval, for which to say how many respondents it needs.",
        {"minimum": 1e-9, "maximum": 1},
    ),
    ("PlanRequest", "confidence"): _COMMON["confidence"],
    ("PlanRequest", "target"): _COMMON["target"],
    ("Result", "survey"): Meaning("Id of the survey."),
    ("Result", "digest"): Meaning("Digest of the survey.", _hexadecimal(64)),
    ("Result", "reports"): Meaning("Reports counted by then.", {"minimum": 0}),
    ("Result", "as_of"): Meaning("When the counts were read.", {"format": "date-time"}),
    ("Result", "query"): Meaning("What was asked, with every default."),
    ("Receipt", "accepted"): Meaning("Reports counted now.", {"minimum": 0}),
    ("Receipt", "duplicates"): Meaning("Reports that had been counted before.", {"minimum": 0}),
    ("Problem", "type"): Meaning("A URN that names the problem."),
    ("Problem", "title"): Meaning("The status in words."),
    ("Problem", "status"): Meaning("The status of the answer."),
    ("Problem", "detail"): Meaning("One line for a person."),
    ("Problem", "field"): Meaning("The member or parameter that is wrong."),
    ("Problem", "report"): Meaning("Index of the report in its batch, from 0.", {"minimum": 0}),
}


def of_parameter(query: type, name: str) -> Meaning:
    """Meaning of a query parameter."""
    return _OWN.get((query.__name__, name)) or _COMMON[name]


def of_member(message: type, name: str) -> Meaning | None:
    """Meaning of a member of a body or an answer, if more is to be said than its message does.

    A member that a message inherits means what it does there.
    """
    for kind in message.__mro__:
        found = _MEMBERS.get((kind.__name__, name))
        if found is not None:
            return found
    return None


def known() -> set[tuple[str, str]]:
    """Every message and member that something is said of."""
    return {*_OWN, *_MEMBERS}
