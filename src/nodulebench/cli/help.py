"""The overview of commands by purpose, and exit statuses.

A small module that loads only click, because every start of the program imports it.
"""

import click

DONE, PROBLEM, USAGE, NOT_MET, UNDECIDED, STOPPED = 0, 1, 2, 3, 4, 130

MEANINGS = {
    DONE: "done; a plan or a gate was met",
    PROBLEM: "unusable data, or a failed check (verify, conformance, robustness)",
    USAGE: "wrong usage",
    NOT_MET: "done, but the frozen plan or the gate `--no-worse-than` was not met",
    UNDECIDED: "done, but it cannot be decided whether the frozen plan is met",
    STOPPED: "stopped by Ctrl-C",
}
"""The meaning of each exit status."""

VERDICT_STATUS = {"failed": NOT_MET, "undecided": UNDECIDED, "passed": DONE}
"""Verdict under a plan -> exit status; of several verdicts the first in this order counts."""

GROUPS = {
    "Score": {
        "demo": "Make a small test set, test three algorithms, write a report.",
        "evaluate": "Score submissions against a reference under a protocol.",
        "check": "Report problems of submissions, without scoring them.",
        "view": "View the cases of a result: reference and marks on images.",
        "report": "Write another report: for a developer, in Chinese, as PDF.",
        "verify": "Recompute every number of a result, or check a sealed set.",
        "formats": "List the formats of marks and references, each with an example.",
        "convert": "Convert marks or a reference between formats.",
        "conformance": "Run the golden edge cases against this scorer or any other.",
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
        "deidentify": "Remove identities from CT slices, and check that none are left.",
        "coverage": "Report the composition of a test set; check its design.",
        "sample": "Draw the cases of a test set from a pool, at random, to a plan.",
        "phantom": "Make CT scans of chests whose nodules are known exactly.",
        "bundle": "Write a test set with images, datasheet and digests.",
    },
    "Sequester it": {
        "seal": "Sign a test set, encrypt its reference, start its log.",
        "unseal": "Export the reference of a sealed set, or open a result.",
        "audit": "Show the log of a sealed set, and its evaluation budget.",
        "custody": "Keys, retirement, withdrawn patients, checks of copies.",
        "sign": "Sign a folder of results, or make a key for it.",
    },
    "Run algorithms": {
        "run": "Run an algorithm on a test set: isolated, measured, resumable.",
        "bench": "Several algorithms on one set: time, memory and findings.",
        "exchange": "Cases on a disk for an algorithm elsewhere, and its marks back.",
        "algorithm": "Write an algorithm from a template, or try it on phantoms.",
        "detect": "Find candidates for nodules with the detectors of LUNA16.",
        "examples": "Make training examples for networks from images.",
        "train": "Train a detector's classifier, or a network, fold by fold.",
        "weights": "List, show and verify weights of networks.",
        "rescore": "Let networks score given candidates, LUNA16's second track.",
        "robustness": "Test how an algorithm's marks change with the image.",
    },
    "Host": {
        "portal": "Serve a site for submissions and leaderboards.",
        "platform": "Let grand-challenge.org, Codabench or MedPerf call this scorer.",
    },
    "Read": {
        "read": "Open a folder of scans in the browser and mark nodules.",
        "annotate": "From readers to a reference: exam, consistency, review.",
        "reference": "Build a reference standard from readings; compare two.",
    },
}
"""Purpose -> command -> what it does; the code is in the module of that name."""

COMMANDS = {name: words for group in GROUPS.values() for name, words in group.items()}


def keep_examples(command: click.Command) -> click.Command:
    r"""Preserve the lines of examples: docstrings are raw, so ``\b`` is two letters in them."""
    command.help = command.help and command.help.replace(r"\b", "\b")
    for below in getattr(command, "commands", {}).values():
        keep_examples(below)
    return command
