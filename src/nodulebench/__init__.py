"""NoduleBench: a test laboratory for computer-aided detection of pulmonary nodules in CT.

The public names are loaded from their modules when they are first asked for, so that importing
the package does nothing else.
"""

from typing import TYPE_CHECKING

from nodulebench.core.registry import lazy_names

if TYPE_CHECKING:
    from nodulebench.api.evaluate import Compared, compare, evaluate, evaluate_files
    from nodulebench.api.froc import Froc, froc
    from nodulebench.api.results import Picture, Result
    from nodulebench.core.cohort import Labels
    from nodulebench.core.errors import InputError, NoduleBenchError, Problem, UndefinedError
    from nodulebench.core.protocol import RuleChoice, TestProtocol, load_protocol
    from nodulebench.core.results import Curve, Estimate, Evaluation
    from nodulebench.core.tables import Reference, Submission
    from nodulebench.evaluation.conformance import run_conformance
    from nodulebench.evaluation.result_folder import write_evaluation
    from nodulebench.io.formats import FORMATS, read_cases, read_reference, read_submission
    from nodulebench.matching import label_marks
    from nodulebench.matching.rules import RULES
    from nodulebench.metrics import METRICS

__version__ = "0.2.0"

__all__ = [
    "FORMATS",
    "METRICS",
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

_MODULES = {
    "METRICS": "metrics",
    "FORMATS": "io.formats",
    "RULES": "matching.rules",
    "Compared": "api.evaluate",
    "Curve": "core.results",
    "Estimate": "core.results",
    "Evaluation": "core.results",
    "Froc": "api.froc",
    "InputError": "core.errors",
    "Labels": "core.cohort",
    "NoduleBenchError": "core.errors",
    "Picture": "api.results",
    "Problem": "core.errors",
    "Reference": "core.tables",
    "Result": "api.results",
    "RuleChoice": "core.protocol",
    "Submission": "core.tables",
    "TestProtocol": "core.protocol",
    "UndefinedError": "core.errors",
    "compare": "api.evaluate",
    "evaluate": "api.evaluate",
    "evaluate_files": "api.evaluate",
    "froc": "api.froc",
    "label_marks": "matching",
    "load_protocol": "core.protocol",
    "read_cases": "io.formats",
    "read_reference": "io.formats",
    "read_submission": "io.formats",
    "run_conformance": "evaluation.conformance",
    "write_evaluation": "evaluation.result_folder",
}
"""Public name -> the module it is loaded from."""

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
