"""Document -> how large the nodules of the test set are."""

from nodulebench.language import Language
from nodulebench.model.documents.evaluation import Document
from nodulebench.report.blocks.charts import Chart
from nodulebench.report.drawing.axes import Axis, nice_ticks, whole_ticks
from nodulebench.report.drawing.pictures.columns import histogram


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
