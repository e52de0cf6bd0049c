"""Platforms that call our scorer, one file each: where they lay things, and what they upload."""

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
