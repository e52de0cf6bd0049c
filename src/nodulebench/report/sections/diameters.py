"""Document -> how large the nodules of the test set are."""

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.translator import Language
from nodulebench.report.charts.axes import Axis, nice_ticks, whole_ticks
from nodulebench.report.charts.bars import histogram
from nodulebench.report.charts.interactive import Chart


def diameter_chart(document: Document, say: Language) -> Chart | None:
    """Histogram of the nodules' diameters, with what larger ones let expect of small ones."""
    found = document.reference.diameters
    if not found or sum(found.counts) < 2:
        return None
    counts, expected, width = found.counts, found.expected, found.width_mm
    start = found.from_mm
    end = start + width * len(counts)
    x_axis = Axis(say("axis.diameter_mm"), start, end, nice_ticks(start, end))
    top = 1.08 * max(*counts, min(max(expected, default=0.0), 1.4 * max(counts)))
    y_axis = Axis(say("axis.nodules"), 0.0, top, whole_ticks(top))
    remarks = [say("diameters.bins", width=f"{width:g}")]
    if expected:
        remarks.append(say("diameters.expected", peak=f"{found.peak_mm:g}"))
    return Chart(
        say("diameters.title"),
        histogram(counts, expected, x_axis, y_axis, say("diameters.title")),
        remarks=tuple(remarks),
    )
