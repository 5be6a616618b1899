"""Estimator of a survey: tables, itemsets, rules and association measures from its counts."""

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Survey
from halftruth_shared.analyses.base import (
    Answers,
    Items,
    Merge,
    Method,
    Missing,
    Target,
    TypicalError,
)
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.results import EstimateColumns
from msgspec.structs import replace

from .association import (
    MAX_ASSOCIATED,
    estimate_associations,
    estimate_measures,
    graded,
)
from .bounds import Array, check_confidence, check_field, checked
from .counts import Counts
from .independence import Departures, JointTest
from .itemsets import Itemsets, mine_itemsets
from .likelihood import WholeTable
from .measures import MEASURE_NAMES
from .merging import Merging, rare_merged
from .model.fit import LoglinearModel
from .model.tables import ModelTables
from .rules import RuleMargins, Rules, arrange, check_order, mine_rules, sides_of_rule
from .tables import Tables


class Estimator(Tables):
    """Estimator of the distribution of true answers, from counts of perturbed reports.

    Every method raises SchemaError for an unknown or repeated attribute, ParameterError for any
    other parameter outside its range, and DomainTooLarge for a table with too many cells.

    Parameters
    ----------
    survey : Survey
    counts : Counts
        With at least one report.
    where : mapping of str to str or sequence of str, optional
        Domain (subpopulation): people who give one of these answers to each of these attributes.
        All people by default.
    missing : {"keep", "exclude"}
        Whether missing categories (``Attribute.missing``) are kept as categories, or each table
        excludes people with a missing answer to one of its questions.
    model : LoglinearModel, optional
        Model fitted to the same counts; its tables replace the unbiased ones.
    population : int, optional
        Size of the finite population from which the respondents are a simple random sample; large
        by default. Not with a model.
    target : {"population", "respondents"}
        Target of inference: the sampled population, or exactly these respondents.
    possible : bool
        Whether to use maximum likelihood tables without negative shares instead of unbiased ones,
        because the reports contradict the design.
    merge : mapping of str to sequence of sequences of str, optional
        Groups of categories to merge, by attribute. `where` names the merged categories.

    Attributes
    ----------
    schema : Schema
        Attributes that can be analysed: all but those of `where`, with their categories in use.

    Raises
    ------
    NoReports
        If nothing has been counted.
    ReportError
        If the counts do not belong to this survey.
    EstimateError
        If the share of the domain `where` is less than `NEARLY_LINEAR` standard errors above zero.

    Examples
    --------
    >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
    >>> survey = Survey("health", "Health", schema, mechanism)
    >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> estimator = Estimator(survey, Counts.from_cells(survey, cells, [500, 100, 150, 250]))
    >>> estimator.table(["smoker"]).value.round(3).tolist()
    [0.625, 0.375]
    >>> rule = estimator.rule({"smoker": "yes"}, {"coughs": "yes"}).rows[0]
    >>> round(rule.value, 2), rule.set
    (0.77, 'interval')
    >>> phi = estimator.measures(["smoker", "coughs"], measures=["phi"])
    >>> phi.value.round(3).tolist(), phi.standard_error.round(3).tolist()
    ([0.766], [0.046])
    >>> smokers = estimator.where({"smoker": "yes"})
    >>> smokers.table(["coughs"]).value.round(3).tolist(), round(smokers.group().share, 3)
    ([0.229, 0.771], 0.375)
    """

    def __init__(
        self,
        survey: Survey,
        counts: Counts,
        where: Answers | None = None,
        missing: Missing = "keep",
        model: LoglinearModel | None = None,
        population: int | None = None,
        *,
        target: Target = "population",
        possible: bool = False,
        merge: Merge | None = None,
    ) -> None:
        if model is not None and population is not None:
            raise ParameterError(
                "population: a model is of a large one; expected none, or unbiased estimates",
                field="population",
            )
        super().__init__(
            survey,
            counts,
            where,
            missing,
            None if model is None else ModelTables(model),
            population,
            target=target,
            possible=possible,
            merge=merge,
        )
        self.model, self._whole = model, WholeTable(self)

    def where(self, answers: Answers) -> "Estimator":
        """Return the estimator for a domain; raises the same errors as `Estimator`."""
        return self._with(answers, self.merging.merge)

    def merged(self, merge: Merge) -> "Estimator":
        """Return the estimator with merged categories; raises the same errors as `Estimator`."""
        return self._with(self.domain.where, merge)

    def _with(self, where: Answers, merge: Merge) -> "Estimator":
        return Estimator(
            self.survey,
            self.counts,
            where,
            self.missing,
            self.model,
            self.population,
            target=self.target,
            possible=self.possible,
            merge=merge,
        )

    def support(self, attributes: Sequence[str], estimate: Method = "moment") -> Array:
        """Return the share of each cell of a table, shape as of :meth:`table`.

        Estimates by likelihood and model are margins of one estimate of the table of all attributes
        (or of those of the model), so that the shares of different tables agree with each other. If
        all are too many, best guesses by likelihood are of each table by itself.
        """
        check_field(ItemsetsQuery, "estimate", estimate)
        if estimate in ("moment", "model"):
            return self.table(attributes).value
        if self.merging.merge:
            raise ParameterError(
                "merge: best guesses are of all categories; expected estimate = moment or model",
                field="merge",
            )
        return self._whole.table(attributes)

    def typical_error(self, attributes: Sequence[str]) -> TypicalError:
        """Root mean square error of the best guess in tables like that of these attributes."""
        return self._whole.typical_error(attributes)

    def itemsets(
        self,
        min_support: float,
        max_length: int | None = None,
        confidence: float = 0.95,
        estimate: Method = "moment",
    ) -> Itemsets:
        """Itemsets whose support reaches a threshold, each with its bounds and a decision.

        Parameters are the fields of `ItemsetsQuery`. Decisions control the false discovery rate at
        half of 1 − confidence, intervals of the list have a false coverage rate of 1 − confidence;
        see :mod:`.selection`. The best guess ("likelihood") has no intervals, but a typical error
        for each length. Without `max_length`, all lengths are examined for which the reports can
        decide any itemset.

        Examples
        --------
        >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
        >>> schema = Schema([Attribute("smoker", ["no", "yes"], items=["yes"])])
        >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
        >>> counts = Counts.from_cells(survey, [[0], [1]], [680, 320])
        >>> found = Estimator(survey, counts).itemsets(min_support=0.2)
        >>> [itemset] = found.rows
        >>> itemset["itemset"], round(itemset.value, 3), found.frequent.tolist()
        ({'smoker': 'yes'}, 0.3, [True])
        """
        query = checked(
            ItemsetsQuery(
                min_support=min_support,
                max_length=max_length,
                confidence=confidence,
                target=self.target,
                estimate=estimate,
            )
        )
        self._check_keeping()
        return mine_itemsets(self, self._whole, query, estimate)

    def rules(
        self,
        min_support: float,
        min_confidence: float,
        min_lift: float | None = None,
        max_length: int | None = None,
        confidence: float = 0.95,
        measures: Sequence[str] = (),
        sort: str = "confidence",
        limit: int | None = None,
        include_uncertain: bool = False,
    ) -> Rules:
        """Return association rules X ⇒ Y between the itemsets that :meth:`itemsets` selects.

        Parameters are the fields of `RulesQuery`; `measures` and `sort` name some of
        :data:`~halftruth_collector.estimation.measures.NAMES`. Within any order, usable rules come
        first and rules without bounds last.
        """
        query = checked(
            RulesQuery(
                min_support=min_support,
                min_confidence=min_confidence,
                min_lift=min_lift,
                max_length=max_length,
                confidence=confidence,
                target=self.target,
                measures=list(measures),
                sort=sort,
                limit=limit,
                include_uncertain=include_uncertain,
            )
        )
        check_order(query)
        self._check_keeping()
        return mine_rules(self, query)

    def rule(
        self,
        antecedent: Items,
        consequent: Items,
        confidence: float = 0.95,
        measures: Sequence[str] | None = None,
    ) -> Rules:
        """Estimate one rule X ⇒ Y, regardless of its support, with all measures by default.

        If the estimated support of X is not positive, its confidence is undefined: EstimateError.
        """
        query = RulesQuery(
            min_support=1,
            min_confidence=0,
            measures=list(MEASURE_NAMES if measures is None else measures),
            confidence=confidence,
            include_uncertain=True,
        )
        check_confidence(confidence)
        check_order(query)
        codes, sides = sides_of_rule(self.schema, antecedent, consequent)
        positions = tuple(np.flatnonzero(codes[0] >= 0).tolist())
        margins = RuleMargins.of(*self.with_margins(positions))
        supports = margins.supports(codes, sides)
        if not supports.support[1, 0] > 0:
            raise EstimateError(
                "antecedent: its estimated share is not above 0, so the rule has no confidence",
                field="antecedent",
            )
        reports = self.reports
        return arrange(
            self.schema,
            codes,
            sides,
            supports,
            reports,
            query,
            lambda rows: margins.with_consequent(codes[rows], sides[rows], supports[rows]),
        )

    def measures(
        self,
        attributes: Sequence[str],
        present: Mapping[str, str] | None = None,
        measures: Sequence[str] | None = None,
        confidence: float = 0.95,
    ) -> EstimateColumns:
        """Estimate association measures of some attributes (Guo Table 3.6), a row for each.

        Standard errors are by the delta method (Guo §3.3.1), which assumes that the measure is
        nearly linear within the error of the table. Near independence this does not hold for
        nonnegative measures such as χ²; these are corrected to second order.

        Parameters
        ----------
        attributes : sequence of str
            Two for all measures. Some measures are also defined for more attributes.
        present : mapping of str to str, optional
            Category that counts as presence, by attribute. By default, it is the only item of an
            attribute, or the second of two categories. Without one, only measures that need no
            presence are computed.
        measures : sequence of str, optional
            Names of measures; by default all that apply to these attributes.
        confidence : float
            Confidence level of each interval.
        """
        check_confidence(confidence)
        table = self.table(attributes)
        found = estimate_measures(self.schema, table, present or {}, measures)
        return EstimateColumns.concatenate([graded(*each, confidence) for each in found])

    def associations(
        self,
        attributes: Sequence[str] | None = None,
        confidence: float = 0.95,
    ) -> EstimateColumns:
        """Estimate Goodman and Kruskal's τ for every ordered pair of attributes, of all by default.

        Rows are in the order of ``itertools.permutations(attributes, 2)``. The answers in `rare`
        are merged for τ. The p-values are those of :meth:`associated`, which uses all answers;
        pairs that depend on each other by design are not tested. Pairs that the reports do not
        identify are undefined.
        """
        names = self.schema.names if attributes is None else attributes
        self.schema.positions(names)
        if len(names) > MAX_ASSOCIATED:
            raise DomainTooLarge(
                f"attributes: {len(names)} of them; expected at most {MAX_ASSOCIATED}",
                field="attributes",
            )
        if len(names) < 2:
            raise ParameterError("attributes: expected two or more", field="attributes")
        check_confidence(confidence)
        pairs = filter(self.identified, combinations(names, 2))
        tables = {(one, other): self.table((one, other)) for one, other in pairs}
        merging = Merging(self.schema, self.rare(names))
        merged = {pair: merging.table(table) for pair, table in tables.items()}
        associations = estimate_associations(merged, names, confidence)
        free = [pair for pair in tables if not self.by_design(*pair)]
        test = JointTest([Departures(tables[pair]) for pair in free])
        place = {frozenset(pair): k for k, pair in enumerate(free)}
        # The last place is that of the pairs without a test.
        tests = [place.get(frozenset(pair), -1) for pair in permutations(names, 2)]
        return replace(
            associations,
            p_value=np.append(test.p_values, np.nan)[tests],
            adjusted_p_value=np.append(test.adjusted, np.nan)[tests],
        )

    def by_design(self, one: str, other: str) -> bool:
        """Return whether one of two questions is asked after certain answers to the other."""
        dependents = self.schema.dependents
        return other in dependents(one) or one in dependents(other)

    def rare(self, attributes: Sequence[str]) -> dict[str, list[list[str]]]:
        """Return the groups of rare answers to merge, by attribute: see `rare_merged`."""
        found = {
            name: rare_merged(
                self.schema.attributes[self.schema.position(name)], self.table([name])
            )
            for name in attributes
        }
        return {name: groups for name, groups in found.items() if groups}

    def associated(self, pairs: Sequence[Sequence[str]]) -> JointTest:
        """Test the association of each pair of questions, with the false discovery rate."""
        return JointTest([Departures(self.table(pair)) for pair in pairs])

    def _check_keeping(self) -> None:
        if self.missing == "exclude":
            raise ParameterError(
                "missing: tables of different people do not agree with each other; expected keep",
                field="missing",
            )
