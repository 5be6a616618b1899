"""``halftruth analyse microdata``: weighted records, printed or exported with scripts."""

from typing import Any

import click
from halftruth_shared import ParameterError

from ..analyses import ANALYSES
from ..exporters import find_exporter, write_records
from . import options
from .analyses import command
from .sources import result_of

_ANALYSIS = ANALYSES["microdata"]

microdata = command(_ANALYSIS)
_print: Any = microdata.callback


def _microdata(output: str | None, **given: Any) -> Any:
    if output is None:
        return _print(**given)
    if options.pop_output_format(given) != options.OutputFormat(False, False, None):
        raise ParameterError("output: expected without --json, --csv and --parquet", field="output")
    # Check before computing, which can take long.
    find_exporter(output)
    source = [given.pop(name) for name in ("survey", "database", "url", "token")]
    result = result_of(_ANALYSIS, options.query_texts(given), *source)
    for caveat in result.caveats:
        if caveat.weight == "warning":
            click.echo(caveat.sentence)
    for file in write_records(result, output):
        click.echo(f"written: {file}")
    return None


microdata.callback = _microdata
options.output(
    "Write a file for other programs, with a codebook and scripts for R and Python: .csv or"
    " .parquet."
)(microdata)
