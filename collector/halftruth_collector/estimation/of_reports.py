"""What reports say by themselves, where they are records."""

from collections.abc import Mapping, Sequence

from halftruth_shared import ParameterError, Schema
from halftruth_shared.analyses.randomized import RandomizedMeasure

from .loglinear import LoglinearFit, check_terms, model_of_reports
from .randomized import randomized_measures, randomized_partial_correlation
from .reconstructed import Reconstructed


class ReportEstimator:
    """Measures and models of the reports as they are, and what they say of the answers.

    Attributes
    ----------
    schema : Schema
    """

    schema: Schema
    _reconstructed: Reconstructed

    def randomized_partial_correlation(
        self,
        attributes: Sequence[str],
        given: Sequence[str],
        present: Mapping[str, str] | None = None,
        confidence: float = 0.95,
    ) -> RandomizedMeasure | None:
        """The same among the reports themselves, and what it says of the answers.

        Parameters are those of :meth:`partial_correlation`. None where a report is no record, and
        where estimates are about a group: who is in it is known of answers alone.
        """
        if not self._reconstructed.reports_are_records:
            return None
        table = self._reconstructed.randomized(conditional(self.schema, attributes, given))
        return randomized_partial_correlation(
            self.schema, table, self._reconstructed.distortions, present or {}, confidence
        )

    def randomized(
        self,
        attributes: Sequence[str],
        present: Mapping[str, str] | None = None,
        measures: Sequence[str] | None = None,
        confidence: float = 0.95,
    ) -> list[RandomizedMeasure]:
        """Measures straight from the reports, and what they say of the answers (Guo ch. 4).

        Of the mechanism nothing is used but which attributes it distorts and how symmetrically.

        Parameters
        ----------
        attributes, present, measures, confidence
            As for :meth:`measures`.

        Raises
        ------
        EstimateError
            If a report is no record.
        """
        return randomized_measures(
            self.schema,
            self._reconstructed.randomized(attributes),
            self._reconstructed.distortions,
            present or {},
            measures,
            confidence,
        )

    def loglinear(self, terms: Sequence[Sequence[str]]) -> tuple[LoglinearFit, bool, str]:
        """Fit a hierarchical loglinear model to the reports themselves (Guo ch. 4).

        With single attributes as terms this is the test of independence.

        Parameters
        ----------
        terms : sequence of sequences of str
            Attributes of each highest-order term; the table has every attribute named.

        Returns
        -------
        fit : LoglinearFit
            Axes in the order in which the attributes are first named.
        preserved : bool
            Whether the model holds for the reports if it holds for the answers (Korn).
        statement : str
            What may be concluded.

        Raises
        ------
        EstimateError
            If a report is no record.
        """
        check_terms(terms)
        names = tuple(dict.fromkeys(name for term in terms for name in term))
        self.schema.positions(names, "terms")
        table = self._reconstructed.randomized(names)
        return model_of_reports(table, terms, self._reconstructed.distortions)


def conditional(schema: Schema, attributes: Sequence[str], given: Sequence[str]) -> list[str]:
    """Two attributes and those that are held fixed, checked."""
    if len(attributes) != 2:
        raise ParameterError("attributes: expected two attributes", field="attributes")
    schema.positions(attributes)
    if given:
        schema.positions(given, "given")
    return [*attributes, *given]
