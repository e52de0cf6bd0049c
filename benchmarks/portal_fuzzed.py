"""Requests made of the portal's own description, right ones and wrong ones: does any break it?

``python -m benchmarks.portal_fuzzed [EXAMPLES]``: Schemathesis at every route of the interface for
programs, with guessed ids and a real one, by a user who may submit; on SQLite and PostgreSQL.
"""

import sys
import tempfile
import warnings
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from builders.fuzzed_api import fuzz
from builders.portal import make_person, make_tiny_benchmark, open_site, signed_in
from builders.postgres import postgres_server

EXAMPLES = 300


def main(examples: int = EXAMPLES) -> None:
    """Send them, and print what was answered."""
    warnings.simplefilter("ignore")
    print("| database | requests | answers | 5xx, or not described |\n|---|---|---|---|")
    for name in ("SQLite", "PostgreSQL"):
        started = postgres_server() if name == "PostgreSQL" else nullcontext()
        with tempfile.TemporaryDirectory() as folder, started as server:
            site = open_site(Path(folder), "" if server is None else server.new_database())
            benchmark = make_tiny_benchmark(site, make_person(site, "olga", "organiser"))
            make_person(site, "ada", "participant")
            report = fuzz(site, signed_in(site, "ada"), benchmark, examples)
            site.database.close()
        answers = ", ".join(
            f"{count} × {status}" for status, count in sorted(report.statuses.items())
        )
        print(f"| {name} | {report.requests:,} | {answers} | {len(report.wrong)} |")
        for problem in report.wrong[:20]:
            print(problem, file=sys.stderr)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
