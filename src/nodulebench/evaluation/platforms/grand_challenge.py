"""grand-challenge.org: an evaluation container with its ground truth as a tarball."""

from collections.abc import Sequence
from pathlib import Path

from nodulebench.evaluation.platforms.platform import Column, Platform, dockerfile

_PROTOCOL = Path("/opt/nodulebench/protocol.toml")


def _files(image: str, columns: Sequence[Column]) -> dict[str, str | bytes]:
    orders = {True: "ascending", False: "descending"}
    shown = "\n".join(
        f"| {column.title} | `{column.key}` | {orders[column.is_lower_better]} |"
        for column in columns
    )
    return {
        "Dockerfile": dockerfile(
            "nodulebench", "platform", "score", "grand-challenge", program=str(_PROTOCOL)
        ),
        "README.md": f"""# Evaluation of a phase on grand-challenge.org

1. Image: `docker build --tag {image} . && docker save {image} | gzip > evaluation.tar.gz`;
   upload it as the phase's evaluation method.
2. Ground truth: `tar -czf ground_truth.tar.gz -C ground_truth .`; upload it in the settings of
   the phase.
3. The phase has one input socket of a CT image and one output socket of the kind *Multiple points*.
   Images in the archive are named after the cases of the test set.
4. Score and columns of the leaderboard, as paths in `metrics.json`:

| column | path | order |
|---|---|---|
{shown}
""",
    }


PLATFORM = Platform(
    name="grand-challenge",
    marks=Path("/input"),
    reference=Path("/opt/ml/input/data/ground_truth"),
    protocol=_PROTOCOL,
    answer=Path("/output/metrics.json"),
    packed=Path("ground_truth"),
    packed_protocol=Path("protocol.toml"),
    says_version=True,
    files=_files,
)
