"""The histogram of the nodules' diameters."""

import subprocess
import sys

from builders.report import group_content, group_document, typed
from nodulebench.i18n.translator import translator
from nodulebench.report.curves import diameter_chart

TRANSLATE = translator()


def test_histogram_tells_its_bins_and_the_fitted_curve() -> None:
    chart = diameter_chart(group_document(), TRANSLATE)
    assert chart is not None
    assert chart.remarks[0] == "Bins of 1 mm."
    assert "fitted to the nodules above 4 mm" in chart.remarks[1]
    content = group_content()
    content["reference"]["diameters"]["expected"] = []
    plain = diameter_chart(typed(content), TRANSLATE)
    assert plain is not None
    assert len(plain.remarks) == 1


def test_diameters_need_none_of_the_charts_of_groups() -> None:
    """They are drawn for every evaluation of LUNA16, which shall not load what it never shows."""
    program = (
        "import sys, nodulebench.report.curves\n"
        "assert not [name for name in sys.modules if 'comparison' in name or 'box' in name]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
