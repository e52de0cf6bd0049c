"""NoduleBench: a test laboratory for computer-aided detection of pulmonary nodules in CT.

The public names are loaded from their modules when they are first asked for, so that importing
the package does nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nodulebench.errors import InputError, NoduleBenchError, Problem, UndefinedError
    from nodulebench.formats import FORMATS, read_cases, read_reference, read_submission
    from nodulebench.library.compare import Compared, compare
    from nodulebench.library.evaluate import evaluate, evaluate_files
    from nodulebench.library.froc import Froc, froc
    from nodulebench.library.picture import Picture
    from nodulebench.library.result import Result
    from nodulebench.match import label_marks
    from nodulebench.match.rules import RULES
    from nodulebench.metrics import FIGURES
    from nodulebench.model.labels import Labels
    from nodulebench.model.protocol import RuleChoice, TestProtocol
    from nodulebench.model.results import Curve, Estimate, Evaluation
    from nodulebench.model.tables import Reference, Submission
    from nodulebench.protocols import load_protocol
    from nodulebench.workflows.evaluate.result_folder import write_evaluation
    from nodulebench.workflows.verify.conformance import run_conformance

__version__ = "0.2.0"

__all__ = [
    "FIGURES",
    "FORMATS",
    "RULES",
    "Compared",
    "Curve",
    "Estimate",
    "Evaluation",
    "Froc",
    "InputError",
    "Labels",
    "NoduleBenchError",
    "Picture",
    "Problem",
    "Reference",
    "Result",
    "RuleChoice",
    "Submission",
    "TestProtocol",
    "UndefinedError",
    "compare",
    "evaluate",
    "evaluate_files",
    "froc",
    "label_marks",
    "load_protocol",
    "read_cases",
    "read_reference",
    "read_submission",
    "run_conformance",
    "write_evaluation",
]

_HOME = {
    "FIGURES": "metrics",
    "FORMATS": "formats",
    "RULES": "match.rules",
    "Compared": "library.compare",
    "Curve": "model.results",
    "Estimate": "model.results",
    "Evaluation": "model.results",
    "Froc": "library.froc",
    "InputError": "errors",
    "Labels": "model.labels",
    "NoduleBenchError": "errors",
    "Picture": "library.picture",
    "Problem": "errors",
    "Reference": "model.tables",
    "Result": "library.result",
    "RuleChoice": "model.protocol",
    "Submission": "model.tables",
    "TestProtocol": "model.protocol",
    "UndefinedError": "errors",
    "compare": "library.compare",
    "evaluate": "library.evaluate",
    "evaluate_files": "library.evaluate",
    "froc": "library.froc",
    "label_marks": "match",
    "load_protocol": "protocols",
    "read_cases": "formats",
    "read_reference": "formats",
    "read_submission": "formats",
    "run_conformance": "workflows.verify.conformance",
    "write_evaluation": "workflows.evaluate.result_folder",
}
"""Public name -> the module it is loaded from."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
