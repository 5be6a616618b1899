"""A back end that asks two questions: flask --app backend run --port 9000.

Here the server sees the truth. That is right where it knows the answers anyway (a clinic's records,
of which a study shall get reports alone), or where people trust it more than the collector.
Anywhere else ask with the form (embedded.html): there the answers never leave the browser.

What the server must not do is keep them. Nothing is logged or stored here but the outbox, which has
reports and keyed digests of names, and no answer. See to it that proxies and trackers of errors
keep no bodies either, and never add --debug, whose page of errors shows variables.

All processes of the server share the outbox, so that each person has one report in it, whichever
process answers. Servers on several machines would have several outboxes, and a person several
reports. While the collector is away, reports wait in the outbox and no request waits for long; run
``flask --app backend flush`` every minute to send them.
"""

import os
from functools import cache

from flask import Flask, abort, request
from halftruth_client import Client, HalftruthError, RecordError, Survey

app = Flask(__name__)
client = Client(
    os.environ.get("COLLECTOR", "http://127.0.0.1:8000"), max_gamma="19", outbox="outbox.db"
)

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Health at work</title>
<form method="post">
<p>This server sees your answers and keeps none. It passes on a report changed at random.</p>
<label>Your staff number <input name="person" required></label>
<label>Do you smoke? <select name="smoker"><option>no<option>yes</select></label>
<label>Do you drink? <select name="drinks"><option>never<option>weekly<option>daily</select></label>
<button>Send</button></form>"""


@cache
def survey() -> Survey:
    """Fetch the survey once; a failure is not cached."""
    return client.survey("health")


@app.cli.command()
def flush() -> None:
    """Send the waiting reports."""
    print(client.flush())


@app.get("/")
def ask() -> str:
    """The questions."""
    return PAGE


@app.post("/")
def report() -> tuple[str, int]:
    """Report the answers once, however often they are sent."""
    # A real one takes the name from whoever is signed in: two reports of one person tell more.
    person = request.form["person"]
    record = {name: request.form[name] for name in ("smoker", "drinks")}
    try:
        sent = client.submit(survey(), record, respondent=person)
    except RecordError:
        abort(400)
    except HalftruthError:
        # The survey could not be fetched yet, or is closed; a report that was drawn is kept.
        return "The collector cannot take it now. Please send the same answers again later.", 503
    thanks = "Thank you." if sent.status != "waiting" else "Thank you. It is sent later."
    return thanks, 200
