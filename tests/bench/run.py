"""Print speed, throughput and accuracy compared with peers, and costs of hostile requests.

All results are printed; the exit status is 1 if a target is missed.
"""

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
    from halftruth_collector.cli.output import print_table
    from measure import print_comparisons, print_figures
except ImportError as error:
    if (error.name or "").startswith("halftruth"):
        raise
    print(f"{error}: 'make bench' installs what the benchmarks need", file=sys.stderr)
    sys.exit(2)


def main() -> int:
    """Run all benchmarks; return 1 if a target is missed."""
    lacking = collecting.missing()
    if lacking:
        print(lacking, file=sys.stderr)
        return 2
    notes = ["Ratios with a target ≥ are of speed, those with ≤ of time."]
    comparisons = [
        *perturbing.many_records(),
        *perturbing.one_record(),
        *mining.itemsets(notes),
        *concluding.rules(notes),
        *concluding.best_guess(),
        *importing.fresh_interpreter(),
    ]
    print_comparisons(comparisons, notes)
    figures = list(browsing.figures())
    print_figures("in the browser; medians", figures)
    missed = any(measured.missed for measured in (*comparisons, *figures))
    missed = collecting.print_throughput() or missed
    print("Root-mean-square error of supports on CENSUS at 19, percentage points, by length:")
    print_table(*accuracy.errors_by_length())
    print("The same where answers depend on each other strongly:")
    print_table(*accuracy.errors_of_dependent_answers())
    print("The same for what is wanted, in the same groups of answers:")
    print_table(*accuracy.errors_of_wanted_tables())
    print()
    attacking.print_costs()
    print()
    regressing.print_regressions()
    return int(missed)


if __name__ == "__main__":  # not in worker processes
    sys.exit(main())
