"""The smallest folder that each writing command needs before it can be broken off."""

import io
import json
import lzma
from pathlib import Path

COLUMNS = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
SCORED = "seriesuid,coordX,coordY,coordZ,probability\n"
CRITERIA = """
name = "acceptance"
[[criteria]]
metric = "recall"
rule = "luna16"
comparison = ">="
limit = 0.5
"""
DESIGN = 'name = "mine"\n[[rules]]\nname = "many"\nminimum_rows = 1\n'
TRUTH = """case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,density
a,n1,3,1.5,10,20,7,7,solid
"""
PRIORS = """case_id,nodule_id,date,prior_date,prior_diameter_mm
a,n1,2026-01-01,2025-07-01,
"""
CANDIDATES = "seriesuid,coordX,coordY,coordZ,class\nchest,-40,-20,-250,0\n"


def make_workdir(folder: Path) -> None:
    """A small LUNA16 reference, two submissions and criteria."""
    luna16 = folder / "luna16"
    luna16.mkdir(parents=True)
    (luna16 / "annotations.csv").write_text(COLUMNS + "scan1,0,0,0,8\nscan2,0,0,0,5\n")
    (luna16 / "annotations_excluded.csv").write_text(COLUMNS)
    (luna16 / "seriesuids.csv").write_text("scan1\nscan2\nscan3\n")
    (folder / "mine.csv").write_text(SCORED + "scan1,0,0,0,0.9\nscan3,80,0,0,0.4\n")
    (folder / "other.csv").write_text(SCORED + "scan2,0,0,0,0.8\nscan3,80,0,0,0.3\n")
    for scan in ("scan1", "scan2", "scan3"):
        (folder / f"{scan}.csv").write_text(SCORED + f"{scan},0,0,0,0.8\n")
    (folder / "criteria.toml").write_text(CRITERIA)
    (folder / "design.toml").write_text(DESIGN)
    (folder / "pool.csv").write_text("case_id,patient_id\na,1\nb,2\nc,3\n")


def make_set(folder: Path) -> None:
    """A bundle of two cases, a policy that names keys, and a roster of two."""
    from builders.sealed import make_lab, new_person

    folder.mkdir(parents=True)
    workdir = make_lab(folder, cases=2)
    for person in ("Bo2", "Dee", "Rep"):
        new_person(workdir, person)
    aliases = '\n[roster]\naliases = ["A1", "A2"]\n'
    policy = folder / "policy.toml"
    reporter = f'[[people]]\nname = "Rep"\nroles = ["reporter"]\nkey = "{workdir.line("Rep")}"\n\n'
    policy.write_text(policy.read_text().replace("[reuse]", f"{reporter}[reuse]") + aliases)
    workdir.marks("one.csv", "scan0")
    workdir.marks("two.csv", "scan0", "scan1")
    rows = "one.csv,Alpha Ltd,A1\ntwo.csv,Beta Ltd,A2\n"
    (folder / "roster.csv").write_text("file,developer,alias\n" + rows)


def make_archive(folder: Path) -> None:
    """Two small CT series, each with a nodule in a table of marks."""
    from builders.dicom import write_series

    uids = [write_series(folder / "archive" / name, name) for name in ("first", "second")]
    luna16 = folder / "luna16"
    luna16.mkdir()
    (luna16 / "annotations.csv").write_text(COLUMNS + f"{uids[0]},-160,-100,700,8\n")
    (luna16 / "annotations_excluded.csv").write_text(COLUMNS)
    (luna16 / "seriesuids.csv").write_text("\n".join(uids) + "\n")


