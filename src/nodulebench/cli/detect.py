"""nodulebench detect: the candidate detectors of LUNA16 on a CT scan or a whole test set."""

from contextlib import nullcontext
from pathlib import Path

import click

from nodulebench.cli.options import (
    COUNT,
    EXISTING,
    NEW_FOLDER,
    OwnKey,
    call_with,
    executor_options,
    option,
    own_key_options,
    weights_option,
)
from nodulebench.cli.terminal import ProgressLine, print_done
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
@click.argument("case", type=EXISTING)
@click.option("--out", required=True, type=NEW_FOLDER, help="Folder for the marks.")
@option("--case-id", str, "", "Name of the case.  [default: its file name or series UID]")
@click.option("--max-marks", "most", type=COUNT, help="Largest number of marks per scan.")
@option(
    "--position",
    ["best", "mean"],
    "best",
    "Position of a merged candidate: that of the highest score, or the mean (LUNA16).",
    to="place",
)
@weights_option
@option(
    "--fold",
    ["auto", "none", *map(str, range(10))],
    "auto",
    "Use weights that were not trained on this LUNA16 fold; auto chooses the scan's fold.",
)
@executor_options("2")
@own_key_options()
def command(
    name: str, case: Path, out: Path, own_key: OwnKey, executor: ExecutorChoice, **given: object
) -> int:
    r"""Find nodule candidates in CASE with the detector NAME.

    NAME is a detector, or several joined by '+': candidates closer than 5 mm are merged, the
    nearest pairs first. A network in NAME scores the candidates of the others, in addition to the
    detectors' false-positive reduction. 'nodulebench' is five detectors and two networks.
    CASE is a folder or zip of DICOM, a .dcm file of many frames, a .mhd, .mha, .nii or .nii.gz
    file, or a test set: a bundle, a bag, a sealed set, or a folder with images/. Of a test set all
    scans are read; one that cannot be read is reported, counts as failed, and gives exit status 1.
    So does one with implausible lungs; its marks are written, with warnings.json.
    Encrypted images of a sealed set are decrypted case by case with --key.

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
    print_done(f"wrote {out}: {marks} marks on {read} scan{'' if read == 1 else 's'}")
    if options.weights or any(detection.fold is not None for detection in detections):
        click.echo(f"weights trained on {detect.training_data(detections)}")
    for detection in failed:
        for line in detection.problem.splitlines():
            click.echo(f"error: {detection.case_id}: {line}", err=True)
    return 1 if any(detection.state != "ok" for detection in detections) else 0
