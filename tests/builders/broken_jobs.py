"""Commands that write, as jobs to break off: what has to be there before, what they leave."""

import io
import lzma
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from nodulebench.errors import InputError
from nodulebench.storage.keys.person_key import read_private_key
from nodulebench.storage.staging import UNFINISHED
from nodulebench.storage.vault import person_secret, read_key_file
from nodulebench.workflows.custody.sealed_set import open_sealed
from nodulebench.workflows.custody.verify_sealed import verify_sealed

COLUMNS = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
SCORED = "seriesuid,coordX,coordY,coordZ,probability\n"
CRITERIA = """
name = "acceptance"
[[criteria]]
figure = "recall"
rule = "luna16"
comparison = ">="
limit = 0.5
"""
DESIGN = 'name = "mine"\n[[rules]]\nname = "many"\nminimum_rows = 1\n'
EVALUATE = "evaluate {} --reference luna16 --bootstraps 10 --out result"
CHANCE = re.compile("[0-9a-f]{32,}|[0-9.]{30,}|P-[0-9A-F]{10}|(?<=results/)[0-9]{8}")
"""Digests, UIDs, pseudonyms, the numbers of events: other ones in every run."""
TRUTH = """case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,density
a,n1,3,1.5,10,20,7,7,solid
"""
PRIORS = """case_id,nodule_id,date,prior_date,prior_diameter_mm
a,n1,2026-01-01,2025-07-01,
"""


def make_desk(folder: Path) -> None:
    """A small LUNA16 reference, two submissions and criteria."""
    luna16 = folder / "luna16"
    luna16.mkdir(parents=True)
    (luna16 / "annotations.csv").write_text(COLUMNS + "scan1,0,0,0,8\nscan2,0,0,0,5\n")
    (luna16 / "annotations_excluded.csv").write_text(COLUMNS)
    (luna16 / "seriesuids.csv").write_text("scan1\nscan2\nscan3\n")
    (folder / "mine.csv").write_text(SCORED + "scan1,0,0,0,0.9\nscan3,80,0,0,0.4\n")
    (folder / "other.csv").write_text(SCORED + "scan2,0,0,0,0.8\nscan3,80,0,0,0.3\n")
    (folder / "criteria.toml").write_text(CRITERIA)
    (folder / "design.toml").write_text(DESIGN)
    (folder / "pool.csv").write_text("case_id,patient_id\na,1\nb,2\nc,3\n")


def make_set(folder: Path) -> None:
    """A bundle of two cases, a policy that names keys, one that does not, and a roster of two."""
    from builders.keyed import make_keyed_desk, new_person
    from builders.sealed import POLICY

    folder.mkdir(parents=True)
    desk = make_keyed_desk(folder, cases=2)
    for person in ("Bo2", "Dee", "Rep"):
        new_person(desk, person)
    aliases = '\n[roster]\naliases = ["A1", "A2"]\n'
    (folder / "old.toml").write_text(POLICY + aliases)
    policy = folder / "policy.toml"
    reporter = f'[[people]]\nname = "Rep"\nroles = ["reporter"]\nkey = "{desk.line("Rep")}"\n\n'
    policy.write_text(policy.read_text().replace("[reuse]", f"{reporter}[reuse]") + aliases)
    desk.marks("one.csv", "scan0")
    desk.marks("two.csv", "scan0", "scan1")
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
    from nodulebench.formats.findings_tables import write_findings

    four = ("1", "2", "3", "4")
    folder.mkdir(parents=True)
    drawn = (block(reader, (9, 9), (12, 12)) for reader in four)
    write_findings(readings(read("a", *drawn, readers=four)), folder / "findings")
    (folder / "truth.csv").write_text(TRUTH)
    (folder / "priors.csv").write_text(PRIORS)
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
        for thing in (ball(place, 3.0 + 0.2 * fold, shape), crossing, crossing.swapaxes(0, 1)):
            hu = np.maximum(hu, LUNG_HU + thing)
        held = io.BytesIO()
        np.savez(held, **{f"b{fold}": np.clip(np.rint((hu + 1024) / 16), 0, 127).astype(np.uint8)})
        with lzma.open(blocks / f"fold{fold}.npz.xz", "wb", preset=0) as file:
            file.write(held.getvalue())
    at = "14,18,20"
    nodules = "".join(f"s{fold},{at},7\n" for fold in range(10))
    (luna16 / "annotations.csv").write_text(COLUMNS + nodules)
    (luna16 / "annotations_excluded.csv").write_text(COLUMNS)
    (luna16 / "seriesuids.csv").write_text("".join(f"s{fold}\n" for fold in range(10)))


