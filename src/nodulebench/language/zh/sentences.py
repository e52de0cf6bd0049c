"""Sentences that say what the numbers say, in Chinese; braces take the values."""

TEXTS = {
    "told.no_rule": "没有规则可应用于 {name}：{reasons}。",
    "told.performance": (
        "计入全部标记时，{name} 在{rule}规则下，于 {cases} 个病例的 {nodules} 个结节中命中 "
        "{hit} 个{recall}。"
    ),
    "told.recall": "：召回率 {recall}",
    "told.false_positives": "，每例 {rate} 个假阳性",
    "told.at_point": "以上在每例 {rate} 个假阳性处读取。",
    "told.threshold": "该处分数低于 {threshold} 的标记不计。",
    "told.cpm": (
        "在每例 {low} 至 {high} 个假阳性的工作点上，其平均灵敏度（CPM）为 {cpm}{at_one}。"
    ),
    "told.at_one": "；每例 1 个假阳性时为 {value}",
    "told.all_same": "所有算法的{figure}相同，为 {value}。",
    "told.extremes": "按{figure}，最高的是 {best}，为 {high}；最低的是 {worst}，为 {low}。",
    "told.overlap": "两者区间重叠。由于各算法在相同病例上测试，只有配对比较才能说明它们是否不同。",
    "told.group": "{count} 个算法的{figure}：{rules}（均值 ± 标准差）。",
    "told.group_rule": "{rule}规则下 {value}",
    "told.rule_free": "{name} 的命中数不随规则改变：各规则下召回率均为 {recall}。",
    "told.rule_matters": (
        "何为命中对 {name} 有影响：召回率在{highest}规则下最高（{high}），"
        "在{lowest}规则下最低（{low}）{relative}。"
    ),
    "told.rule_gives": "{rule}规则{change}",
    "told.against": "；与{base}规则相比，{told}",
    "told.as_many": "命中数相同",
    "told.more": "命中多 {share}\N{NO-BREAK SPACE}%",
    "told.fewer": "命中少 {share}\N{NO-BREAK SPACE}%",
    "told.outlier": "规则对 {name} 的影响最大：与{base}规则相比，{rule}规则{change}。",
    "told.it": "该算法",
    "told.missed_most": (
        "{name}漏检最多的{division}是 {worst}，{most}；漏检最少的{division}是 {best}，{least}。"
    ),
    "told.misses": "{nodules} 个中漏检 {missed} 个：{rate}",
    "told.two_overlap": "这两个区间重叠。",
    "told.by_all": "每个算法",
    "told.by_some": "{all} 个算法中的 {some} 个",
    "told.hardest": "按{division}，{by}漏检最多的是 {worst} 结节。",
    "told.hardest_of_size": "在 {size} 内，{all} 个算法中有 {some} 个漏检率最高的类型是{worst}。",
    "told.hardest_of_size_all": "在 {size} 内，全部 {all} 个算法漏检率最高的类型都是{worst}。",
    "told.no_intervals": "数值没有区间：未要求，或无法得到。",
    "told.intervals": (
        "括号内为 {level} 区间。若在同一总体中抽取其他{unit}重复测试，约 {level} 的此类区间会包含"
        "真值。它们不涉及其他人群、设备或参考标准。"
    ),
}
