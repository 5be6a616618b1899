"""Reports of records, or what is wrong with them: no error holds an answer."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from halftruth_shared import HalftruthError, ParameterError, RecordError, Survey


def perturb(survey: Survey, record: Mapping[str, str]) -> tuple[int, ...] | RecordError:
    """Report of one record, or what is wrong with it.

    The error is new, without the traceback whose frames hold the record.
    """
    try:
        return survey.mechanism.perturb(survey.schema, survey.schema.encode(record))
    except RecordError as error:
        return RecordError(str(error), field=error.field)
    except Exception as error:
        # Whatever a strange mapping raises may quote the answers.
        return RecordError(f"record: cannot be read ({type(error).__name__})")


def perturb_many(
    survey: Survey, records: Iterable[Mapping[str, str]], invitations: Sequence[str] | None
) -> list[tuple[int, ...]] | HalftruthError:
    """Reports of many records, or what is wrong with the first that does not fit.

    Where there are invitations, there has to be one for each record.
    """
    codes: list[tuple[int, ...]] = []
    try:
        for record in records:
            codes.append(survey.schema.encode(record))
        if invitations is not None and len(invitations) != len(codes):
            return ParameterError(
                f"invitations: expected one for each of the {len(codes)} records",
                field="invitations",
            )
        array = np.array(codes, dtype=np.int64).reshape(-1, len(survey.schema.shape))
        reports = survey.mechanism.perturb_many(survey.schema, array)
        return list(map(tuple, reports.tolist()))
    except RecordError as error:
        return RecordError(f"record {len(codes)}: {error}", field=error.field)
    except Exception as error:
        # Whatever a strange mapping raises may quote the answers.
        return RecordError(f"record {len(codes)}: cannot be read ({type(error).__name__})")