@dataclass(frozen=True)
class Job:
    """A command that writes, what has to be there before, and how its result is looked at."""

    command: str
    out: str
    before: tuple[str, ...] = ()
    check: str = ""
    """A command that ends well on a whole result, be it the old or the new one."""
    desk: Callable[[Path], None] = make_desk
    is_change: bool = False
    """Whether a run that was stopped is completed by whoever comes next."""
    is_step: bool = False
    """Whether the command, given again after it was done, takes a further step."""
    uncounted: tuple[str, ...] = ()
    """How names begin of which every run may write one more."""


def receive(archive: Path, folder: Path) -> int:
    """Keep every file of an archive as a listener does that is sent it; 1 if one is refused."""
    import pydicom

    from nodulebench.curate.intake.listen import _stored

    refused = []
    for path in sorted(archive.rglob("*.dcm")):
        sent = pydicom.dcmread(path)
        event = SimpleNamespace(dataset=sent, file_meta=sent.file_meta)
        if _stored(event, folder, lambda told: sys.stdout.write(f"error: {told}\n")):
            refused.append(path)
    return int(bool(refused))


def open_set(sealed: Path) -> int:
    """Open a sealed set, with a key of one's own or with the secret of all, and verify it."""
    secret = read_key_file(Path("vault.key")) if Path("vault.key").exists() else None
    try:
        open_sealed(sealed, person_secret(read_private_key(Path("cem.key"))), "", None)
    except InputError:
        if secret is None:
            raise
        open_sealed(sealed, secret, "Cem", None)
    problems = verify_sealed(sealed).problems
    sys.stdout.write("\n".join(map(str, problems)))
    return int(bool(problems))


