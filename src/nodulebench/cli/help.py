"""What the program tells of itself: commands by what people come for, and exit statuses.

One small module, for every start of the program reads it; it loads nothing but click.
"""

import click

DONE, PROBLEM, USAGE, NOT_MET, UNDECIDED, STOPPED = 0, 1, 2, 3, 4, 130

MEANINGS = {
    DONE: "done; where there was a plan or a gate, it was met",
    PROBLEM: "data that cannot be used, or a check that failed (verify, conformance, robustness)",
    USAGE: "wrong usage",
    NOT_MET: "the work was done, and the frozen plan or the gate `--no-worse-than` was not met",
    UNDECIDED: "the work was done, and whether the frozen plan is met cannot be decided",
    STOPPED: "stopped by Ctrl-C",
}
"""What a command's exit status says to the program that called it."""

VERDICT_STATUS = {"failed": NOT_MET, "undecided": UNDECIDED, "passed": DONE}
"""Verdict under a plan -> exit status; of several verdicts the first of these counts."""

GROUPS = {
    "Score": {
        "demo": "Make a small test set, test three algorithms, write a report.",
        "evaluate": "Score submissions against a reference under a protocol.",
        "check": "Tell what may be wrong with submissions, without scoring them.",
        "view": "Look at the cases of a result: reference and marks on images.",
        "report": "Write a report again: for a developer, in Chinese, as PDF.",
        "verify": "Recompute every number of a result, or check a sealed set.",
        "formats": "List the formats of marks and references, each with an example.",
        "convert": "Convert marks or a reference between formats.",
        "conformance": "Run the golden edge cases against our scorer or any other.",
    },
    "Compare": {
        "compare": "Compare two results, or the algorithms of one with a baseline.",
        "combine": "Merge candidate lists, average scores; tabulate combinations.",
        "folds": "Draw, check and merge the folds of a cross-validation.",
    },
    "Plan": {
        "plan": "Plan a test: calculators.",
        "test-plan": "Freeze protocol, test set and criteria before a test.",
    },
    "Build a test set": {
        "receive": "Take DICOM series from a PACS, by C-STORE or DICOMweb.",
        "curate": "Admit DICOM series as cases, or exclude them with reasons.",
        "deidentify": "Take identities out of CT slices, and check that none are left.",
        "coverage": "Tell what a test set consists of; check it against a design.",
        "draw": "Draw the cases of a test set from a pool, at random, to a plan.",
        "phantom": "Make CT scans of chests whose nodules are known exactly.",
        "bundle": "Write a test set with images, datasheet and digests.",
    },
    "Keep it": {
        "seal": "Sign a test set, encrypt its reference, begin its log.",
        "unseal": "Take the reference out of a sealed set, or open a result.",
        "audit": "Show what was done with a sealed set, and its budget.",
        "custody": "Keys of people, retirement, withdrawn patients, restore drills.",
        "sign": "Sign a folder of results, or make a key for it.",
    },
    "Run algorithms": {
        "run": "Run an algorithm on a test set: isolated, measured, resumable.",
        "bench": "Several algorithms on one set: time, memory and findings.",
        "exchange": "Cases on a disk for an algorithm elsewhere, and its marks back.",
        "algorithm": "Begin an algorithm from a template, or try it on phantoms.",
        "detect": "Find candidates for nodules with the detectors of LUNA16.",
        "examples": "Make what networks learn from: candidates, images, reference.",
        "train": "Train a detector's classifier, or a network, fold by fold.",
        "weights": "List, show and verify weights of networks.",
        "rescore": "Let networks judge given candidates, LUNA16's second track.",
        "robustness": "Test how an algorithm's marks change with the image.",
    },
    "Host": {
        "portal": "A site for submissions and leaderboards, with its workers.",
        "platform": "Let grand-challenge.org, Codabench or MedPerf call this scorer.",
    },
    "Read": {
        "read": "Open a folder of scans in the browser and mark nodules.",
        "annotate": "From readers to a reference: exam, consistency, review.",
        "reference": "Make a reference standard of what readers drew; compare two.",
    },
}
"""What people come for -> command -> what it does; the code is in the module of that name."""

COMMANDS = {name: words for group in GROUPS.values() for name, words in group.items()}


def keep_examples(command: click.Command) -> click.Command:
    r"""Keep the lines of examples apart: docstrings are raw, so ``\b`` is two letters in them."""
    command.help = command.help and command.help.replace(r"\b", "\b")
    for below in getattr(command, "commands", {}).values():
        keep_examples(below)
    return command
