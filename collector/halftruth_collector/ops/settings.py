"""Settings of a collector, from ``HALFTRUTH_*`` variables or by name."""

import os
import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.rational import parse_rational

DEFAULT_DATABASE = "sqlite:///halftruth.db"

LogFormat = Literal["text", "json"]

Positive = Annotated[
    int, msgspec.Meta(ge=1, le=10**15, description="a positive integer of at most 15 digits")
]
SmallCount = Annotated[
    int, msgspec.Meta(ge=0, le=100, description="0 or a positive integer up to 100")
]

#: A number of processes of a server, or of analyses at the same time in each.
Processes = Annotated[int, msgspec.Meta(ge=1, le=64, description="an integer from 1 to 64")]

#: Default of the analyses at the same time in each process.
THREADS = 4

_PREFIX = "HALFTRUTH_"

#: Other variables with this prefix: of commands, of the containers, and of the proxy.
OTHER_VARIABLES = frozenset(
    [
        *("TOKEN", "URL"),
        *("CADDY_IMAGE", "HOST", "MEMORY", "POSTGRES_IMAGE", "PYTHON", "STORE_IMAGE"),
        *("PROXY_LOG", "PROXY_OUTPUT", "UPSTREAM"),
    ]
)
_OF_TESTS = "TEST_"

#: An origin of pages in a content security policy, perhaps with a wildcard for its subdomains.
_ORIGIN = r"https?://(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?"

_WHERE = "docs/operating.md lists the settings"


class FormLimits(NamedTuple):
    """Largest amplifications that hosted forms accept, as in :class:`Config`."""

    max_gamma: str = "19"
    max_answer_gamma: str | None = None
    max_total_gamma: str | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a collector; the variable of each is HALFTRUTH_ and its name in capitals.

    Attributes
    ----------
    database : str
        SQLAlchemy URL of SQLite or PostgreSQL.
    max_body : int
        Largest request body in bytes.
    max_batch : int
        Largest number of reports in one request.
    max_gamma : str
        Largest amplification of a record that hosted forms accept.
    max_answer_gamma : str or None
        Largest amplification of an answer that hosted forms accept of surveys with the promise
        "answer", instead of `max_gamma`; None if `max_gamma` limits these, too.
    max_total_gamma : str or None
        Largest amplification that hosted forms accept of all reports of a browser together, to all
        surveys; None for no limit.
    frame_origins : tuple of str
        Origins whose pages may show hosted forms in a frame; none by default.
    rate_limit : str or None
        Rate limit of reports from one address to surveys without invitations, such as "1000 per
        hour"; None ("off") for no limit.
    proxies : int
        Number of trusted proxies, whose X-Forwarded-For and X-Forwarded-Proto are used.
    sealing_keys : Path or None
        File of the private keys of sealed surveys.
    relay_keys : Path or None
        File of the private keys of a relay.
    relay_url : str or None
        Address of a relay, as surveys name it.
    hook_url : str or None
        Address that notices about surveys are posted to.
    hook_key : Path or None
        File of the key of their signatures.
    hook_silent_days : int
        Number of days without a report after which an open survey is silent.
    log_format : {"text", "json"}
        Text for people, or one JSON object per line.
    min_reports : int
        Smallest number of reports for which results are served.
    request_seconds : int
        Timeout in seconds for receiving a request, and for sending its response.
    metrics_seconds : int or None
        Seconds between two releases of the numbers of requests in the metrics; None for the default
        of the program.
    workers : int or None
        Number of processes; None for the default of the program.
    threads : int or None
        Number of analyses at the same time in each process; None for the default.
    """

    database: str = DEFAULT_DATABASE
    max_body: Positive = 8_000_000
    max_batch: Positive = 10_000
    max_gamma: str = FormLimits().max_gamma
    max_answer_gamma: str | None = None
    max_total_gamma: str | None = None
    frame_origins: tuple[str, ...] = ()
    rate_limit: str | None = "1000 per hour"
    proxies: SmallCount = 0
    sealing_keys: Path | None = None
    relay_keys: Path | None = None
    relay_url: str | None = None
    hook_url: str | None = None
    hook_key: Path | None = None
    hook_silent_days: Positive = 2
    log_format: LogFormat = "text"
    min_reports: Positive = 50
    request_seconds: Positive = 20
    metrics_seconds: Positive | None = None
    workers: Processes | None = None
    threads: Processes | None = None

    @property
    def form_limits(self) -> FormLimits:
        """Largest amplifications that hosted forms accept."""
        return FormLimits(self.max_gamma, self.max_answer_gamma, self.max_total_gamma)

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ, only: Collection[str] | None = None
    ) -> "Config":
        """Read all variables, or only those of some settings.

        Raises ParameterError if a value is invalid; the message does not quote it.
        """
        kinds = get_type_hints(cls, include_extras=True)
        given = {}
        for name, kind in kinds.items():
            variable = f"{_PREFIX}{name.upper()}"
            if variable in environment and (only is None or name in only):
                given[name] = _read(variable, environment[variable], name, kind)
        return cls(**given)


def describe_unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a line for each variable with our prefix that nothing reads, without its value."""
    known = OTHER_VARIABLES.union(name.upper() for name in Config.__struct_fields__)
    lines = []
    for variable in sorted(environment):
        name = variable.removeprefix(_PREFIX)
        if name != variable and name not in known and not name.startswith(_OF_TESTS):
            near = get_close_matches(name, sorted(known), 1, cutoff=0.7)
            advice = f"did you mean {_PREFIX}{near[0]}?" if near else _WHERE
            lines.append(f"{variable}: there is no such setting, so it has no effect; {advice}")
    return lines


