"""Document -> how marks were matched with nodules: sketches of the rules, and a flow chart."""

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.translator import Language
from nodulebench.report.charts.diagrams import Step, flow_chart
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.charts.schemes import scheme

ONE_TO_ONE = ("center_hit", "center_distance", "area_overlap")
"""The rules that match one mark with one nodule, nodule by nodule."""


def rule_sketches(document: Document, say: Language) -> list[Chart]:
    """A sketch of every rule that the protocol applies."""
    charts = []
    for rule in document.protocol.rules:
        name = rule.name
        told = say(f"sketch.{name}" if name in ONE_TO_ONE else "sketch.luna16")
        drawn = scheme(name, told)
        if drawn is not None:
            charts.append(Chart(say.word(name), drawn, remarks=(told,), is_narrow=True))
    return charts


def matching_chart(document: Document, say: Language) -> Chart | None:
    """The way of one nodule through matching (NIFDC 2022, figure 2); None for other rules."""
    named = [rule.name for rule in document.protocol.rules]
    shown = [rule for rule in named if rule in ONE_TO_ONE]
    if not shown:
        return None
    steps = [
        Step(say("flow.next")),
        Step(say("flow.qualifies"), say.word("yes"), say("flow.missed"), say.word("no")),
        Step(say("flow.best")),
        Step(say("flow.hit")),
        Step(say("flow.more"), say.word("no"), say("flow.again"), say.word("yes")),
        Step(say("flow.rest")),
    ]
    remarks = tuple(say(f"flow.best_{rule}", rule=say.word(rule)) for rule in shown)
    title = say("flow.title")
    return Chart(title, flow_chart(steps, title), remarks=remarks)
