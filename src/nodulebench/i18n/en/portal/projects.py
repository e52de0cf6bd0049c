"""Annotation projects of the portal, in English."""

TEXTS = {
    "portal.nav.projects": "Reading",
    "portal.new_project": "New annotation project",
    "portal.projects_empty": "There is no project in which you have a part.",
    "portal.open_room": "Open the reading room",
    "portal.cases_done": "{done} of {total} cases done",
    "portal.minutes_left": "about {minutes} min left",
    "portal.nothing_yet": "Nothing waits for you.",
    "portal.you_are": "You are {person} in this project.",
    "portal.your_part": "Your part",
    "portal.scans": "Folder of scans",
    "portal.no_scans": (
        "No folder of scans lies on this machine. Put one into the folder of scans that the site "
        "was started with (--scans)."
    ),
    "portal.roster": "People and teams",
    "portal.roster_hint": "TOML, as 'nodulebench annotate review start' takes it; without keys.",
    "portal.cases_table": "Table of cases",
    "portal.cases_hint": "CSV; without one, every scan of the folder.",
    "portal.exam_file": "Result of the exam",
    "portal.exam_hint": "exam.json: only who passed can read, review and arbitrate.",
    "portal.workflow": "Workflow",
    "portal.batches": "Batches",
    "portal.batch": "Batch",
    "portal.batch_state": "State",
    "portal.batches_empty": "No batch was opened yet.",
    "portal.team": "Team",
    "portal.no_account_of": "no account: {people}",
    "portal.readings_in": "Readings handed in",
    "portal.disputes": "Open disputes",
    "portal.reviewer": "Reviewer",
    "portal.drawn_later": "drawn when all have read",
    "portal.draw_reviewer": "Draw the reviewer",
    "portal.open_batch": "Open a batch",
    "portal.cases": "Cases",
    "portal.unread_hint": "Names, one a line; none: all {count} that no batch has.",
    "portal.batch.reading": "being read",
    "portal.batch.revision": "being read a second time",
    "portal.batch.checking": "being compared",
    "portal.batch.typing": "types are asked for",
    "portal.batch.review": "in review",
    "portal.batch.arbitration": "in arbitration",
    "portal.batch.released": "released",
    "portal.release_batch": "Release the batch",
    "portal.approve": "Approve",
    "portal.approve_not": "Do not approve",
    "portal.inspected": "Inspected for",
    "portal.aspect.sufficiency": "enough cases",
    "portal.aspect.heterogeneity": "many kinds of cases",
    "portal.aspect.labels": "quality of labels",
    "portal.aspect.ethics": "ethics and law",
    "portal.comment": "Comment",
    "portal.person": "Person",
    "portal.part.candidate": "candidate",
    "portal.part.junior": "reader",
    "portal.part.leader": "team leader",
    "portal.part.arbitrator": "arbitrator",
    "portal.part.panel": "expert panel",
    "portal.part.scientist": "scientist",
    "portal.part.organiser": "organiser",
    "portal.part.commission": "commission",
    "portal.years": "Years",
    "portal.training": "Training",
    "portal.exam": "Exam",
    "portal.passed": "passed",
    "portal.account_of": "Account of {person}",
    "portal.who_may_be": (
        "An account can be a person if it has the roles of that person: reader, team leader, "
        "arbitrator, auditor for the commission. Organisers see all readings and can be no reader. "
        "Whoever has handed something in stays who they are."
    ),
    "portal.project_log_holds": (
        "The log of the project holds: every step was allowed, and the log of the site tells the "
        "same."
    ),
    "portal.project_log_check": "Check the whole log of the project",
    "portal.project_log_broken": "The log of the project does not hold:",
    "portal.project_zip": "Take the project (zip)",
    "portal.reference_zip": "Take the reference (zip)",
    "portal.action.project_made": "made an annotation project",
    "portal.action.project_assigned": "assigned an account in a project",
    "portal.action.project_step": "took a step in a project",
    "portal.action.project_taken": "took files of a project",
    "portal.refused.person_acted": (
        "This person has handed something in already; nobody else goes on in their place."
    ),
    "portal.refused.person_roles": "The account does not have the roles of this person.",
    "portal.refused.person_twice": "The account is somebody else in this project already.",
    "portal.refused.nobody_here": (
        "Your account is nobody in this project. Assign it to an organiser of its roster first."
    ),
}