def _read(variable: str, text: str, name: str, kind: Any) -> Any:
    parse, expected = _PARSERS.get(name, (None, None))
    if get_origin(kind) in (Union, UnionType):
        # A variable that is set has a value.
        kind = next(each for each in get_args(kind) if each is not NoneType)
    try:
        return parse(text) if parse else msgspec.convert(text, kind, strict=False)
    except (msgspec.ValidationError, ValueError):
        if expected is None:
            schema = msgspec.json.schema(kind)
            expected = schema.get("description") or " or ".join(schema.get("enum", ["text"]))
        raise ParameterError(f"{variable}: expected {expected}", field=variable) from None


def _parse_amplification(text: str) -> str:
    try:
        if parse_rational(text, "amplification") > 1:
            return text
    except ParameterError:
        pass
    raise ValueError


def _parse_rate(text: str) -> str | None:
    if text == "off":
        return None
    # Import here, since only a serving collector needs it.
    from limits import parse_many

    rates = parse_many(text)
    if len(rates) != 1 or rates[0].amount < 1:
        raise ValueError
    return text


def _parse_file(text: str) -> Path:
    if not text:
        raise ValueError
    return Path(text)


def _parse_address(text: str) -> str:
    if not text.startswith(("https://", "http://")) or text.endswith("/"):
        raise ValueError
    return text


def _parse_hook(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s@]+", text):
        raise ValueError
    return text


def _parse_origins(text: str) -> tuple[str, ...]:
    if not all(re.fullmatch(_ORIGIN, each) for each in text.split()):
        raise ValueError
    return tuple(dict.fromkeys(text.split()))


_AMPLIFICATION = (_parse_amplification, "an exact amplification above 1, such as 19 or 9/2")
_FILE = (_parse_file, "the name of a file of private keys, or no such variable")

#: Parsers of values that a type alone does not describe, with descriptions of expected values.
_PARSERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "max_gamma": _AMPLIFICATION,
    "max_answer_gamma": _AMPLIFICATION,
    "max_total_gamma": _AMPLIFICATION,
    "frame_origins": (
        _parse_origins,
        "origins separated by blanks, such as 'https://lms.example.org https://*.example.com'",
    ),
    "rate_limit": (_parse_rate, "one rate, such as '1000 per hour', or 'off'"),
    "hook_url": (_parse_hook, "an address such as https://example.org/halftruth"),
    "hook_key": (_parse_file, "the name of a file with a key, or no such variable"),
    "sealing_keys": _FILE,
    "relay_keys": _FILE,
    "relay_url": (
        _parse_address,
        "the relay's address without a slash at its end, such as https://relay.example.org",
    ),
}
