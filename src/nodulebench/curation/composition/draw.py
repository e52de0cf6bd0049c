"""Table of cases + design -> the cases of a test set, drawn at random to its shares."""

from dataclasses import asdict
from pathlib import Path

from nodulebench import __version__
from nodulebench.curation.composition.design import load_design
from nodulebench.curation.composition.sampling import Sample, draw_cases
from nodulebench.io.formats import read_cases
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import write_table

SCHEMA = "nodulebench/draw@1"


def draw_files(pool: Path, design: str, count: int, seed: int, out: Path) -> Sample:
    """Draw cases from a pool and write their rows; tell how each stratum came out.

    How they were drawn is written beside them, so that it can be told and done again.

    Args:
        pool: a table of cases, or a folder that holds one.
        design: a published one, or a TOML file.
        count: how many cases.
        seed: the same seed draws the same cases.
        out: the table of those drawn.

    Raises:
        InputError: if the table or the design cannot be used.
    """
    cases, chosen = read_cases(pool), load_design(design)
    sample = draw_cases(cases, chosen.sampling, count, seed)
    write_table(cases.filter(cases["case_id"].is_in(sample.case_ids.to_list())), out)
    record = {
        "schema": SCHEMA,
        "version": __version__,
        "design": chosen.name,
        "purpose": chosen.purpose,
        "seed": seed,
        "pool": cases.height,
        "planned": count,
        "drawn": len(sample.case_ids),
        "strata": [asdict(one) for one in sample.strata],
    }
    write_json(record, draw_record(out))
    return sample


def draw_record(drawn: Path) -> Path:
    """Where it is written how the cases of a table were drawn."""
    return drawn.with_name(f"{drawn.name}.json")
