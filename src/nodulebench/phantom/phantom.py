"""Number and seed -> a test set of synthetic chest CT on disk, whose nodules are known exactly."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.core.executor import HERE, Engine, Lost, Terms, in_order
from nodulebench.core.progress import Progress, untold
from nodulebench.core.tables import Reference
from nodulebench.i18n.translator import english
from nodulebench.phantom.patient import People
from nodulebench.phantom.test_set import Form, Recipe, ScanPlan, WrittenScan, write_truth

TERMS = Terms(seconds=3600.0, memory_bytes=None, preload=("nodulebench.phantom.test_set",))


def make_phantoms(
    out: Path,
    cases: int,
    seed: int,
    *,
    people: People,
    matrix: int,
    thickness: float | None,
    kernel: str | None,
    dose: float | None,
    has_follow_up: bool,
    image_formats: Sequence[str],
    has_masks: bool,
    engine: Engine = HERE,
    progress: Progress = untold,
) -> Reference:
    """Write the scans of synthetic patients and what is known of them; return that.

    A patient follows from seed and number alone, so that it does not matter who makes whom.

    Raises:
        InputError: if the folder cannot be written to, or whoever made a patient was lost.
    """
    recipe = Recipe(seed, matrix, has_follow_up, ScanPlan(thickness, kernel, dose), people)
    form = Form(tuple(image_formats), has_masks)

    def write(stage: Path) -> Iterator[WrittenScan]:
        task = partial(write_patient, recipe=recipe, form=form, stage=stage.resolve())
        for number, found in in_order(engine.map(task, range(1, cases + 1), TERMS)):
            if isinstance(found, Lost):
                what = f"was not made: {english(found.why)}."
                raise InputError.at(f"patient {number + 1}", what, "Make them again.")
            yield from found

    return write_truth(out, form, write, progress)


def write_patient(number: int, recipe: Recipe, form: Form, stage: Path) -> list[WrittenScan]:
    """Make and write the scans of a patient."""
    return [form.write(scan, stage) for scan in recipe.scans_of(number)]
