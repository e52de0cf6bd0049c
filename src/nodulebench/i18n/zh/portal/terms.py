"""What a benchmark asks for: tracks, candidates, folds, criteria and training, in Chinese."""

TEXTS = {
    "portal.terms": "要求",
    "portal.terms.candidates": "候选列表",
    "portal.terms.folds": "交叉验证分折",
    "portal.terms.plan": "验收标准",
    "portal.terms.wrong": "文件未被接受：",
    "portal.terms.lay": "设定",
    "portal.terms.end": "不再要求",
    "portal.lay.candidates": (
        "含 seriesuid、coordX、coordY、coordZ 的表，例如 LUNA16 的 candidates_V2.csv。"
        "假阳性减少赛道须恰好为这些候选评分。候选是否为结节不予保存。新列表即新版本，已有提交保留其版本。"
    ),
    "portal.lay.folds": (
        "含 seriesuid 和 fold 的表。在测试集上训练者须按此分折交叉验证；"
        "未设定时可用自己的分折，系统会检查。"
    ),
    "portal.lay.plan": (
        "TOML 格式的标准（在此冻结），或事先冻结的方案。此后评分的提交均按其判定；"
        "如需判定已有提交，请全部重新评分。"
    ),
    "portal.count_of.candidates": "{count} 个候选",
    "portal.count_of.folds": "{count} 折",
    "portal.count_of.plan": "{count} 条标准",
    "portal.list_version": "版本 {version}",
    "portal.track": "赛道",
    "portal.tracks": "赛道",
    "portal.track.detection": "完整检测",
    "portal.track.reduction": "假阳性减少",
    "portal.track_hint": ("假阳性减少：为版本 {version} 的 {count} 个候选各给一个评分，位置不变。"),
    "portal.stratum": "子集",
    "portal.stratum.all": "全部结节",
    "portal.cross_validates": "在测试集上训练者须交叉验证；每位提交者须声明是否训练",
    "portal.trained": "是否在此测试集上训练？",
    "portal.trained.no": "否",
    "portal.trained.folds": "是，交叉验证：评判每次扫描的模型未用其训练",
    "portal.trained.yes": "是，未分折",
    "portal.trained.must": "在测试集上训练者须交叉验证。",
    "portal.trained.may": "在测试集上训练的提交会被标明。",
    "portal.trained_tag.folds": "交叉验证",
    "portal.trained_tag.yes": "在测试集上训练",
    "portal.folds_file": "您的分折表",
    "portal.folds_laid": "仅在交叉验证时需要。未附文件即声明采用本测试的 {count} 折。",
    "portal.folds_own": (
        "仅在交叉验证时需要：seriesuid 与 fold，每次扫描恰好一次。"
        "检查方式同“nodulebench folds check”。"
    ),
    "portal.verdict": "结论",
    "portal.verdict.passed": "通过",
    "portal.verdict.failed": "未通过",
    "portal.verdict.undecided": "无法判定",
    "portal.verdict_because": "{verdict}：{reason}",
    "portal.downloads": "下载",
    "portal.downloads_sign_in": "登录后可下载。",
    "portal.downloads_note": (
        "共 {count} 个文件。中断的下载可继续；全部摘要可用 sha256sum --check 核对："
    ),
    "portal.downloads_about": (
        "存储目录中“downloads”文件夹内的文件可向已登录者发布。摘要先由工作进程计算。"
        "封存测试集的任何内容均不会发布。"
    ),
    "portal.download_kind": "类别",
    "portal.size": "大小",
    "portal.digest_soon": "计算中",
    "portal.release": "发布",
    "portal.end_release": "停止发布",
    "portal.release.scans": "扫描",
    "portal.release.nodules": "附加结节",
    "portal.release.other": "其他",
    "portal.sealed_feedback": "封存测试集政策所允许的内容",
    "portal.quota_name": "提交限额",
}
