import pkgutil
import subprocess
import sys

import nodulebench.statistics

HEAVY = {"scipy", "statsmodels", "sklearn", "pandas"}


def test_importing_statistics_loads_no_heavy_package() -> None:
    package = nodulebench.statistics
    modules = [
        module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    assert "nodulebench.statistics.sample_size.proportions" in modules
    program = f"import {', '.join(modules)}, sys; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert not HEAVY & set(answer.stdout.split())
