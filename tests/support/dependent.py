"""Surveys in which an unperturbed question is conditional on a perturbed answer."""

SAME = [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]
EVEN = [["3/4", "1/4"], ["1/4", "3/4"]]
#: A report of the second value excludes the first answer.
RULES_OUT = [["1/2", "0", "1/4"], ["1/2", "1/2", "1/4"], ["0", "1/2", "1/2"]]
VIEWS = {"kind": "split-questionnaire", "gamma": "19", "prime": 19, "direct": 45}


def question(name, ask_if=None, sensitive=True, categories=("no", "yes")):
    written = {"name": name, "categories": list(categories), "sensitive": sensitive}
    return written | ({"ask_if": ask_if} if ask_if else {})


def document(mechanism, *questions):
    return {"id": "s", "title": "S", "attributes": list(questions), "mechanism": mechanism}


def keep(**probabilities):
    return {"kind": "randomized-response", "keep": probabilities}


AFTER = {"smoker": ["yes"]}

REVEALING = {
    "sent unperturbed": (
        keep(smoker="3/4", brand="1"),
        question("smoker"),
        question("brand", AFTER, sensitive=False),
    ),
    "an identity matrix": (
        {"kind": "distortion-matrices", "matrices": {"smoker": EVEN, "brand": SAME}},
        question("smoker"),
        question("brand", AFTER, sensitive=False),
    ),
    "a matrix that rules an answer out": (
        {"kind": "distortion-matrices", "matrices": {"smoker": EVEN, "brand": RULES_OUT}},
        question("smoker"),
        question("brand", AFTER),
    ),
    "a public answer of a split questionnaire": (
        VIEWS | {"public": ["brand"], "views": [{"attributes": [["smoker"]], "weight": 1}]},
        question("smoker"),
        question("brand", AFTER, sensitive=False),
    ),
    "a design that proves that it was asked": (
        {
            "kind": "distortion-matrices",
            "matrices": {"smoker": EVEN},
            "designs": {
                "brand": {
                    "design": "triangular",
                    "prevalence": "1/4",
                    "answer": "not asked",
                    "not_sensitive": "yes",
                }
            },
        },
        question("smoker"),
        question("brand", AFTER, categories=["yes"]),
    ),
    "a design that proves that it was not": (
        {
            "kind": "distortion-matrices",
            "matrices": {"smoker": EVEN},
            "designs": {"brand": {"design": "mangat", "p": "1/4", "not_sensitive": "not asked"}},
        },
        question("smoker"),
        question("brand", AFTER, categories=["yes"]),
    ),
    "after one that proves the other answer": (
        {
            "kind": "distortion-matrices",
            "matrices": {"brand": SAME},
            "designs": {"smoker": {"design": "mangat", "p": "1/4", "not_sensitive": "no"}},
        },
        question("smoker"),
        question("brand", AFTER, sensitive=False),
    ),
    "after two, of which one is protected": (
        keep(age="1", smoker="3/4", brand="1"),
        question("age", sensitive=False),
        question("smoker"),
        question("brand", {"age": ["yes"], **AFTER}, sensitive=False),
    ),
    "options of a question": (
        keep(**{"smoker": "3/4", "brand.red": "1", "brand.blue": "1"}),
        question("smoker"),
        {
            "name": "brand",
            "kind": "several",
            "options": [{"name": "red"}, {"name": "blue"}],
            "ask_if": AFTER,
            "sensitive": False,
        },
    ),
    "after an option of a question": (
        keep(**{"uses.tobacco": "3/4", "uses.tea": "3/4", "smoker": "1"}),
        {"name": "uses", "kind": "several", "options": [{"name": "tobacco"}, {"name": "tea"}]},
        question("smoker", {"uses.tobacco": ["yes"]}, sensitive=False),
    ),
}
