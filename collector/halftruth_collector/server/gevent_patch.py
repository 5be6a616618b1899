"""gevent in the place of whatever waits for a socket or for time; imported first, for that effect.

Threads and their locks are left as they are. gevent's own cannot be shared by native threads, and
here native threads share the log, the metrics and the connections to the database with the event
loop; none of these is held for longer than a moment. What a greenlet waits for longer, such as the
commit of its group, it waits for with `gevent.thread`.
"""

import os
from importlib.util import find_spec
from typing import Any

from gevent import events, monkey

__all__: list[str] = []


def _leave_threads_alone(event: Any) -> None:
    """Let gunicorn's worker, which would put gevent in the place of threads too, change nothing."""
    if isinstance(event, events.GeventWillPatchAllEvent):
        raise events.DoNotPatch


# Nor are processes touched: the first one has no event loop to hear in when a worker has ended.
monkey.patch_all(thread=False, queue=False, os=False, signal=False, subprocess=False)
events.subscribers.append(_leave_threads_alone)
if find_spec("psycopg_binary") or find_spec("psycopg_c"):
    # The database is waited for in native threads, which need no event loops of their own.
    os.environ.setdefault("PSYCOPG_WAIT_FUNC", "wait_c")