def make_readings(folder: Path) -> None:
    """What readers drew, a truth with an earlier scan, and CT slices that name their patients."""
    from builders.identified_slice import identified_slice
    from builders.readings import block, read, readings
    from nodulebench.io.readings import write_findings

    four = ("1", "2", "3", "4")
    folder.mkdir(parents=True)
    drawn = (block(reader, (9, 9), (12, 12)) for reader in four)
    write_findings(readings(read("a", *drawn, readers=four)), folder / "findings")
    (folder / "truth.csv").write_text(TRUTH)
    (folder / "priors.csv").write_text(PRIORS)
    (folder / "found.csv").write_text(SCORED + "a,10,10,0,0.9\n")
    (folder / "in").mkdir()
    for number in range(1, 5):
        identified_slice(number).save_as(folder / "in" / f"{number}.dcm")
    series = str(identified_slice().SeriesInstanceUID)
    luna16 = folder / "luna16"
    luna16.mkdir()
    (luna16 / "annotations.csv").write_text(COLUMNS + f"{series},0,0,0,8\n")
    (luna16 / "annotations_excluded.csv").write_text(COLUMNS)
    (luna16 / "seriesuids.csv").write_text(series + "\n")


def make_blocks(folder: Path) -> None:
    """Ten folds with a block each, with a nodule and a crossing of vessels, for training."""
    import numpy as np

    from builders.lung_scenes import LUNG_HU, ball, rod

    shape, place = (40, 40, 40), (20.0, 18.0, 14.0)
    blocks, luna16 = folder / "blocks", folder / "luna16"
    blocks.mkdir(parents=True)
    luna16.mkdir()
    names = "block_id,seriesuid,fold,origin_x_mm,origin_y_mm,origin_z_mm,"
    names += "spacing_x_mm,spacing_y_mm,spacing_z_mm,size_x,size_y,size_z"
    rows = [f"b{fold},s{fold},{fold},0,0,0,1,1,1,40,40,40" for fold in range(10)]
    (blocks / "blocks.csv").write_text("\n".join([names, *rows]) + "\n")
    for fold in range(10):
        hu = LUNG_HU + 30.0 * np.random.default_rng(fold).standard_normal(shape)
        crossing = rod((0, 18, 30), 2.0, shape)
        for body in (ball(place, 3.0 + 0.2 * fold, shape), crossing, crossing.swapaxes(0, 1)):
            hu = np.maximum(hu, LUNG_HU + body)
        held = io.BytesIO()
        np.savez(held, **{f"b{fold}": np.clip(np.rint((hu + 1024) / 16), 0, 127).astype(np.uint8)})
        with lzma.open(blocks / f"fold{fold}.npz.xz", "wb", preset=0) as file:
            file.write(held.getvalue())
    at = "14,18,20"
    nodules = "".join(f"s{fold},{at},7\n" for fold in range(10))
    (luna16 / "annotations.csv").write_text(COLUMNS + nodules)
    (luna16 / "annotations_excluded.csv").write_text(COLUMNS)
    (luna16 / "seriesuids.csv").write_text("".join(f"s{fold}\n" for fold in range(10)))


def make_chest(folder: Path) -> None:
    """A scan of a small chest, and a program that marks the same place in any."""
    from builders.made_up_chest import made_up_chest
    from nodulebench.io.images.metaimage import write_volume

    folder.mkdir(parents=True)
    write_volume(made_up_chest(), folder / "chest.mhd")
    (folder / "marks.csv").write_text(SCORED + "chest,-40,-20,-250,0.5\n")
    (folder / "finder.sh").write_text("cp marks.csv $2\n")


def make_algorithm(folder: Path) -> None:
    """An algorithm in a folder, two small scans for it, and the key of its developer."""
    from builders.algorithms import algorithm_folder, images_set
    from nodulebench.security.keys import new_person_key

    algorithm_folder(folder / "my_cad")
    new_person_key(folder / "dev")
    images_set(folder / "set", cases=2)


def make_network(folder: Path) -> None:
    """A scan, candidates in it, and an untrained network."""
    from nodulebench.detection.networks import NETWORKS
    from nodulebench.detection.networks.cards import ModelCard
    from nodulebench.detection.networks.weights import write_weights

    make_chest(folder)
    (folder / "candidates.csv").write_text(CANDIDATES)
    write_weights(
        folder / "w.safetensors",
        NETWORKS["m5lcad"].build(),
        ModelCard("m5lcad", 0, 1, "noise", "", (1,)),
    )


