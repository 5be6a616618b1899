"""Imported questionnaires, and a bound of their time and memory."""

import signal
import tracemalloc
from contextlib import contextmanager


@contextmanager
def short_of_memory_and_time():
    """No more than 40 MB in this block, and 5 seconds of processor; it takes a hundredth of it."""

    def too_long(*_):
        raise AssertionError("the processor was busy for 5 seconds")

    before = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, 5)
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def by_name(made):
    return {question.name: question for question in made.survey.schema.questions}


def attributes(made):
    return {attribute.name: attribute for attribute in made.survey.schema.attributes}
