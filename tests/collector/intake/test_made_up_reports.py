"""What 100 tickets move, through HTTP, if their holders choose whatever they may."""

from dataclasses import replace
from fractions import Fraction
from uuid import uuid4

import numpy as np
import pytest
from halftruth_collector import operations
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.protocol.tickets import Ticket, commit, draw_view, new_secret
from halftruth_shared.survey import Reporting

SIZES = [2, 4, 3, 2, 5, 2, 3, 2, 4, 2, 3, 2, 2, 2]
PAIR = (1, 8)
PEOPLE, TICKETS = 10_000, 100


def survey_of(questions):
    """Return a survey of this many questions, designed for tables of one and of two of them."""
    sizes = [SIZES[j % len(SIZES)] for j in range(questions)]
    schema = Schema(
        [Attribute(f"q{j}", [f"a{code}" for code in range(d)]) for j, d in enumerate(sizes)]
    )
    mechanism = SplitQuestionnaire.designed(schema, Fraction(19), (), {1: 1.0, 2: 1.0})
    reporting = Reporting(tickets="required")
    return Survey("s", "S", schema, mechanism, reporting=reporting)


def best_symbols(survey):
    """Return for each view the symbol that raises the share of the last answers of the pair most.

    It is a symbol of the cell that has them; views of other questions say nothing of them.
    """
    best = []
    for view in survey.perturbation.views:
        cell = [d - 1 if j in PAIR else 0 for j, d in zip(view.positions, view.shape, strict=True)]
        place = int(np.ravel_multi_index(cell, view.shape))
        likely = np.asarray(view.channel.forward(np.eye(view.channel.cells)))[place]
        best.append(view.first + int(np.argmax(likely)))
    return best


def share(survey, reports):
    names = [survey.schema.names[j] for j in PAIR]
    table = Estimator(survey, Counts.from_reports(survey, reports)).table(names)
    return float(np.asarray(table.value)[-1, -1])


def honest(survey, rng):
    """Return the reports of people of whom 7 of 10 give the first answer to any question."""
    chances = ([0.7] + [0.3 / (d - 1)] * (d - 1) for d in survey.schema.shape)
    people = np.stack([rng.choice(len(p), PEOPLE, p=p) for p in chances], axis=1)
    return survey.perturbation.reports(people, rng)


def shifts(http, store, survey, draws, rng):
    """Return by how much the share moved in each draw, after the reports went through HTTP."""
    best, found = best_symbols(survey), []
    for draw in range(draws):
        here = replace(survey, id=f"survey-{draw}")
        operations.publish_survey(store, here)
        before = honest(here, rng)
        url = f"/v1/surveys/{here.id}"
        secrets = [new_secret() for _ in range(TICKETS)]
        asked = [commit(here.digest, secret).hex() for secret in secrets]
        body = {"digest": here.digest, "commitments": asked}
        issued = http.post(f"{url}/tickets", json=body).get_json()["tickets"]
        tickets = [Ticket.of_issued(text, own) for text, own in zip(issued, secrets, strict=True)]
        views = [
            draw_view(here.perturbation, here.digest, each.id, each.secret) for each in tickets
        ]
        sent = [
            {"id": str(uuid4()), "values": [best[view]], "ticket": each.to_text()}
            for view, each in zip(views, tickets, strict=True)
        ]
        # One that has chosen its view is refused, whatever else is in the batch.
        wanted = next(v for v, each in enumerate(here.perturbation.views) if each.positions == PAIR)
        chosen = next(i for i, view in enumerate(views) if view != wanted)
        false = [each | {"id": str(uuid4())} for each in sent]
        false[chosen] = false[chosen] | {"values": [best[wanted]]}
        refused = http.post(f"{url}/reports", json={"digest": here.digest, "reports": false})
        assert refused.get_json()["report"] == chosen
        counted = http.post(f"{url}/reports", json={"digest": here.digest, "reports": sent})
        assert counted.get_json()["accepted"] == TICKETS
        made_up = store.reports.counts(here.id)[1]
        rows = np.repeat(made_up.cells, made_up.counts, axis=0)
        found.append(share(here, np.vstack([before, rows])) - share(here, before))
    return 100 * np.array(found)


@pytest.mark.nightly
@pytest.mark.parametrize(("questions", "draws"), [(14, 200), (60, 200)])
def test_a_hundred_tickets_move_a_pair_by_at_most_two_and_a_half_points(
    app, store, questions, draws
):
    survey = survey_of(questions)
    rng = np.random.default_rng(26)
    moved = shifts(app.test_client(), store, survey, draws, rng)
    print(
        f"{questions} questions: {moved.mean():.2f} points in the mean, standard deviation"
        f" {moved.std(ddof=1):.2f}, 95 % point {np.quantile(moved, 0.95):.2f}"
    )
    assert moved.mean() <= 2.5
    # The weight of a ticket, in honest reports.
    assert moved.mean() / 100 * (PEOPLE + TICKETS) / TICKETS <= 3
    # Chosen freely, each report weighs more than 50.
    before = honest(survey, rng)
    wanted = next(v for v, each in enumerate(survey.perturbation.views) if each.positions == PAIR)
    chosen = np.full((TICKETS, 1), best_symbols(survey)[wanted])
    free = 100 * (share(survey, np.vstack([before, chosen])) - share(survey, before))
    print(f"chosen freely: {free:.1f} points")
    assert free > 30


def test_three_draws_of_a_hundred_tickets_move_little(app, store):
    moved = shifts(app.test_client(), store, survey_of(14), 3, np.random.default_rng(1))
    # 1.9 ± 0.8 points each.
    assert -0.5 < moved.mean() < 4.5
