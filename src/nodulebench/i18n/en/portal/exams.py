"""Exams of the portal, in English."""

TEXTS = {
    "portal.exams": "Exams",
    "portal.new_exam": "New exam",
    "portal.new_exam_about": (
        "Readers find and outline nodules in scans that a panel has read. Each sits it once, "
        "and sees the sheet and pictures of what was missed when everything is handed in. "
        "The key is shown on no page, and whoever makes the exam cannot sit it."
    ),
    "portal.key": "Key of the panel",
    "portal.key_hint": (
        "CSV, nodules slice by slice; a line with nothing but a case lists a scan without "
        "nodules. Every scan that it names is in the exam."
    ),
    "portal.pass_mark": "Pass mark",
    "portal.pass_mark_hint": "Precision, recall and Dice each have to exceed it.",
    "portal.exam_about": (
        "Find and outline every nodule in every scan, then hand each in. Precision, recall "
        "and Dice each have to exceed {mark}. An exam is sat once; close the page at any "
        "time and go on later."
    ),
    "portal.your_exam": "You:",
    "portal.exam.open": "not begun",
    "portal.exam.begun": "begun",
    "portal.exam.passed": "passed",
    "portal.exam.failed": "not passed",
    "portal.exam.ended": "ended",
    "portal.exam_open.open": "Begin the exam",
    "portal.exam_open.begun": "Go on with the exam",
    "portal.exam_open.sheet": "See the sheet and what was missed",
    "portal.exam_results": "Who sat it",
    "portal.exam_result": "Result",
    "portal.exam_found": "Nodules found",
    "portal.exam_false": "Marks on none",
    "portal.exam_handed_in": "Handed in",
    "portal.exam_nobody": "Nobody has handed in everything yet.",
    "portal.end_exam": "End the exam",
    "portal.end_exam_sure": "Nobody can begin or go on with it then. End it?",
    "portal.exam_here": "Exam of this site",
    "portal.exam_here_hint": (
        "In place of a file: only accounts that passed it can read, review and arbitrate."
    ),
    "portal.action.exam_made": "made an exam",
    "portal.action.exam_sat": "handed in an exam",
    "portal.action.exam_ended": "ended an exam",
    "portal.refused.exam_known": (
        "Organisers, and whoever made an exam, know its key and cannot sit it."
    ),
    "portal.refused.exam_ended": "The exam has ended.",
    "portal.refused.person_exam": "The account has not passed the exam of this project.",
    "portal.refused.no_images": "No scan of this test set lies on the machine of the site.",
}
