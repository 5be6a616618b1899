"""Print how ours compares with its peers on CENSUS; exit 1 if a target is missed."""

import sys

try:
    import accuracy
    import attacking
    import browsing
    import collecting
    import concluding
    import importing
    import mining
    import perturbing
    import regressing
    import spreading
    from halftruth_collector.cli.output import print_table
    from measure import Figure, print_comparisons, print_figures
except ImportError as error:
    if (error.name or "").startswith("halftruth"):
        raise
    print(f"{error}: 'make bench' installs what the benchmarks need", file=sys.stderr)
    sys.exit(2)


def main() -> int:
    """Measure everything, and print it; 1 if a target is missed."""
    lacking = collecting.missing()
    if lacking:
        print(lacking, file=sys.stderr)
        return 2

    notes = ["Ratios with a target ≥ are of speed, those with ≤ of time."]
    figures: list[Figure] = []
    comparisons = [
        *perturbing.many_records(),
        *perturbing.one_record(),
        *mining.itemsets(notes),
        *concluding.rules(notes),
        *concluding.best_guess(),
        *spreading.tables(),
        *importing.fresh_interpreter(),
        *collecting.collecting(notes, figures),
    ]
    figures += browsing.figures()
    print_comparisons(comparisons, notes)
    print("Root-mean-square error of supports on CENSUS at 19, percentage points, by length:")
    print_table(*accuracy.errors_by_length())
    print("The same where answers depend on each other strongly:")
    print_table(*accuracy.errors_of_dependent_answers())
    print()
    attacking.print_costs()
    print()
    regressing.print_regressions()
    print()
    print_figures("one report, and in the browser; medians", figures)
    missed = any(figure.missed for figure in figures)
    return int(missed or any(comparison.missed for comparison in comparisons))


if __name__ == "__main__":  # not in the processes that pieces of work are given to
    sys.exit(main())
