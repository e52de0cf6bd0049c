"""nodulebench detect: the candidate detectors of LUNA16 on a CT scan or a whole test set."""

from contextlib import nullcontext
from pathlib import Path

import click

from nodulebench.cli.options import (
    COUNT,
    OwnKey,
    call_with,
    executor_options,
    option,
    own_key_options,
    weights_option,
)
from nodulebench.cli.terminal import ProgressLine
from nodulebench.core.executor import ExecutorChoice


class _ListsDetectors(click.Command):
    """Its help ends with all detectors and networks, those of other packages too."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        from nodulebench.detection.catalogue import known_detectors, scoring_networks

        with formatter.section("Systems, detectors and networks that find"):
            formatter.write_text(", ".join(known_detectors()))
        with formatter.section("Networks that score, in addition to these"):
            formatter.write_text(", ".join(scoring_networks()))


@click.command("detect", cls=_ListsDetectors)
@click.argument("name")
@click.argument("case", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the submission.",
)
@option("--case-id", str, "", "Name of the case; default: its file, or series UID.")
@click.option("--most", type=COUNT, help="Write at most so many marks per scan.")
@option(
    "--place",
    ["best", "mean"],
    "best",
    "Position of a candidate of several detectors: that of the best of them, or the mean of their "
    "marks, as in LUNA16.",
)
@weights_option
@option(
    "--fold",
    ["auto", "none", *map(str, range(10))],
    "auto",
    "Score with weights that never saw this fold of LUNA16; auto: the scan's own fold, where "
    "the weights were trained on something of it; none: weights of all folds.",
)
@executor_options("2", "Scans of a test set at the same time.", before="--processes")
@own_key_options()
def command(
    name: str, case: Path, out: Path, own_key: OwnKey, executor: ExecutorChoice, **given: object
) -> int:
    r"""Let the detector NAME mark the scan CASE, and write its marks as a submission.

    NAME is a detector, or several of them joined by '+': candidates closer than 5 mm are merged,
    the two nearest first. A network in NAME scores the candidates of the others, together with the
    detectors' false-positive reduction; nodulebench is five detectors and both of our networks.
    CASE is a folder or zip of DICOM, a .dcm file of many frames, a .mhd, .mha, .nii or .nii.gz
    file, or a test set: a bundle, a bag, a sealed set, or a folder with images/. Of a test set all
    scans are read; one that cannot be read is reported, counts as failed, and gives exit status 1.
    So does one with implausible lungs; its marks are written, with warnings.json.
    With --weights you use your own networks and classifiers. Of weights of several folds, those
    that never saw a scan score it.
    Encrypted images of a sealed set are decrypted case by case, for those who score on it (--key).

    \b
    nodulebench detect mot_m5lv1 scan.mhd --out marks/
    nodulebench detect isicad+etrocad phantoms/ --out marks/
    nodulebench detect nodulebench scan.mhd --out marks/
    nodulebench detect etrocad+m5l scan.mhd --weights twoscale/ --out marks/
    nodulebench evaluate marks/ --reference phantoms/ --protocol nifdc-2022
    """
    from nodulebench.core.executor import open_executor
    from nodulebench.custody import require_local_workers
    from nodulebench.custody.sealed_images import has_encrypted_images, sealed_images
    from nodulebench.detection import detect
    from nodulebench.detection.detect import require_known_fold
    from nodulebench.i18n.translator import in_english

    options = call_with(detect.DetectOptions, given)
    system = detect.system_named(name, options.weights)
    unseen = detect.fold_named(options.fold)
    require_known_fold(system, unseen)
    is_encrypted = has_encrypted_images(case)
    if not is_encrypted and not detect.is_test_set(case):
        how = (options.case_id, options.most, options.place, unseen)
        detection = detect.detect_case(detect.DetectionTask(system, case, *how))
        for stage, seconds in detection.stages:
            click.echo(f"  {stage:<12} {seconds:7.2f} s")
        parallel = ", detectors in parallel" if detection.is_parallel else ""
        memory = f"{detection.peak_memory_mb:.0f} MB at most"
        click.echo(f"  {'total':<12} {detection.seconds:7.2f} s{parallel}, {memory}")
        detections = [detection]
    else:
        if options.case_id:
            raise click.UsageError("--case-id names one case; a test set has its own names.")
        if is_encrypted:
            require_local_workers(case, is_ours=executor.is_ours)
        source = sealed_images(case, own_key.required()) if is_encrypted else nullcontext(None)
        opened = open_executor(executor, 2, is_guarded=True)
        with source as images, ProgressLine() as shown, opened as workers:
            detections = detect.detect_set(
                system,
                case,
                executor=workers,
                most_marks=options.most,
                place=options.place,
                fold=unseen,
                source=images,
                progress=shown.tell,
            )
    detect.write_detections(system, detections, out)
    failed = [detection for detection in detections if detection.problem]
    for name, warning in detect.warnings_of(detections):
        click.echo(f"warning: {name}: {in_english(warning)}", err=True)
    marks = sum(detection.marks.height for detection in detections)
    read = len(detections) - len(failed)
    click.echo(f"wrote {out}: {marks} marks on {read} scan{'' if read == 1 else 's'}")
    if options.weights or any(detection.fold is not None for detection in detections):
        click.echo(f"weights trained on {detect.training_data(detections)}")
    for detection in failed:
        for line in detection.problem.splitlines():
            click.echo(f"error: {detection.case_id}: {line}", err=True)
    return 1 if any(detection.state != "ok" for detection in detections) else 0
