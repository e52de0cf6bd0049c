"""AlgorithmManifest: what a developer declares about an algorithm, as written in algorithm.toml."""

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from nodulebench.core.config_model import ConfigModel, parse_config

NoduleType = Literal[
    "solid", "part_solid", "pure_ground_glass", "calcified", "pleural", "pleural_calcified"
]


RunProfile = Literal["native", "grand-challenge", "medperf", "map"]
RunMode = Literal["exec", "invoke"]
InputFormat = Literal["metaimage", "nifti", "dicom"]
MarkAdapter = Literal["any", "gc-points", "gc-2d-boxes"]


def _below(path: str) -> str:
    """A path that stays in the folder it is relative to."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\x00" in path:
        raise ValueError(f"'{path}' does not lie within the folder")
    return path


Below = Annotated[str, AfterValidator(_below)]
BelowOrNone = Annotated[str, AfterValidator(lambda path: path and _below(path))]


class RunResources(ConfigModel):
    """The most that an algorithm may use for one case."""

    cpus: Annotated[float, Field(gt=0, le=4096)] = 2.0
    """Cores."""
    memory_gb: Annotated[float, Field(ge=0.03125, le=65536)] = 4.0
    """Memory of all its processes together, in GiB."""
    gpus: Annotated[int, Field(ge=0, le=64)] = 0
    """Graphics cards."""
    pids: Annotated[int, Field(ge=8, le=4_000_000)] = 256
    """Processes and threads at the same time."""
    timeout_s: Annotated[float, Field(gt=0, le=604_800)] = 600.0
    """Seconds that one case may take."""
    startup_timeout_s: Annotated[float, Field(gt=0, le=604_800)] = 300.0
    """Seconds until an algorithm of mode ``invoke`` says that it is ready."""
    output_mb: Annotated[int, Field(ge=1, le=65536)] = 64
    """What it may write for one case, in MiB."""


class RunInput(ConfigModel):
    """One input socket of a grand-challenge algorithm."""

    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    """Its name on the platform."""
    path: Below
    """Its path below ``/input``."""
    source: Literal["ct"] = Field("ct", alias="from")
    """What of the case it is given."""
    format: Literal["mha"] = "mha"
    """In which form."""


class RunOutput(ConfigModel):
    """A file of ``/output`` that holds marks."""

    path: Below
    """Its path below ``/output``."""
    adapter: MarkAdapter = "any"
    """How it is read: ``any`` takes every format that ``evaluate`` reads."""


class RunContract(ConfigModel):
    """How an algorithm is run: what is started, what it is given, how much it may use."""

    command: tuple[str, ...] = ()
    """The program and its arguments, in the algorithm's folder; ``/input /output`` follow."""
    image: BelowOrNone = ""
    """An image archive (docker save, OCI layout) in the algorithm's folder, instead."""
    digest: Annotated[str, Field(pattern=r"^(sha256:[0-9a-f]{64})?$")] = ""
    """SHA-256 of the image archive's manifest."""
    profile: RunProfile = "native"
    """Which layout of ``/input`` and ``/output`` it knows."""
    mode: RunMode = "exec"
    """``exec``: a process per case; ``invoke``: started once, called once per case."""
    input: InputFormat = "metaimage"
    """The form of the CT, for the profile ``native``."""
    model: BelowOrNone = ""
    """A folder of the algorithm's that it finds, read-only, at ``/opt/ml/model``."""
    resources: RunResources = RunResources()
    """Limits per case."""
    inputs: tuple[RunInput, ...] = ()
    """Input sockets, for the profile ``grand-challenge``."""
    outputs: tuple[RunOutput, ...] = ()
    """Files with marks; none: everything in ``/output``."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        problems = []
        if bool(self.command) == bool(self.image):
            problems.append("needs either a command or an image")
        if self.digest and not self.image:
            problems.append("has a digest, but no image")
        if (self.profile == "grand-challenge") != bool(self.inputs):
            problems.append("inputs are for the profile 'grand-challenge', which needs them")
        if self.mode == "invoke" and self.profile in ("medperf", "map"):
            problems.append(f"the profile '{self.profile}' knows no mode 'invoke'")
        if problems:
            raise ValueError("; ".join(problems))
        return self


class AlgorithmManifest(ConfigModel):
    """What is declared before the test; unknown fields are errors."""

    name: Annotated[str, Field(min_length=1)]
    version: str = ""
    developer: str = ""
    kind: Literal["2-D", "3-D", ""] = ""
    """Whether it detects on single slices or in the volume."""
    intended_types: tuple[NoduleType, ...] = ()
    """The nodule types it is meant to find; empty: all."""
    threshold: float | None = None
    """The score from which a mark is shown to the user, fixed before the test."""
    intended_use: str = ""
    """What it is meant for, in the developer's words; only equal uses are compared."""
    description: str = ""
    training_data: str = ""
    run: RunContract | None = None
    """How ``nodulebench run`` starts it; submissions need none."""

    @property
    def facts(self) -> dict[str, str]:
        declared = self.model_dump(exclude={"name", "intended_types", "run"}, exclude_none=True)
        return {field: str(value) for field, value in declared.items() if value != ""}

    def to_toml(self) -> str:
        """The manifest as the text of an algorithm.toml of a submission: how to run it left out."""
        declared = self.model_dump(mode="json", exclude_defaults=True, exclude={"run"})
        return "".join(f"{field} = {_toml(value)}\n" for field, value in declared.items())


def _toml(value: object) -> str:
    # TOML writes strings, numbers and lists as JSON does, once control characters are escaped
    return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")


def parse_manifest(text: str, source: str) -> AlgorithmManifest:
    """The manifest that a TOML text describes."""
    return parse_config(AlgorithmManifest, text, source)


IntendedUse = tuple[str, tuple[str, ...]]
"""What an algorithm is meant for: words, and types of nodules (none: all)."""


def intended_use(facts: Mapping[str, object], types: Sequence[str] | None) -> IntendedUse:
    """The intended use that an algorithm declares; neither case, spaces nor order count."""
    words = " ".join(str(facts.get("intended_use") or "").casefold().split())
    return words, tuple(sorted(types or ()))
