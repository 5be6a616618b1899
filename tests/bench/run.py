"""Print throughput and accuracy beside peers, and costs of hostile requests; 1 if one misses."""

import sys

try:
    import accuracy
    import attacking
    import collecting
    import regressing
    from halftruth_collector.cli.output import print_table
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
    missed = collecting.print_throughput()
    print("Root-mean-square error of supports on CENSUS at 19, percentage points, by length:")
    print_table(*accuracy.errors_by_length())
    print("The same where answers depend on each other strongly:")
    print_table(*accuracy.errors_of_dependent_answers())
    print()
    attacking.print_costs()
    print()
    regressing.print_regressions()
    return int(missed)


if __name__ == "__main__":  # not in the processes that pieces of work are given to
    sys.exit(main())
