"""Sentences that say what the numbers say, in Chinese; braces take the values."""

TEXTS = {
    "narrative.no_rule": "没有规则可应用于 {name}：{reasons}。",
    "lead.passed": "{name} 符合计划“{plan}”。",
    "lead.failed": "{name} 不符合计划“{plan}”。",
    "lead.undecided": "计划“{plan}”对 {name} 不作结论。",
    "lead.tested": "{test_set} 的 {cases} 个病例、{nodules} 个结节",
    "lead.cpm": (
        "{name} 的 CPM 为 {cpm}，即每例 {low} 至 {high} 个假阳性时的平均灵敏度（{tested}）。"
    ),
    "lead.recall": "{name} 在{tested}中找到 {hit} 个{recall}{falses}。",
    "lead.more": "{name} 比 {baseline} 找到更多结节：{metric} {difference}，P {p}。",
    "lead.fewer": "{name} 比 {baseline} 找到更少结节：{metric} {difference}，P {p}。",
    "lead.higher": "{name} 的{metric}高于 {baseline}：{difference}，P {p}。",
    "lead.lower": "{name} 的{metric}低于 {baseline}：{difference}，P {p}。",
    "lead.alike": "未显示 {name} 与 {baseline} 有差别：{metric} {difference}，P {p}。",
    "narrative.recall": "：召回率 {recall}",
    "narrative.false_positives": "，每例 {rate} 个假阳性",
    "narrative.at_point": "召回率、精确率和漏检在每例 {rate} 个假阳性处读取。",
    "narrative.at_declared": "召回率、精确率和漏检按声明的阈值读取。",
    "narrative.threshold": "该处分数低于 {threshold} 的标记不计。",
    "narrative.all_same": "所有算法的{metric}相同，为 {value}。",
    "narrative.extremes": (
        "按{metric}，{count} 个算法中最高的是 {best}，为 {high}；最低的是 {worst}，为 {low}。"
    ),
    "narrative.not_compared": "差别是否超出偶然未经检验（nodulebench compare）。",
    "narrative.rule_free": "{name} 的命中数不随规则改变：各规则下召回率均为 {recall}。",
    "narrative.rule_matters": (
        "何为命中对 {name} 有影响：召回率在{highest}规则下最高（{high}），"
        "在{lowest}规则下最低（{low}）{relative}。"
    ),
    "narrative.rule_gives": "{rule}规则{change}",
    "narrative.against": "；与{base}规则相比，{changes}",
    "narrative.as_many": "命中数相同",
    "narrative.more": "命中多 {share}\N{NO-BREAK SPACE}%",
    "narrative.fewer": "命中少 {share}\N{NO-BREAK SPACE}%",
    "narrative.outlier": "规则对 {name} 的影响最大：与{base}规则相比，{rule}规则{change}。",
    "narrative.hardest": "按{division}，漏检最多的是 {worst} 结节{by}{left_out}。",
    "narrative.with_misses": "，{misses}",
    "narrative.misses": "{nodules} 个中漏检 {missed} 个：{rate}",
    "narrative.by_all": "（每个算法均如此）",
    "narrative.by_some": "（{all} 个算法中的 {some} 个）",
    "narrative.left_out": "（少于 {minimum} 个、不参与排序：{names}）",
    "narrative.no_intervals": "数值没有区间：未要求，或无法得到。",
    "narrative.intervals": (
        "括号内为 {level} 区间。若在同一总体中抽取其他{unit}重复测试，约 {level} 的此类区间会包含"
        "真值。它们不涉及其他人群、设备或参考标准。"
    ),
}
