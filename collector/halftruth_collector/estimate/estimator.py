"""From a survey and its counts to tables, itemsets and rules."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import permutations

import numpy as np
from halftruth_shared import (
    DomainTooLarge,
    EstimateError,
    NoReports,
    ParameterError,
    ReportError,
    Survey,
)
from halftruth_shared.channels import Margins
from halftruth_shared.classifiers import DecisionTree, NaiveBayes
from halftruth_shared.errors import listing
from halftruth_shared.messages import (
    Association,
    ClassifierKind,
    Items,
    MeasureEstimate,
    Method,
    RandomizedMeasure,
    RuleEstimate,
    Selection,
    Target,
)

from .bounds import Array, check_confidence, check_target
from .constrained import CONSTRAINED_CELLS, check_method, constrain, margin, supports_within
from .counts import Counts
from .distortion import distortions
from .itemsets import Criteria, Itemsets, examine_levels, examine_margins, select_itemsets
from .learning import check_features, check_limits, decision_tree, naive_bayes
from .loglinear import (
    LoglinearFit,
    check_terms,
    fit_loglinear,
    is_preserved,
    loglinear_statement,
)
from .measures import MEASURE_NAMES, estimate_measures
from .partial import partial_correlation
from .randomized import randomized_measures, randomized_partial_correlation
from .rules import Reconstruction, RuleCriteria, Rules, arrange, mine_rules, sides_of_rule
from .simultaneous import check_candidates
from .table import Table

#: Most attributes whose associations are estimated at once.
MAX_ASSOCIATED = 32

#: Cells of all margins together up to which they are reconstructed at once.
_MARGIN_CELLS = 2**17


class Estimator:
    """Reconstructs what the respondents answered, from counts of perturbed reports.

    Parameters
    ----------
    survey : Survey
    counts : Counts
        With at least one report.

    Raises
    ------
    NoReports
        If nothing has been counted.
    ReportError
        If the counts are not of this survey's reports.
    """

    def __init__(self, survey: Survey, counts: Counts) -> None:
        shape = survey.mechanism.report_shape(survey.schema)
        if (counts.names, counts.shape) != (shape.names, shape.shape):
            raise ReportError(
                f"counts: expected reports with the columns {listing(shape.names)} of"
                f" {listing(list(map(str, shape.shape)))} values",
                field="counts",
            )
        if counts.reports == 0:
            raise NoReports(f"survey '{survey.id}': no report has been counted yet")
        self.survey = survey
        self.counts = counts
        self._constrained_tables: dict[Method, Array] = {}

    def table(self, attributes: Sequence[str]) -> Table:
        """Reconstructed table of some attributes, one axis for each in the order given.

        Raises
        ------
        SchemaError
            If an attribute is unknown or named twice, or none is named.
        DomainTooLarge
            If the table has too many cells.
        """
        schema, mechanism = self.survey.schema, self.survey.mechanism
        names = tuple(attributes)
        observed = self.counts.marginal(mechanism.report_columns(schema, names))
        channel = mechanism.channel(schema, names)
        return Table(names, channel, observed / self.counts.reports, self.counts.reports)

    def itemsets(
        self,
        min_support: float,
        max_length: int | None = None,
        confidence: float = 0.95,
        select: Selection = "estimate",
        target: Target = "population",
        estimate: Method = "moment",
    ) -> Itemsets:
        """Itemsets whose support reaches a threshold, each with its bounds and a decision.

        Parameters
        ----------
        min_support : float
            Threshold, above 0 and at most 1.
        max_length : int, optional
            Longest itemsets; any length by default.
        confidence : float
            Of each single interval, not of all together; but see `select`.
        select : {"estimate", "lower", "upper", "bonferroni", "holm"}
            What must reach the threshold. Selecting by the lower bound suppresses false
            positives, by the upper one false negatives (Guo Table 3.3b). With "bonferroni" all
            lower bounds hold together with this confidence, and so do all upper bounds; "holm"
            selects at least as many itemsets. The chance that any of the itemsets that they give
            is not frequent is at most 1 − confidence.
        target : {"population", "respondents"}
            Whether the respondents are a sample of those spoken of, or all of them.
        estimate : {"moment", "projected", "likelihood"}
            What the supports are: the unbiased moment estimate, or margins of an estimate of the
            whole table inside the simplex, so that a superset is never more frequent than its
            subset. Standard errors, intervals and decisions are those of the moment estimate.

        Raises
        ------
        ParameterError
            If a parameter is outside its range.
        DomainTooLarge
            If too many attribute subsets or cells would have to be examined.

        Examples
        --------
        >>> import numpy as np
        >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
        >>> schema = Schema([Attribute("smoker", ["no", "yes"], items=["yes"])])
        >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
        >>> counts = Counts.from_cells(schema, [[0], [1]], [680, 320])
        >>> [itemset] = Estimator(survey, counts).itemsets(min_support=0.2)
        >>> itemset.items, round(itemset.support, 3), itemset.decision
        ({'smoker': 'yes'}, 0.3, 'frequent')
        """
        criteria = Criteria(min_support, max_length, confidence, select, target, estimate)
        schema, reports = self.survey.schema, self.counts.reports
        if select in ("bonferroni", "holm"):
            check_candidates(schema, criteria.longest(schema))
        if self._is_small:
            examined = examine_margins(schema, self._whole, reports, criteria)
        else:
            examined = examine_levels(schema, self._moments_at, reports, criteria)
        supports = examined.support
        if estimate != "moment":
            supports = supports_within(self._constrained(estimate), examined.codes)
        return select_itemsets(schema, examined, supports, criteria)

    def rules(
        self,
        min_support: float,
        min_confidence: float,
        min_lift: float | None = None,
        max_length: int | None = None,
        confidence: float = 0.95,
        select: Selection = "estimate",
        target: Target = "population",
        measures: Sequence[str] = (),
        sort: str = "confidence",
        limit: int | None = None,
    ) -> Rules:
        """Rules X ⇒ Y between the itemsets that :meth:`itemsets` selects.

        Parameters
        ----------
        min_support, max_length, confidence, select, target
            As for :meth:`itemsets`, of X and Y together.
        min_confidence : float
            Least estimated confidence, from 0 to 1.
        min_lift : float, optional
            Least estimated lift.
        measures : sequence of str
            Measures of the association of X and Y to compute, such as lift, conviction and
            leverage; for all names see :data:`~halftruth_collector.estimate.measures.MEASURES`.
        sort : str
            "confidence", "support" or a measure, the largest first. Rules without bounds come
            last in any order.
        limit : int, optional
            Most rules to give; all by default.

        Raises
        ------
        ParameterError
            If a parameter is outside its range.
        DomainTooLarge
            If too many attribute subsets or cells would have to be examined.

        Examples
        --------
        >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
        >>> schema = Schema([Attribute(name, ["no", "yes"], ["yes"]) for name in ("tea", "milk")])
        >>> survey = Survey("s", "S", schema, RandomizedResponse({"tea": "0.9", "milk": "0.9"}))
        >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> counts = Counts.from_cells(schema, cells, [500, 100, 150, 250])
        >>> rules = Estimator(survey, counts).rules(0.05, 0.5, measures=["lift"])
        >>> [rule, other] = rules
        >>> rule.antecedent, rule.consequent, round(rule.confidence, 2)
        ({'milk': 'yes'}, {'tea': 'yes'}, 0.93)
        >>> [lift] = rule.measures
        >>> round(lift.value, 2), round(lift.standard_error, 2)
        (2.47, 0.14)
        """
        criteria = RuleCriteria(min_confidence, min_lift, measures, sort, limit)
        itemsets = self.itemsets(min_support, max_length, confidence, select, target)
        return mine_rules(
            itemsets,
            lambda positions: self._reconstruction(positions, target),
            self._is_small,
            self.counts.reports,
            criteria,
            confidence,
        )

    def rule(
        self,
        antecedent: Items,
        consequent: Items,
        confidence: float = 0.95,
        target: Target = "population",
        measures: Sequence[str] | None = None,
    ) -> RuleEstimate:
        """One rule X ⇒ Y, whatever its support.

        Parameters
        ----------
        antecedent, consequent : mapping of str to str
            Items of X and of Y, by attribute.
        confidence : float
            Of each single interval.
        target : {"population", "respondents"}
        measures : sequence of str, optional
            Measures of the association of X and Y; all of them by default.

        Raises
        ------
        SchemaError
            If an attribute is unknown.
        ParameterError
            If a side is empty, names an unknown category or an attribute of the other side; or
            if a parameter is outside its range.
        EstimateError
            If the estimated support of X is not above 0, so that no confidence is defined.
        DomainTooLarge
            If the table of these attributes is too large.

        Examples
        --------
        >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
        >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
        >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
        >>> survey = Survey("health", "Health", schema, mechanism)
        >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> counts = Counts.from_cells(schema, cells, [500, 100, 150, 250])
        >>> rule = Estimator(survey, counts).rule(
        ...     {"smoker": "yes"}, {"coughs": "yes"}, measures=["conviction"]
        ... )
        >>> round(rule.confidence, 2), rule.confidence_fieller.kind
        (0.77, 'interval')
        """
        check_confidence(confidence)
        check_target(target)
        names = MEASURE_NAMES if measures is None else measures
        criteria = RuleCriteria(0.0, measures=names)
        codes, sides = sides_of_rule(self.survey.schema, antecedent, consequent)
        positions = tuple(np.flatnonzero(codes[0] >= 0).tolist())
        supports = self._reconstruction(positions, target).supports(codes, sides)
        if not supports.support[1, 0] > 0:
            raise EstimateError(
                "antecedent: its estimated share is not above 0, so the rule has no confidence",
                field="antecedent",
            )
        [rule] = arrange(
            self.survey.schema, codes, sides, supports, self.counts.reports, criteria, confidence
        )
        return rule

    def measures(
        self,
        attributes: Sequence[str],
        present: Mapping[str, str] | None = None,
        measures: Sequence[str] | None = None,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> list[MeasureEstimate]:
        """Association measures of some attributes (Guo Table 3.6), each with its error.

        Parameters
        ----------
        attributes : sequence of str
            Two for all measures; for more, those that extend to more.
        present : mapping of str to str, optional
            The category that counts as presence, by attribute. By default it is the only item of
            an attribute, or the second of two categories; where an attribute has neither, only
            the measures of its categories are computed.
        measures : sequence of str, optional
            Their names; by default every one that such attributes have.
        confidence : float
            Of each single interval.
        target : {"population", "respondents"}

        Returns
        -------
        list of MeasureEstimate
            Standard errors by the delta method (Guo §3.3.1), which assumes that the measure is
            nearly linear over the error of the table. That fails for measures that cannot be
            negative, such as χ², near independence, where their standard error comes out too small.

        Raises
        ------
        SchemaError
            If an attribute is unknown or named twice.
        ParameterError
            If there are fewer than two attributes, a category or a measure is unknown, or a
            measure was asked for that such attributes do not have.
        DomainTooLarge
            If the table is too large for its covariance.

        Examples
        --------
        >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
        >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
        >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
        >>> survey = Survey("health", "Health", schema, mechanism)
        >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> counts = Counts.from_cells(schema, cells, [500, 100, 150, 250])
        >>> phi, *others = Estimator(survey, counts).measures(["smoker", "coughs"])
        >>> phi.name, round(phi.value, 3), round(phi.standard_error, 3)
        ('phi', 0.766, 0.046)
        """
        return estimate_measures(
            self.survey.schema, self.table(attributes), present or {}, measures, confidence, target
        )

    def associations(
        self,
        attributes: Sequence[str] | None = None,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> list[Association]:
        """Concentration τ of every ordered pair of attributes (Guo Table 3.6).

        It is the share by which the gini index of the second falls when the first is known, and
        unlike the measures with logarithms it is defined where a cell has a negative estimate.

        Parameters
        ----------
        attributes : sequence of str, optional
            Two or more, at most `MAX_ASSOCIATED`; all of them by default.
        confidence : float
            Of each single interval.
        target : {"population", "respondents"}

        Raises
        ------
        SchemaError
            If an attribute is unknown or named twice.
        ParameterError
            If there are fewer than two attributes.
        DomainTooLarge
            If there are too many attributes, or a table is too large for its covariance.

        Examples
        --------
        >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
        >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
        >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
        >>> survey = Survey("health", "Health", schema, mechanism)
        >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> counts = Counts.from_cells(schema, cells, [500, 100, 150, 250])
        >>> first, _ = Estimator(survey, counts).associations()
        >>> first.row, first.column, round(first.estimate.value, 2)
        ('smoker', 'coughs', 0.59)
        """
        names = self.survey.schema.names if attributes is None else attributes
        self.survey.schema.positions(names)
        if len(names) > MAX_ASSOCIATED:
            raise DomainTooLarge(
                f"attributes: {len(names)} of them; expected at most {MAX_ASSOCIATED}",
                field="attributes",
            )
        if len(names) < 2:
            raise ParameterError("attributes: expected two or more", field="attributes")
        found = []
        for row, column in permutations(names, 2):
            [estimate] = self.measures([row, column], None, ["concentration"], confidence, target)
            found.append(Association(row=row, column=column, estimate=estimate))
        return found

    def partial_correlation(
        self,
        attributes: Sequence[str],
        given: Sequence[str],
        present: Mapping[str, str] | None = None,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> MeasureEstimate:
        """Correlation of two binary attributes given others, with its error.

        Parameters
        ----------
        attributes : sequence of str
            Two.
        given : sequence of str
            One or more others.
        present : mapping of str to str, optional
            The category that counts as presence, by attribute; by default the only item, or the
            second of two categories.
        confidence : float
        target : {"population", "respondents"}

        Returns
        -------
        MeasureEstimate
            Standard error by the delta method.

        Raises
        ------
        SchemaError
            If an attribute is unknown or named twice.
        ParameterError
            If there are not two attributes, nothing is given, or nothing says what presence is.
        DomainTooLarge
            If the table is too large for its covariance.

        Examples
        --------
        >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
        >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in "abc"])
        >>> survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys("abc", "0.9")))
        >>> cells = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1]]
        >>> counts = Counts.from_cells(schema, cells, [400, 150, 150, 150, 150])
        >>> Estimator(survey, counts).partial_correlation(["a", "b"], ["c"]).name
        'partial_correlation'
        """
        table = self._conditional_table(attributes, given)
        return partial_correlation(self.survey.schema, table, present or {}, confidence, target)

    def randomized_partial_correlation(
        self,
        attributes: Sequence[str],
        given: Sequence[str],
        present: Mapping[str, str] | None = None,
        confidence: float = 0.95,
    ) -> RandomizedMeasure:
        """The same among the reports themselves, and what it says of the answers.

        Parameters and errors are those of :meth:`partial_correlation`.
        """
        table = self._conditional_table(attributes, given)
        return randomized_partial_correlation(self.survey, table, present or {}, confidence)

    def _conditional_table(self, attributes: Sequence[str], given: Sequence[str]) -> Table:
        if len(attributes) != 2:
            raise ParameterError("attributes: expected two attributes", field="attributes")
        schema = self.survey.schema
        schema.positions(attributes)
        if given:
            schema.positions(given, "given")
        return self.table([*attributes, *given])

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
        SchemaError, ParameterError, DomainTooLarge
            As :meth:`measures`.

        Examples
        --------
        >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
        >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
        >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
        >>> survey = Survey("health", "Health", schema, mechanism)
        >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> counts = Counts.from_cells(schema, cells, [500, 100, 150, 250])
        >>> [phi] = Estimator(survey, counts).randomized(["smoker", "coughs"], measures=["phi"])
        >>> round(phi.estimate.value, 3), phi.never_grows, phi.statement
        (0.471, True, 'its size is at least as large for the answers')
        """
        return randomized_measures(
            self.survey, self.table(attributes), present or {}, measures, confidence
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
        SchemaError
            If an attribute is unknown.
        ParameterError
            If there is no term, an empty one, or one that names an attribute twice.
        DomainTooLarge
            If the table has too many cells.

        Examples
        --------
        >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
        >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
        >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
        >>> survey = Survey("health", "Health", schema, mechanism)
        >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> counts = Counts.from_cells(schema, cells, [500, 100, 150, 250])
        >>> fit, preserved, _ = Estimator(survey, counts).loglinear([["smoker"], ["coughs"]])
        >>> round(fit.chi_squared, 1), fit.degrees_of_freedom, preserved
        (221.6, 1, True)
        """
        check_terms(terms)
        names = tuple(dict.fromkeys(name for term in terms for name in term))
        self.survey.schema.positions(names, "terms")
        table = self.table(names)
        axes = [[names.index(name) for name in term] for term in terms]
        fit = fit_loglinear(table.observed * table.reports, axes)
        known = distortions(self.survey, names, (None,) * len(names))
        preserved = known is not None and is_preserved(
            axes, [axis for axis, d in enumerate(known) if d.distorted]
        )
        return (
            fit,
            preserved,
            loglinear_statement(known is not None, preserved, fit.degrees_of_freedom),
        )

    def classifier(
        self,
        predict: str,
        kind: ClassifierKind = "naive-bayes",
        features: Sequence[str] | None = None,
        max_depth: int = 3,
        min_support: float = 0.05,
        confidence: float = 0.95,
        estimate: Method = "likelihood",
    ) -> NaiveBayes | DecisionTree:
        """Learn to predict one attribute from others, from reconstructed tables.

        Parameters
        ----------
        predict : str
            The attribute whose categories are the classes.
        kind : {"naive-bayes", "decision-tree"}
        features : sequence of str, optional
            The attributes to predict from; all others by default.
        max_depth : int
            Of a tree: most questions in a row.
        min_support : float
            Of a tree: a node with a smaller estimated share of all people is not split.
        confidence : float
            Of the intervals that the warnings go by.
        estimate : {"moment", "projected", "likelihood"}
            What the tables are; negative shares of the moment estimate count as 0.

        Returns
        -------
        NaiveBayes or DecisionTree
            With `predict` and `predict_proba` for records, and `warnings` for every cell behind
            it that is not known to be above 0.

        Raises
        ------
        SchemaError
            If an attribute is unknown or named twice.
        ParameterError
            If a parameter is outside its range.
        DomainTooLarge
            If a table has too many cells.

        Examples
        --------
        >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
        >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
        >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
        >>> survey = Survey("health", "Health", schema, mechanism)
        >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> counts = Counts.from_cells(schema, cells, [500, 100, 150, 250])
        >>> model = Estimator(survey, counts).classifier("coughs")
        >>> model.predict([{"smoker": "yes"}, {"smoker": "no"}]).tolist()
        ['yes', 'no']
        """
        check_confidence(confidence)
        schema = self.survey.schema
        chosen = check_features(schema, predict, features)
        check_limits(max_depth, min_support)

        def tables(names: Sequence[str]) -> tuple[Array, Array]:
            lower, _ = self.table(names).interval(confidence)
            return self.support(names, estimate), lower

        if kind == "naive-bayes":
            return naive_bayes(schema, tables, predict, chosen, self.counts.reports)
        if kind == "decision-tree":
            return decision_tree(schema, tables, predict, chosen, max_depth, min_support)
        raise ParameterError("kind: expected naive-bayes or decision-tree", field="kind")

    @cached_property
    def _is_small(self) -> bool:
        """Whether all margins of the whole table are few enough to reconstruct at once."""
        return math.prod(size + 1 for size in self.survey.schema.shape) <= _MARGIN_CELLS

    @cached_property
    def _whole(self) -> Margins:
        """Margins of the whole table."""
        return self._table_at(tuple(range(len(self.survey.schema.shape)))).margins

    def support(self, attributes: Sequence[str], estimate: Method = "moment") -> Array:
        """Support of each cell of a table, shape as of :meth:`table`.

        Parameters
        ----------
        attributes : sequence of str
        estimate : {"moment", "projected", "likelihood"}
            The last two are margins of one estimate of the whole table, so that the supports of
            different tables agree with each other.

        Raises
        ------
        SchemaError
            If an attribute is unknown or named twice, or none is named.
        ParameterError
            If the method is unknown.
        DomainTooLarge
            If the table, or for the last two the whole table, has too many cells.

        Examples
        --------
        >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
        >>> schema = Schema([Attribute("smoker", ["no", "yes"])])
        >>> survey = Survey("health", "Health", schema, GammaDiagonal("3"))
        >>> estimator = Estimator(survey, Counts.from_cells(schema, [[0], [1]], [80, 20]))
        >>> estimator.support(["smoker"]).round(2).tolist()
        [1.1, -0.1]
        >>> estimator.support(["smoker"], "likelihood").round(2).tolist()
        [1.0, 0.0]
        """
        check_method(estimate)
        table = self.table(attributes)
        if estimate == "moment":
            return table.support
        return margin(self._constrained(estimate), self.survey.schema.positions(attributes))

    def _constrained(self, method: Method) -> Array:
        """Estimate of the whole table inside the simplex."""
        if method not in self._constrained_tables:
            size = self.survey.schema.size
            if size > CONSTRAINED_CELLS:
                raise DomainTooLarge(
                    f"estimate: a whole table of {size} cells; expected at most"
                    f" {CONSTRAINED_CELLS}, or estimate = moment",
                    field="estimate",
                )
            whole = self.table(self.survey.schema.names)
            self._constrained_tables[method] = constrain(whole.channel, whole.observed, method)
        return self._constrained_tables[method]

    def _reconstruction(self, positions: tuple[int, ...], target: Target) -> Reconstruction:
        every = tuple(range(len(self.survey.schema.shape)))
        if self._is_small:
            return Reconstruction(every, self._whole, self.counts.reports, target)
        margins = self._table_at(positions).margins
        return Reconstruction(positions, margins, self.counts.reports, target)

    def _table_at(self, positions: tuple[int, ...]) -> Table:
        return self.table([self.survey.schema.names[j] for j in positions])

    def _moments_at(self, positions: tuple[int, ...]) -> tuple[Array, Array]:
        table = self._table_at(positions)
        return table.support, table.second_moment