def state(folder: Path, uncounted: tuple[str, ...] = ()) -> list[str]:
    """The names of files that count, without chance; locks and what killed runs left do not."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_left = any(UNFINISHED.fullmatch(part) for part in name.parts)
        if path.is_file() and not is_left and not re.fullmatch(r"\..+\.lock", path.name):
            found.append(CHANCE.sub("#", name.as_posix()))
    return sorted(one for one in found if not one.startswith(uncounted))


PLAIN = {
    "evaluate": Job(EVALUATE.format("mine.csv"), "result", (), "verify result"),
    "evaluate --force": Job(
        EVALUATE.format("other.csv --force"),
        "result",
        (EVALUATE.format("mine.csv"),),
        "verify result",
    ),
    "compare": Job(
        "compare result --baseline mine --bootstraps 10 --permutations 10",
        "result",
        (EVALUATE.format("mine.csv other.csv"),),
        "verify result",
    ),
    "report": Job(
        "report result --for developer --algorithm mine",
        "result",
        (EVALUATE.format("mine.csv"),),
        "verify result",
    ),
    "sign": Job(
        "sign result --key key.pem --by Laboratory",
        "result",
        (EVALUATE.format("mine.csv"), "sign --new-key key.pem"),
        "verify result",
    ),
    "sign anew": Job(
        "sign result --key key.pem --by Laboratory",
        "result",
        (
            EVALUATE.format("mine.csv"),
            "sign --new-key key.pem",
            "sign --new-key older.pem",
            "sign result --key older.pem --by Before",
        ),
        "verify result",
    ),
    "sign --new-key": Job("sign --new-key key.pem", "key.pem key.pub.pem"),
    "test-plan freeze": Job(
        "test-plan freeze --criteria criteria.toml --reference luna16 --out plan.json "
        "--bootstraps 10",
        "plan.json",
        (),
        "evaluate mine.csv --reference luna16 --plan plan.json",
    ),
    "bundle": Job("bundle luna16 --out bag", "bag", (), "verify bag"),
    "convert to a table": Job(
        "convert mine.csv mine.nifdc.csv --to luna16_csv --what marks", "mine.nifdc.csv"
    ),
    "convert to a folder": Job(
        "convert mine.csv folder --to submission_folder --what marks",
        "folder",
        (),
        "evaluate folder --reference luna16 --bootstraps 10",
    ),
    "combine": Job("combine mine.csv other.csv --reference luna16 --out both.csv", "both.csv"),
    "draw": Job(
        "draw pool.csv --design design.toml --count 2 --seed 1 --out drawn.csv", "drawn.csv"
    ),
    "coverage": Job("coverage luna16 --design design.toml --out composition", "composition"),
    "conformance export": Job("conformance export golden", "golden"),
}
OPEN = "open sealed"
SEAL = "seal bundle --key ada.key --policy policy.toml --out sealed"
ROSTER = "evaluate --roster roster.csv --reference sealed --bootstraps 10 --key bo.key --out told"
VERIFY = "verify sealed --key safe.key"
DEIDENTIFY = "deidentify in --out clean --key-table who.keys --vault-key vault.key"


def change(command: str, *before: str, is_step: bool = False) -> Job:
    """A change of a sealed set."""
    return Job(
        *(f"custody {command}", "sealed", (SEAL, *before), OPEN, make_set, not is_step, is_step)
    )


CUSTODY = {
    "seal": Job(SEAL, "sealed", (), VERIFY, make_set),
    "seal --encrypt-images": Job(f"{SEAL} --encrypt-images", "sealed", (), VERIFY, make_set),
    "seal --new-vault-key": Job("seal --new-vault-key vault.key", "vault.key"),
    "custody new-key": Job("custody new-key me.key", "me.key me.key.pub"),
    "custody admit": change(
        "admit sealed --key safe.key --person Dee --role auditor --new-key dee.key.pub"
    ),
    "custody rotate": change("rotate sealed --key bo.key --new-key bo2.key.pub"),
    "custody revoke": change("revoke sealed --key safe.key --person Bo --reason stolen"),
    "custody rekey": change("rekey sealed --key safe.key", ROSTER, is_step=True),
    "custody retire": change("retire sealed --key ada.key --reason done"),
    "custody withdraw": change("withdraw sealed --key ada.key --case scan1 --reason left"),
    "custody migrate": Job(
        "custody migrate sealed --vault-key vault.key --as Ada --key ada.key "
        "--policy policy.toml --signing-key key.pem",
        "sealed",
        (
            "seal --new-vault-key vault.key",
            "seal bundle --key key.pem --vault-key vault.key --policy old.toml --as Ada "
            "--out sealed",
        ),
        OPEN,
        make_set,
        is_change=True,
    ),
    "evaluate --roster": Job(
        ROSTER,
        "sealed told",
        (SEAL,),
        VERIFY,
        make_set,
        uncounted=("sealed/audit", "sealed/results"),
    ),
    "report of kept results": Job(
        "report sealed --key rep.key --out study",
        "study sealed",
        (SEAL, ROSTER),
        VERIFY,
        make_set,
        uncounted=("sealed/audit",),
    ),
    "compare of kept results": Job(
        "compare sealed --key rep.key --baseline A1 --bootstraps 10 --permutations 10 --out study",
        "study sealed",
        (SEAL, ROSTER),
        VERIFY,
        make_set,
        uncounted=("sealed/audit",),
    ),
}
CURATE = "curate archive --out curated --processes 1"
IMAGES = {
    "curate": Job(CURATE, "curated", (), "", make_archive),
    "curate --export": Job(f"{CURATE} --export cases", "curated cases", (), "", make_archive),
    "bundle --curated": Job(
        "bundle luna16 --curated curated --out bag", "bag", (CURATE,), "verify bag", make_archive
    ),
    "receive": Job("receive", "received", (), "", make_archive),
    "phantom": Job(
        "phantom made --cases 1 --matrix 64 --thickness 7 --no-masks",
        "made",
        (),
        "coverage made --design design.toml",
    ),
    "train": Job(
        "train etrocad --blocks blocks --reference luna16 --out weights.npz",
        "weights.npz",
        (),
        "",
        make_blocks,
    ),
    "deidentify": Job(
        DEIDENTIFY,
        "clean who.keys who.keys.quarantine.csv",
        ("seal --new-vault-key vault.key",),
        "deidentify --show-keys --key-table who.keys --vault-key vault.key",
        make_readings,
    ),
    "deidentify --jobs 2": Job(
        f"{DEIDENTIFY} --jobs 2",
        "clean who.keys who.keys.quarantine.csv",
        ("seal --new-vault-key vault.key",),
        "",
        make_readings,
    ),
    "reference build": Job(
        "reference build findings --out built --findings drawn",
        "built drawn",
        (),
        "",
        make_readings,
    ),
    "reference build, again": Job(
        "reference build findings --out built",
        "built",
        ("reference build findings --out built --set minimum_agreement=4",),
        "reference compare built built",
        make_readings,
    ),
    "reference rename": Job(
        "reference rename luna16 --key-table who.keys --vault-key vault.key --out renamed",
        "renamed",
        ("seal --new-vault-key vault.key", DEIDENTIFY),
        "",
        make_readings,
    ),
    "reference priors": Job(
        "reference priors truth.csv priors.csv --out judged", "judged", (), "", make_readings
    ),
}
