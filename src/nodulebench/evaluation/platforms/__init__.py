"""Platforms that call this scorer, one file each: where their files are, and what to upload."""

from nodulebench.core.registry import Registry
from nodulebench.evaluation.platforms.platform import Platform

PLATFORMS: Registry[Platform] = Registry(
    "platform",
    "platforms",
    {
        name: f"{__name__}.{module}:PLATFORM"
        for name, module in {
            "grand-challenge": "grand_challenge",
            "codabench": "codabench",
            "medperf": "medperf",
        }.items()
    },
)
