"""What a command's exit status says to the program that called it."""

DONE, PROBLEM, USAGE, NOT_MET, STOPPED = 0, 1, 2, 3, 130

MEANINGS = {
    DONE: "done; where there was a plan or a gate, it was met",
    PROBLEM: "data that cannot be used, or a check that failed (verify, conformance, robustness)",
    USAGE: "wrong usage",
    NOT_MET: "the work was done, and the frozen plan or the gate `--no-worse-than` was not met",
    STOPPED: "stopped by Ctrl-C",
}
