"""Exams of the portal, in Chinese."""

TEXTS = {
    "portal.exams": "考核",
    "portal.new_exam": "新建考核",
    "portal.new_exam_about": (
        "阅片医师在专家组已阅片的影像中查找并勾画结节。每人只能参加一次，"
        "全部提交后立即看到成绩单和漏诊结节的图像。标准答案不会出现在任何页面；"
        "新建考核的人不能参加该考核。"
    ),
    "portal.key": "专家组标准答案",
    "portal.key_hint": (
        "CSV，逐层列出结节；仅有病例号的一行表示该影像无结节。答案中的每份影像都属于考核。"
    ),
    "portal.pass_mark": "合格线",
    "portal.pass_mark_hint": "精确率、召回率和 Dice 均须超过该值。",
    "portal.exam_about": (
        "请在每份影像中查找并勾画全部结节，然后逐份提交。精确率、召回率和 Dice 均"
        "须超过 {mark}。每人只能参加一次；可随时关闭页面，稍后继续。"
    ),
    "portal.your_exam": "您的状态：",
    "portal.exam.open": "未开始",
    "portal.exam.begun": "进行中",
    "portal.exam.passed": "通过",
    "portal.exam.failed": "未通过",
    "portal.exam.ended": "已结束",
    "portal.exam_open.open": "开始考核",
    "portal.exam_open.begun": "继续考核",
    "portal.exam_open.sheet": "查看成绩单和漏诊结节",
    "portal.exam_results": "参加人员",
    "portal.exam_result": "结果",
    "portal.exam_found": "检出结节",
    "portal.exam_false": "假阳性标记",
    "portal.exam_handed_in": "提交时间",
    "portal.exam_nobody": "尚无人全部提交。",
    "portal.end_exam": "结束考核",
    "portal.end_exam_sure": "结束后任何人都不能开始或继续。确定结束吗？",
    "portal.exam_here": "本站考核",
    "portal.exam_here_hint": "代替文件：只有通过该考核的账号才能阅片、审核和仲裁。",
    "portal.action.exam_made": "新建了考核",
    "portal.action.exam_sat": "提交了考核",
    "portal.action.exam_ended": "结束了考核",
    "portal.refused.exam_known": "组织者和新建考核的人知道标准答案，不能参加考核。",
    "portal.refused.exam_ended": "考核已结束。",
    "portal.refused.person_exam": "该账号未通过本项目的考核。",
    "portal.refused.no_images": "站点所在机器上没有该测试集的影像。",
}
