"""Print how ours compares with its peers on CENSUS; exit 1 if a target is missed."""

import sys

try:
    import accuracy
    import browsing
    import concluding
    import importing
    import mining
    import perturbing
    from halftruth_collector.cli.output import print_table
except ImportError as error:
    if (error.name or "").startswith("halftruth"):
        raise
    print(f"{error}: 'make bench' installs what the benchmarks need", file=sys.stderr)
    sys.exit(2)

HEADER = ["ours : peer", "ours", "peer", "ratio (min / median / max)", "target", "met"]

notes = ["Ratios with a target ≥ are of speed, those with ≤ of time."]
comparisons = [
    *perturbing.many_records(),
    *perturbing.one_record(),
    *mining.itemsets(notes),
    *concluding.rules(notes),
    *concluding.likelihood(),
    *importing.fresh_interpreter(),
]
print_table(HEADER, [comparison.row() for comparison in comparisons])
print("", *notes, sep="\n")
print("\nRoot-mean-square error of supports on CENSUS at 19, percentage points, by length:")
print_table(*accuracy.errors_by_length())
print()
pages = list(browsing.figures())
print_table(
    ["in the browser, medians", "ms", "target", "met"],
    [[name, f"{ms:.3g}", f"≤ {most:g}", "yes" if ms <= most else "NO"] for name, ms, most in pages],
)
missed = any(ms > most for _, ms, most in pages)
sys.exit(missed or any(comparison.missed for comparison in comparisons))
