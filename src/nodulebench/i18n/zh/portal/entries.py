"""The page of an entry, certificates and histories of the portal, in Chinese."""

TEXTS = {
    "portal.metrics_note": "采用规则 {rule}；括号内为按病例重抽样的 95% 区间。",
    "portal.curve": "曲线",
    "portal.misses": "逐个错误",
    "portal.misses_note": "按本基准的反馈级别，仅提交者和组织者可见。",
    "portal.report_name": "报告",
    "portal.report_print": "PDF 版报告",
    "portal.digest_of.protocol": "协议的 SHA-256",
    "portal.digest_of.plan": "验收标准的 SHA-256",
    "portal.digest_of.candidates": "候选列表的 SHA-256",
    "portal.baseline_mark": "标为基线",
    "portal.baseline_unmark": "不再作为基线",
    "portal.permalink": "永久地址与徽章",
    "portal.badge": "带有本次提交指标的徽章",
    "portal.badge_about": "可放在您自己网页上的小图，指标随时更新：",
    "portal.certificate": "证书",
    "portal.certificate.heading": "证书第 {number} 号",
    "portal.certificate.ask": "签发证书",
    "portal.certificate.ask_about": "对这些指标的声明，有编号、日期和签名，任何人都可验证。",
    "portal.certificate.lead": (
        "站点 {site} 声明：此处所列提交在本基准的测试集上经评分，得到以下指标。"
    ),
    "portal.certificate.no_approval": (
        "本证书只说明在一个测试集上按一份协议测得的结果，不是对医疗器械的批准，也不说明其他数据"
        "上的表现。"
    ),
    "portal.certificate.about": "证书内容",
    "portal.certificate.date": "签发时间",
    "portal.certificate.scored": "评分时间",
    "portal.certificate.scorer": "评分程序",
    "portal.certificate.json": "签名声明（JSON）",
    "portal.certificate.print": "证书（PDF）",
    "portal.certificate.signature": "签名",
    "portal.certificate.verify": (
        "由本站点的密钥签名。任何人都可用 NoduleBench 和该公钥验证声明与 PDF。"
    ),
    "portal.certificate.superseded": (
        "测试集此后已更正：现以该基准的新版本为准，本次提交已重新评分。"
    ),
    "portal.certificate.withdrawn": "该提交此后已撤回。",
    "portal.interval": "95% 区间",
    "portal.history": "历次提交",
    "portal.history.of": "{who}：历次提交的{metric}",
    "portal.history.remark": (
        "按提交先后，附 95% 区间；实线为迄今最佳，虚线为基线。多次提交中的最佳值偏乐观。"
    ),
    "portal.view": "在影像上查看病例",
    "portal.view_about": (
        "在扫描影像上显示结节和标记，按各规则和阈值下的标签着色；可用按键逐个查看漏检和假阳性。"
    ),
    "portal.open_view": "打开病例",
}
