"""Tables and pictures of results, in Chinese; braces take the values."""

TEXTS = {
    "head.algorithm": "算法",
    "head.rule": "规则",
    "head.case": "病例",
    "head.nodule": "结节",
    "head.mark": "标记",
    "head.score": "分数",
    "head.type": "类型",
    "head.diameter_mm": "直径（mm）",
    "figure.f1": "精确率与召回率的调和平均",
    "figure.f_beta": "精确率与召回率的加权调和平均",
    "figure.reading": "{title}（每例 {point} 个假阳性）",
    "figure.reading_at": "{point} 处的{title}",
    "headline.all_marks": "，计入全部标记",
    "headline.at_point": "，每例 {rate} 个假阳性处",
    "key.caption": "各算法在各规则下的结果",
    "key.remark": "命中结节、召回率、精确率和每例假阳性数计入全部标记，不论分数。",
    "key.remark_at": (
        "命中结节、召回率、精确率和每例假阳性数在每例 {rate} 个假阳性处读取：分数低于算法达到该"
        "假阳性数的阈值的标记不计。"
    ),
    "readings.by_rate": "不同每例假阳性数下的{figure}",
    "readings.by_fraction": "不同假阳性比例下的{figure}",
    "readings.by_point": "各点的{figure}",
    "readings.remark": "{meaning}。",
    "counts.caption": "结节与标记的判定结果",
    "figures.figure": "指标",
    "figures.meaning": "含义",
    "figures.value": "数值",
    "figures.further": "其他",
    "figures.bootstrap_mean": "自助法均值 {mean}",
    "difference.caption": "规则之间的差异",
    "difference.rules": "由规则 → 至规则",
    "difference.gained": "增加",
    "difference.gained_hint": "仅在第二种规则下命中的结节",
    "difference.lost": "减少",
    "difference.lost_hint": "仅在第一种规则下命中的结节",
    "difference.relative": "相对差异",
    "difference.relative_hint": "（命中数 − 第一种规则的命中数）/ 第一种规则的命中数",
    "difference.relabelled": "判定改变的标记",
    "uses.caption": "规则与预期用途",
    "uses.suits": "适用于",
    "uses.remark": "依据 Wang 等，Frontiers in Public Health 10 (2022)。",
    "flips.caption": "判定随规则改变的结节与标记",
    "flips.rules": "规则",
    "flips.what": "对象",
    "flips.change": "变化",
    "flips.distance": "距离（mm）",
    "flips.distance_hint": "同一层面上最近的标记到结节框中心的距离",
    "flips.overlap": "重叠",
    "flips.overlap_hint": "标记覆盖结节框的最大比例",
    "flips.more": "另有 {count} 条见 flips.parquet。",
    "strata.cases": "病例",
    "strata.nodules": "结节",
    "strata.missed": "漏检",
    "strata.miss_rate": "漏检率",
    "strata.bars": "条形由 0 至 {end}，附区间。",
    "strata.under_rule": "{division}，规则：{rule}",
    "strata.too_few": "过少",
    "strata.too_few_reason": "少于 {minimum} 个结节，低于方案给出比率的最小数目",
    "square.corner": "参考 ↓  所报 →",
    "square.remark": "按参考类别与所报类别统计。单位：{counted}。",
    "group.means": "{count} 个算法在各规则下的召回率、精确率和 F 值",
    "group.means_remark": (
        "各算法的均值；须线为一个样本标准差。F 值先按算法计算再取平均，"
        "而非由平均精确率与平均召回率计算。"
    ),
    "group.boxes": "各规则下各算法的{figure}",
    "group.boxes_remark": (
        "箱体：四分位数与中位数；须线：1.5 倍四分位距以内的最远值；每个算法均已画出。"
        "** P ≤ 0.01，* P ≤ 0.05，ns P > 0.05，按发表的方法采用非配对 t 检验；配对检验见表。"
    ),
    "group.boxes_plain": (
        "箱体：四分位数与中位数；须线：1.5 倍四分位距以内的最远值；每个算法均已画出。"
    ),
    "group.differences": "相对于规则“{base}”的命中结节数",
    "group.differences_remark": "0 的右侧：命中的结节多于该规则。",
    "group.misses": "{rule}规则下按{division}的漏检率",
    "group.hardest": "{rule}规则下各大小区间漏检率最高的类型",
    "group.hardest_remark": (
        "共 {count} 个算法；数字为在该大小区间内该类型漏检率最高的算法数。横线：没有该类型和大小的"
        "结节。漏检率相同时取漏检数较多者，再取列在前面者。"
    ),
    "group.tied": "* {size}：对 {names}，最高漏检率由两种类型并列。",
    "diameters.title": "应检出结节的直径",
    "diameters.bins": "组距 {width} mm。",
    "diameters.expected": (
        "虚线：对大于 {peak} mm 的结节拟合的指数曲线，并向下延伸。曲线高于条形之处，"
        "小结节很可能未被看到或未被记录。"
    ),
    "worst.missed": "漏检结节最多的病例",
    "worst.false_positive": "假阳性最多的病例",
    "causes.chart": "假阳性的原因",
    "causes.caption": "阅片者标注的假阳性原因",
    "causes.cause": "原因",
    "causes.count": "数目",
    "causes.share": "百分比",
    "causes.remark": "占该算法已标注假阳性的百分比。",
    "gallery.missed": "{name}：漏检的结节",
    "gallery.hit": "{name}：命中的结节",
    "gallery.false_positive": "{name}：假阳性",
    "gallery.remark": "50 × 50 mm，病灶居中；横断面、冠状面、矢状面。",
    "literature.caption": "在 LIDC-IDRI 上测试的检测算法",
    "literature.remark": (
        "已发表数值引自 Setio 等，Medical Image Analysis 42 (2017) 表 4。"
        "各测试集、尺寸标准和阅片者一致程度不同，次序不代表排名。"
    ),
    "literature.system": "系统（第一作者）",
    "literature.year": "年份",
    "literature.scans": "扫描数",
    "literature.nodules": "结节数",
    "literature.thickness": "层厚（mm）",
    "literature.size": "尺寸（mm）",
    "literature.agreement": "4 名阅片者中一致人数",
    "literature.readings": "灵敏度 % / 每例假阳性数",
    "literature.this": "本次测试：{name}",
}
