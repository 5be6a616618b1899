"""Print how we compare with our peers on CENSUS; exit 1 if a target is missed."""

import sys
from itertools import chain

try:
    import importing
    import mining
    import perturbing
    from halftruth_collector.cli.output import print_table
except ImportError as error:
    print(f"{error}: 'make bench' installs what the benchmarks need", file=sys.stderr)
    sys.exit(2)

HEADER = ["ours : peer", "ours", "peer", "ratio (min / median / max)", "target", "met"]


def main() -> None:
    """Run every benchmark."""
    comparisons = list(
        chain(
            perturbing.many_records(),
            perturbing.one_record(),
            mining.itemsets(),
            importing.fresh_interpreter(),
        )
    )
    print_table(HEADER, [comparison.row() for comparison in comparisons])
    print("\nA target ≥ is of how many times as fast we are, ≤ of how many times as long we take.")
    print(mining.found())
    missed = [comparison.name for comparison in comparisons if comparison.met is False]
    if missed:
        print(f"Missed: {'; '.join(missed)}.")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
