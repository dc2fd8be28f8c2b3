# SPDX-License-Identifier: Apache-2.0
"""Varve on Cassandra, measured on one real node that is fetched and started here: writing and bytes on
disk, reading, tiers beside raw points, and the CQL client alone. Figures of the server are its own CPU
seconds and bytes.

Exit code 77 when Cassandra cannot be had.
"""
import argparse
import json
import pathlib
import sys

import cassandra_client
import cassandra_node
import cassandra_reading
import cassandra_table
import cassandra_tiers
import cassandra_writing
import common

EXIT_SKIPPED = 77
PARTS = ("client", "reading", "tiers", "writing")  # writing is the last: its node ends in the future


def parts_of(text):
    parts = text.split(",")
    if not set(parts) <= set(PARTS):
        raise argparse.ArgumentTypeError(f"some of {', '.join(PARTS)}")
    return parts


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="a small run, for a look; kept only with --output")
    parser.add_argument("--only", type=parts_of, default=list(PARTS), metavar="PART,PART",
                        help=f"of {', '.join(PARTS)}; kept only with --output")
    parser.add_argument("--repeats", type=int, metavar="N", help="of each case (3; quick: 1)")
    parser.add_argument("--heap-mb", type=int, default=4096, metavar="N", help="of Java (4096)")
    parser.add_argument("--output", metavar="FILE", type=pathlib.Path,
                        help="JSON; a table in Markdown goes beside it (bench/results/cassandra.json)")
    parser.add_argument("--json", action="store_true", help="print the JSON instead of a table")
    return parser.parse_args()


def measure(options):
    """Returns the rows of all parts, and their figures."""
    repeats = options.repeats or (1 if options.quick else 3)
    rows, figures = [], {}
    with common.Step("starting Cassandra"):
        node = cassandra_node.Node(options.heap_mb).start()
    with node:
        for part in PARTS:
            if part not in options.only:
                continue
            if part == "client":
                found = cassandra_client.run(node, options.quick, repeats)
            elif part == "reading":
                found = cassandra_reading.run(node, options.quick)
            elif part == "tiers":
                found = cassandra_tiers.run(node, options.quick)
            else:
                found = cassandra_writing.run(node, options.quick, repeats)
            rows += found[0]
            figures[part] = found[1]
    return rows, figures


def main():
    options = arguments()
    try:
        rows, figures = measure(options)
    except cassandra_node.Unreachable as error:
        print(f"SKIPPED: no Cassandra here: {error}", file=sys.stderr)
        return EXIT_SKIPPED
    whole = not options.quick and set(options.only) == set(PARTS)
    document = common.document("cassandra", rows, cassandra=cassandra_node.VERSION,
                               heap_mb=options.heap_mb, quick=options.quick, figures=figures)
    path = options.output or (common.RESULTS / "cassandra.json" if whole else None)
    if path:
        common.write_document(document, path)
        path.with_suffix(".md").write_text(cassandra_table.markdown(document))
    if options.json:
        print(json.dumps(document, indent=1))
    else:
        common.print_rows(rows)
    failed = [row["measure"] for row in rows if row["holds"] is False]
    for measure_name in failed:
        print(f"below its bar: {measure_name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
