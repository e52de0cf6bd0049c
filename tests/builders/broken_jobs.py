"""Commands that write, as jobs to break off: what has to be there before, what they leave."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from builders.broken_folders import (
    make_algorithm,
    make_archive,
    make_blocks,
    make_chest,
    make_keyed_panel,
    make_network,
    make_observers,
    make_panel,
    make_readings,
    make_set,
    make_workdir,
)


@dataclass(frozen=True)
class Job:
    """A command that writes, what has to be there before, and how its result is looked at."""

    command: str
    out: str
    before: tuple[str, ...] = ()
    check: str = ""
    """A command that ends well on a whole result, be it the old or the new one."""
    folder: Callable[[Path], None] = make_workdir
    is_change: bool = False
    """Whether the next command completes a run that was stopped."""
    is_step: bool = False
    """Whether the command, given again after it was done, takes a further step."""
    uncounted: tuple[str, ...] = ()
    """How names begin of which every run may write one more."""
    step: int = 1
    """How many operations lie between two tries, where each takes seconds."""
    code: int = 0
    """How a good run ends: 1 where it warns of what it was given."""
    has_workers: bool = False
    """Whether it starts what does not go together with other runs in one process."""


EVALUATE = "evaluate {} --reference luna16 --bootstraps 10 --out result"
RESULT = ("result", (EVALUATE.format("mine.csv"),), "verify result")
SIGN = "sign result --key key.pem --by Laboratory"
NEW_KEY = "keys new key.pem --pem"
PACK = "platform pack codabench --reference luna16 --out packed"
SCORE = (
    "platform score codabench --marks mine.csv --reference packed/reference_data "
    "--protocol packed/scoring_program/protocol.toml"
)
RESULTS = {
    "evaluate": Job(EVALUATE.format("mine.csv"), "result", (), "verify result"),
    "evaluate --force": Job(EVALUATE.format("other.csv --force"), *RESULT),
    "compare": Job(
        "compare result --baseline mine --bootstraps 10 --permutations 10",
        "result",
        (EVALUATE.format("mine.csv other.csv"),),
        "verify result",
    ),
    "report": Job("report result --for developer --algorithm mine", *RESULT),
    "report --pdf": Job("report result --pdf", *RESULT),
    "sign": Job(SIGN, "result", (EVALUATE.format("mine.csv"), NEW_KEY), "verify result"),
    "sign, signed before": Job(
        SIGN,
        "result",
        (
            EVALUATE.format("mine.csv"),
            NEW_KEY,
            "keys new older.pem --pem",
            "sign result --key older.pem --by Before",
        ),
        "verify result",
    ),
    "keys new --pem": Job(NEW_KEY, "key.pem key.pub.pem"),
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
    "combine": Job(
        "combine mine.csv other.csv --reference luna16 --out both.csv --table each.csv",
        "both.csv each.csv",
    ),
    "folds make": Job("folds make folds.csv --reference luna16 --count 3", "folds.csv"),
    "folds merge": Job(
        "folds merge scan1.csv scan2.csv scan3.csv --folds folds.csv --out merged.csv",
        *("merged.csv", ("folds make folds.csv --reference luna16 --count 3",)),
    ),
    "sample": Job(
        "sample pool.csv --design design.toml --count 2 --seed 1 --out drawn.csv", "drawn.csv"
    ),
    "coverage": Job("coverage luna16 --design design.toml --out composition", "composition"),
    "conformance export": Job("conformance export golden", "golden"),
    "platform pack": Job(
        PACK, "packed", (), "evaluate mine.csv --reference packed/reference_data --bootstraps 10"
    ),
    "platform score": Job(f"{SCORE} --out scores.json", "scores.json", (PACK,)),
}
OPEN = "open sealed"
SEAL = "seal bundle --key ada.key --policy policy.toml --out sealed"
ROSTER = (
    "evaluate --submissions roster.csv --reference sealed --bootstraps 10 --key bo.key --out result"
)
VERIFY = "verify sealed --key safe.key"


def change(command: str, *before: str, is_step: bool = False) -> Job:
    """A change of a sealed set."""
    return Job(*(command, "sealed", (SEAL, *before), OPEN, make_set, not is_step, is_step))


def use(command: str, out: str, *before: str) -> Job:
    """A use of a sealed set: each try is in its log, and each evaluation stores its result."""
    grows = ("sealed/audit", *(("sealed/results",) if command.startswith("evaluate") else ()))
    return Job(command, out, (SEAL, *before), VERIFY, make_set, uncounted=grows)


CUSTODY = {
    "seal": Job(SEAL, "sealed", (), VERIFY, make_set),
    "seal --encrypt-images": Job(f"{SEAL} --encrypt-images", "sealed", (), VERIFY, make_set),
    "unseal": use("unseal sealed --key ada.key --reason new --out plain", "plain sealed"),
    "unseal --evaluation": use("unseal sealed --key cem.key --evaluation 2", "sealed", ROSTER),
    "audit --write-checkpoint": use(
        "audit sealed --write-checkpoint far.checkpoint --key cem.key", "far.checkpoint sealed"
    ),
    "keys new": Job("keys new me.key", "me.key me.key.pub"),
    "keys admit": change(
        "keys admit sealed --key safe.key --person Dee --role auditor --new-key dee.key.pub"
    ),
    "keys rotate": change("keys rotate sealed --key bo.key --new-key bo2.key.pub"),
    "keys revoke": change("keys revoke sealed --key safe.key --person Bo --reason stolen"),
    "keys rekey": change("keys rekey sealed --key safe.key", ROSTER, is_step=True),
    "custody retire": change("custody retire sealed --key ada.key --reason done"),
    "custody withdraw": change(
        "custody withdraw sealed --key ada.key --case scan1 --reason left", ROSTER
    ),
    "evaluate on a sealed set": use(
        "evaluate one.csv --reference sealed --bootstraps 10 --key bo.key --developer Alpha "
        "--out result",
        "sealed result",
    ),
    "evaluate --submissions": use(ROSTER, "sealed result"),
    "report of stored results": use(
        "report sealed --key rep.key --out study", "study sealed", ROSTER
    ),
    "compare of stored results": use(
        "compare sealed --key rep.key --baseline A1 --bootstraps 10 --permutations 10 --out study",
        "study sealed",
        ROSTER,
    ),
}
CURATE = "curate archive --out curated --workers 1"
DEIDENTIFY = "deidentify in --out clean --key-table who.keys --key me.key"
OWN_KEY = "keys new me.key"
CLEAN = (
    "clean who.keys who.keys.quarantine.csv",
    (OWN_KEY,),
    "deidentify --show-keys --key-table who.keys --key me.key",
    make_readings,
)
PACK, SENT = (
    "exchange pack set --out disk --record exchange.json --recipient dev.pub",
    "send marks back",
)
IMAGES = {
    "receive listen": Job("receive listen", "received", (), "", make_archive),
    "receive fetch": Job(
        "receive fetch http://pacs.example/dicom-web --out received",
        *("received", (), "", make_archive),
    ),
    "deidentify": Job(f"{DEIDENTIFY} --workers 1", *CLEAN),
    "deidentify --workers 2": Job(f"{DEIDENTIFY} --workers 2", *CLEAN, has_workers=True),
    "curate": Job(CURATE, "curated", (), "", make_archive),
    "curate --export": Job(f"{CURATE} --export cases", "curated cases", (), "", make_archive),
    "bundle --curated": Job(
        "bundle luna16 --curated curated --out bag", "bag", (CURATE,), "verify bag", make_archive
    ),
    "phantom": Job(
        "phantom made --count 1 --matrix 64 --thickness 7 --no-masks",
        "made",
        (),
        "coverage made --design design.toml",
    ),
    "demo": Job("demo --count 2 --out demo", "demo/result", (), "verify demo/result", step=6),
    "detect": Job("detect largecad chest.mhd --out found", "found", (), "", make_chest, code=1),
    "algorithm new": Job("algorithm new mine", "mine"),
    "run": Job(
        "run my_cad set --out found --isolation none",
        *("found", (), "", make_algorithm),
        has_workers=True,
    ),
    "exchange pack": Job(PACK, "disk exchange.json", (), "", make_algorithm),
    "exchange unpack": Job(
        "exchange unpack sent.csv --record exchange.json --out found",
        *("found", (PACK, SENT), "", make_algorithm),
    ),
    "examples": Job(
        "examples cut --blocks blocks --reference luna16 --detectors etrocad --workers 1",
        *("cut", (), "", make_blocks),
    ),
    "rescore": Job(
        "rescore m5lcad candidates.csv --images . --weights w.safetensors --out rescored.csv",
        *("rescored.csv", (), "", make_network),
        has_workers=True,
    ),
    "train": Job(
        "train etrocad --blocks blocks --reference luna16 --out weights.npz",
        *("weights.npz", (), "", make_blocks),
    ),
    "robustness": Job(
        "robustness 'sh finder.sh {case} {out}' chest.mhd --test noise --out tested",
        *("tested", (), "", make_chest),
    ),
}
REFERENCE = {
    "reference build": Job(
        "reference build findings --out built --findings drawn",
        *("built drawn", (), "", make_readings),
    ),
    "reference build over another": Job(
        "reference build findings --out built",
        "built",
        ("reference build findings --out built --set minimum_agreement=4",),
        "reference compare built built",
        make_readings,
    ),
    "reference rename": Job(
        "reference rename luna16 --key-table who.keys --key me.key --out renamed",
        *("renamed", (OWN_KEY, f"{DEIDENTIFY} --workers 1"), "", make_readings),
    ),
    "reference priors": Job(
        "reference priors truth.csv priors.csv --out priors", "priors", (), "", make_readings
    ),
    "reference readers": Job(
        "reference readers findings --out readers.csv", "readers.csv", (), "", make_readings
    ),
    "reference spread": Job(
        "reference spread findings found.csv --out spread.csv", "spread.csv", (), "", make_readings
    ),
}
SELECT = "annotate observer select mine.csv --reference luna16 --at-fp 1 --out study"
GIVE = "annotate observer open study --reader r0 --reader r1"
READERS = {
    "annotate exam": Job(
        "annotate exam key.csv lee.csv kim.csv --sequences 0 --out sheets",
        *("sheets", (), "", make_observers),
    ),
    "annotate consistency": Job(
        "annotate consistency lee.csv kim.csv ann.csv --cases cases.csv --out agreement "
        "--findings united",
        *("agreement united", (), "", make_observers),
    ),
    "annotate quality": Job(
        "annotate quality lee.csv kim.csv ann.csv --out agreement",
        *("agreement", (), "", make_observers),
    ),
    "annotate observer select": Job(SELECT, "study", (), "", make_observers),
    "annotate observer open": Job(GIVE, "study", (SELECT,), "", make_observers),
    "annotate observer export-tasks": Job(
        "annotate observer export-tasks study asked.csv --by r0",
        *("asked.csv", (SELECT, GIVE), "", make_observers),
    ),
    "annotate observer import-answers": Job(
        "annotate observer import-answers study own.csv --by r0",
        *("study", (SELECT, GIVE), "annotate observer status study", make_observers),
    ),
    "annotate observer conclude": Job(
        "annotate observer conclude study calls.csv --reference luna16 --marks mine.csv --out both",
        *("both", (SELECT,), "", make_observers),
    ),
    "annotate observer analyse": Job(
        "annotate observer analyse ratings.csv --out analysis.json",
        *("analysis.json", (), "", make_observers),
    ),
}
STEPS = (
    ("start", "start panel --roster roster.toml --cases cases.csv", ""),
    ("open", "open panel b1 a b --team one", "office"),
    ("key", "key panel r6 --new-key new.pub --reason stolen", "office"),
    ("read", "read panel b1 r1.csv", "r1"),
    ("", "read panel b1 r2.csv", "r2"),
    ("read, the last one", "read panel b1 r3.csv", "r3"),
    ("reveal-reviewer", "reveal-reviewer panel b1", "office"),
    ("type", "type panel b1 a candidate-1 solid", "r1"),
    ("export-tasks", "export-tasks panel b1 asked.csv", "r1"),
    ("import-answers", "import-answers panel b1 types.csv", "r1"),
    ("decide", "decide panel b1 a candidate-1 --agree", "lead2"),
    ("", "decide panel b1 b candidate-1 --object", "lead2"),
    ("", "decide panel b1 b candidate-2 --agree", "lead2"),
    ("correct", "correct panel b1 a candidate-1 corrected.csv", "lead2"),
    ("add", "add panel b1 lead2.csv", "lead2"),
    ("finish", "finish panel b1 a b", "lead2"),
    ("arbitrate", "arbitrate panel b1 b candidate-1 --no-nodule", "judge1"),
    ("", "arbitrate panel b1 a candidate-2 --nodule --type solid", "judge1"),
    ("", "arbitrate panel b1 b candidate-2 --nodule --type solid", "judge1"),
    ("", "arbitrate panel b1 b candidate-3 --nodule --type solid", "judge1"),
    (
        "approve",
        "approve panel b1 --inspected sufficiency --inspected heterogeneity --inspected labels "
        "--inspected ethics",
        "zoe",
    ),
    ("release", "release panel b1", "judge1"),
    ("checkpoint", "checkpoint panel far.checkpoint", "office"),
    ("quality", "quality panel --out quality.json", ""),
    ("export", "export panel reference --findings united", ""),
)
"""A batch of cases from its beginning to its release: command, arguments, who gives it."""
WRITTEN = {
    "open": "panel-b1.commitment",
    "export-tasks": "asked.csv",
    "checkpoint": "far.checkpoint",
    "quality": "quality.json",
    "export": "reference united",
}
"""What commands of a review write outside the project."""


def reviews(*, has_keys: bool) -> dict[str, Job]:
    """The commands of a review, each after all that go before it."""
    jobs: dict[str, Job] = {}
    before: tuple[str, ...] = ()
    folder = make_keyed_panel if has_keys else make_panel
    for name, arguments, person in STEPS:
        if name == "key" and not has_keys:
            continue
        signed = f" --by {person}" if person else ""
        signed += f" --key {person}" if person and has_keys else ""
        command = f"annotate review {arguments}{signed}"
        if name:
            out = f"panel {WRITTEN.get(name, '')}".strip()
            title = f"annotate review {name}{', with keys' if has_keys else ''}"
            jobs[title] = Job(command, out, before, "annotate review audit panel", folder)
        before = (*before, command)
    return jobs


STARTED = (f"annotate review {STEPS[0][1]}",)
READ = tuple(f"annotate review read panel b1 r{number}.csv --by r{number}" for number in (1, 2, 3))


def of_a_draw(command: str, *before: str) -> Job:
    """A command by which a batch gets its reviewer in another way than by a promise."""
    return Job(
        *(f"annotate review {command}", "panel", (*STARTED, *before)),
        *("annotate review audit panel", make_panel),
    )


UNBLINDED = (
    "annotate review start panel --roster lidc.toml --cases cases.csv --workflow lidc-idri",
    "annotate review open panel b1 a b --team one --by office",
    *READ,
)
DRAWS = {
    "annotate review revise": Job(
        *("annotate review revise panel b1 r1.csv --by r1", "panel", UNBLINDED),
        *("annotate review audit panel", make_panel),
    ),
    "annotate review open --reviewer": of_a_draw(
        "open panel b1 a b --team one --reviewer lead2 --by office"
    ),
    "annotate review reveal-reviewer --redraw": of_a_draw(
        "reveal-reviewer panel b1 --redraw lost --by judge1",
        "annotate review open panel b1 a b --team one --by office",
        *READ,
    ),
}
JOBS = {
    **RESULTS,
    **IMAGES,
    **REFERENCE,
    **READERS,
    **reviews(has_keys=False),
    **reviews(has_keys=True),
    **DRAWS,
    **CUSTODY,
}
CARELESS = Job("careless", "halves.txt", ("careless",), "careless check")
"""A command that does everything wrong, to test that errors are seen."""
WRITES_NOTHING = (
    *("check", "verify", "formats", "conformance", "folds check", "reference compare"),
    *("plan acceptance", "plan auc", "plan false-positives", "plan froc", "plan paired"),
    *("plan readers", "plan sensitivity", "plan size-error"),
    *("keys list", "custody check-copy", "algorithm check"),
    *("weights list", "weights show", "weights verify"),
    *("completion", "help", "metrics", "protocols", "rules"),
    *("annotate review audit", "annotate review log", "annotate review candidates"),
    *("annotate review status", "annotate review warnings", "annotate observer status"),
)
"""Commands that need not be broken off."""
MADE_OF_OTHERS = {
    "bench": "run, evaluate, and a table and pictures that are staged",
    "view": "a server that keeps nothing but voxels, which read keeps in the same way",
    "read": "a server, killed between and within edits by its own tests (unit/workbench)",
    "portal": "transactions of its database, and uploads that count with their entry",
    "portal worker": "evaluate, and one transaction of the database under a claim",
    "portal backup": "one staged file",
    "portal restore": "one transaction of an empty database",
    "portal project add": "files that count with their row, and one transaction of the database",
    "portal project assign": "one transaction of the database",
    "portal project write": "one staged folder",
}
"""Commands that do what others do, one after the other, and of what they are made."""
