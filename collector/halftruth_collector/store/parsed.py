"""Cache of parsed surveys, by digest and bounded by their size in memory."""

import gc
import sys
from collections import OrderedDict
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any

from halftruth_shared import Survey

#: Largest size of the cache in bytes: about a thousand surveys of 20 questions.
CACHE_BYTES = 2**26

#: Objects that a survey refers to, and that are no part of it.
_SHARED = (type, ModuleType, FunctionType)


class ParsedSurveys:
    """Parses surveys, and keeps those that were used last, with their samplers and channels.

    Parameters
    ----------
    most : int
        Largest size of all surveys in bytes. The survey that was used last is always kept.
    """

    def __init__(self, most: int = CACHE_BYTES) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[Survey, int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, digest: str, document: str) -> Survey:
        """Return the survey of a canonical JSON document; parse it unless it is in the cache."""
        with self._lock:
            if (known := self._kept.get(digest)) is not None:
                self._kept.move_to_end(digest)
                return known[0]
        survey = Survey.from_json(document)
        size = size_in_memory(survey)
        with self._lock:
            self._size += size - self._kept.pop(digest, (survey, 0))[1]
            self._kept[digest] = survey, size
            while self._size > self._most and len(self._kept) > 1:
                _, (_, removed) = self._kept.popitem(last=False)
                self._size -= removed
        return survey

    def clear(self) -> None:
        """Forget all surveys."""
        with self._lock:
            self._kept.clear()
            self._size = 0


def size_in_memory(whole: object) -> int:
    """Return the bytes of an object with all objects that it refers to."""
    size, seen, waiting = 0, set[int](), [whole]
    while waiting:
        each: Any = waiting.pop()
        if id(each) not in seen and not isinstance(each, _SHARED):
            seen.add(id(each))
            size += sys.getsizeof(each)
            waiting += gc.get_referents(each)
    return size


#: Surveys of this process, of a collector or a relay.
parsed_surveys = ParsedSurveys()
