"""Document -> the whole course of the test as one flow chart, from its design to its answer."""

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.numbers import whole
from nodulebench.i18n.translator import Language
from nodulebench.report.charts.diagrams import Step, flow_chart
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.sections.methods import reference_rule

SHOWN = 12
"""So many signs of a digest are shown."""


def course_chart(document: Document, say: Language) -> Chart:
    """Design, collection, cleaning, annotation, release and test, with what is known of each.

    Figure 1 of NIFDC 2022 and of FG-AI4H's topic description.
    """
    reference, protocol = document.reference, document.protocol
    ignored = reference.ignored_findings or 0
    nodules = (reference.findings or 0) - ignored
    plan, digest = document.plan, document.digests.get("reference", "")
    patients = "" if reference.patients is None else whole(reference.patients)
    steps = [
        Step(
            say("course.design", protocol=protocol.title or protocol.name),
            exit="" if plan is None else say("course.plan"),
        ),
        Step(say("course.collection", name=reference.name)),
        Step(
            say("course.cleaning", cases=whole(reference.cases), patients=patients)
            if patients
            else say("course.cleaning_cases", cases=whole(reference.cases)),
        ),
        Step(
            say("course.annotation", nodules=whole(nodules), rule=reference_rule(reference, say)),
            exit=say("course.ignored", count=whole(ignored)) if ignored else "",
        ),
        Step(say("course.release", digest=digest.removeprefix("sha256:")[:SHOWN])),
        Step(
            say(
                "course.test",
                algorithms=whole(len(document.algorithms)),
                rules=say.listed(say.word(rule.name) for rule in protocol.rules),
            ),
            exit="" if plan is None else say(f"verdict.{plan.verdict}"),
        ),
    ]
    title = say("course.title")
    return Chart(title, flow_chart(steps, title))