def make_observers(folder: Path) -> None:
    """Marks that readers rate, their answers, an exam, and ratings of two ways of reading."""
    from builders.annotation import small_cases
    from builders.tables import Slice, case, mark, nodule, reference, submission
    from nodulebench.io.marks.nifdc import write_marks, write_reference

    make_workdir(folder)
    small_cases("a").write_csv(folder / "cases.csv")
    boxes = [Slice(3, 50, 50, 8, 8), Slice(9, 20, 20, 6, 6)]
    drawn = [mark(None, (box.x, box.y, box.index), box) for box in boxes]
    nodules = (nodule(8, (50, 50, 3), boxes[0]), nodule(6, (20, 20, 9), boxes[1]))
    write_reference(reference(case("a", *nodules)), folder / "key.csv")
    for person, seen in (("lee", drawn), ("kim", drawn[:1]), ("ann", drawn)):
        write_marks(submission(case("a", *seen)), folder / f"{person}.csv")
    calls = [f"scan3,3,r{reader},nodule,{4 + reader}" for reader in range(4)]
    header = "case_id,mark_id,reader_id,call,diameter_mm"
    (folder / "calls.csv").write_text("\n".join([header, *calls]) + "\n")
    (folder / "own.csv").write_text("case_id,mark_id,call,diameter_mm\nscan3,3,nodule,4\n")
    rows = ["treatment,reader_id,case_id,rating,is_abnormal"]
    rows += [
        f"way {way},reader {reader},case {number},{(7 * number + reader + way) % 5},{number % 2}"
        for way in range(2)
        for reader in range(3)
        for number in range(12)
    ]
    (folder / "ratings.csv").write_text("\n".join(rows) + "\n")


def make_panel(folder: Path, *, has_keys: bool = False) -> None:
    """What people bring to an annotation project: a roster, cases, readings and answers."""
    import polars as pl

    from builders.annotation_project import LONE, MISSED, SHARED, Panel
    from nodulebench.security.keys import new_person_key

    folder.mkdir(parents=True)
    panel = Panel(folder, has_keys).start("a", "b")
    (panel.project / "cases.csv").rename(folder / "cases.csv")
    people = json.loads((panel.project / "project.json").read_text())["roster"]
    (panel.project / "project.json").unlink()
    panel.project.rmdir()
    zoe = {"person_id": "zoe", "roles": ["commission"]}
    zoe |= {"key": new_person_key(folder / "zoe").line} if has_keys else {}
    people["people"].append(zoe)
    lines = []
    for kind, rows in people.items():
        for row in rows:
            lines.append(f"[[{kind}]]")
            lines += [f"{name} = {json.dumps(value)}" for name, value in row.items() if value]
    (folder / "roster.toml").write_text("\n".join(lines))
    (folder / "lidc.toml").write_text("\n".join([*lines, "[rules]", "readers = 3"]))
    for person, boxes in {"r1": [SHARED, LONE], "r2": [SHARED], "r3": [SHARED]}.items():
        panel.file(person, {"a": boxes[:1], "b": boxes})
    panel.file("corrected", {"a": [SHARED]})
    typed = panel.file("lead2", {"a": [MISSED], "b": [MISSED]})
    pl.read_csv(typed).with_columns(type=pl.lit("solid")).write_csv(typed)
    names = "case_id,candidate_id"
    (folder / "types.csv").write_text(f"{names},type\nb,candidate-1,solid\nb,candidate-2,solid\n")


def make_keyed_panel(folder: Path) -> None:
    """The same, where everybody has a key."""
    from nodulebench.security.keys import new_person_key

    make_panel(folder, has_keys=True)
    new_person_key(folder / "new")
