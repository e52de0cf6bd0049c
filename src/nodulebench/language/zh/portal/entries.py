"""The page of an entry, certificates and histories of the portal, in Chinese."""

TEXTS = {
    "portal.figures_note": "采用规则 {rule}；括号内为按病例重抽样的 95% 区间。",
    "portal.curve": "曲线",
    "portal.misses": "逐个错误",
    "portal.misses_note": "按本基准的反馈级别，仅提交者和组织者可见。",
    "portal.report_name": "报告",
    "portal.report_print": "PDF 版报告",
    "portal.digest_of.protocol": "协议的 SHA-256",
    "portal.digest_of.plan": "验收标准的 SHA-256",
    "portal.digest_of.candidates": "候选列表的 SHA-256",
    "portal.permalink": "永久地址与徽章",
    "portal.badge": "带有本次提交指标的徽章",
    "portal.badge_about": "可放在您自己网页上的小图，指标随时更新：",
}
