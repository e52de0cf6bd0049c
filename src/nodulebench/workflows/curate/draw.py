"""Table of cases + design -> the cases of a test set, drawn at random to its shares."""

from pathlib import Path

from nodulebench.curate.composition.design import load_design
from nodulebench.curate.composition.sampling import Sample, draw_cases
from nodulebench.formats import read_cases
from nodulebench.storage.table_file import write_table


def draw_files(pool: Path, design: str, count: int, seed: int, out: Path) -> Sample:
    """Draw cases from a pool and write their rows; tell how each stratum came out.

    The pool is a table of cases, or a folder that holds one.

    Raises:
        InputError: if the table or the design cannot be used.
    """
    cases = read_cases(pool)
    sample = draw_cases(cases, load_design(design).sampling, count, seed)
    write_table(cases.filter(cases["case_id"].is_in(sample.case_ids.to_list())), out)
    return sample
