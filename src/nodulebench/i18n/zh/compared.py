"""Comparisons between algorithms and between rules, in Chinese; braces take the values."""

TEXTS = {
    "compared.how": (
        "各算法与 {baseline} 在相同病例上比较：差异附 {level} 区间，由按{unit}的 {count} "
        "次配对重抽样得到。P 值为双侧；校正值为对全部算法和规则的 Holm 校正。"
    ),
    "compared.one_difference": (
        "与 {baseline} 相比，{algorithm} 在{rule}规则下使{metric}改变 {difference}"
        "（P {p}，校正后 {adjusted}）。"
    ),
    "compared.margin_result": "界值为 {margin} 时：{answer}。",
    "compared.many_differences": (
        "在 {all} 个算法中，{rule}规则下{metric}高于 {baseline} 的有：{higher}；"
        "低于的有：{lower}（校正后 P ≤ {alpha}）。"
    ),
    "compared.superior": "优效",
    "compared.equivalent": "等效",
    "compared.non_inferior": "非劣效",
    "compared.not_shown": "未显示非劣效",
    "compared.not_assessable": "无法评定",
    "compared.chart": "{metric}与 {baseline} 之差，{rule}",
    "compared.chart_remark": "须线：{level} 区间。** 校正 P ≤ 0.01，* ≤ 0.05，其余为 ns。",
    "compared.margin": "界值",
    "compared.margin_of": "界值 {margin}",
    "compared.leading": "{metric}之差",
    "compared.all": "与 {baseline} 的全部差异",
    "compared.difference": "差异",
    "compared.p_adjusted": "P（校正）",
    "compared.p_adjusted_hint": "Holm 法，对全部算法和规则",
    "compared.p_permutation": "P（置换）",
    "compared.p_delong": "P（DeLong）",
    "missed_by_one.fold": "仅其中之一漏检的结节：{algorithm} 与 {baseline}",
    "missed_by_one.caption": "{missed} 漏检，{found} 检出",
    "mcnemar.caption": "仅由其中之一检出的结节：各算法与 {baseline}",
    "mcnemar.both": "两者",
    "mcnemar.algorithm_only": "仅该算法",
    "mcnemar.baseline_only": "仅基线",
    "mcnemar.neither": "均未检出",
    "mcnemar.difference": "召回率之差",
    "mcnemar.p_clustered": "P（整群）",
    "mcnemar.p_clustered_hint": "整群数据的 McNemar 检验（Obuchowski 1998）",
    "mcnemar.p_exact": "P（精确）",
    "mcnemar.p_exact_hint": "McNemar 精确检验，视结节为相互独立",
    "rank.chart": "按{metric}的名次，{rule}",
    "rank.remark": (
        "须线：重抽样中名次的 {level} 区间。同组（标记相同）的算法与组内第一名无法区分。"
    ),
    "rank.group_short": "第 {group} 组",
    "rank.caption": "按{metric}的排行，{rule}",
    "rank.rank": "名次",
    "rank.value": "数值",
    "rank.interval": "名次区间",
    "rank.first": "居首比例",
    "rank.group": "组",
    "rank.ties": (
        "由最佳者向下，若与上方组首的配对差异校正后不显著，则并入该组；否则成为下一组的组首。"
    ),
    "rank.tau": "与重抽样中次序的 Kendall tau：{tau}（{bounds}）。",
    "effect.caption": "规则对全部算法的影响",
    "effect.remark": (
        "各算法的均值 ± 标准差。单因素检验按发表的方法将各规则视为独立组；"
        "另两种检验利用了同一批算法处于每种规则之下这一事实。"
    ),
    "effect.one_way": "P（单因素）",
    "effect.one_way_hint": "单因素方差分析，独立组",
    "effect.repeated": "P（重复测量）",
    "effect.repeated_hint": "重复测量方差分析，Greenhouse–Geisser 校正",
    "effect.friedman": "P（Friedman）",
    "effect.friedman_hint": "Friedman 秩检验",
    "effect.pairs_caption": "规则两两比较",
    "effect.pair": "规则",
    "effect.mean_difference": "平均差（百分点）",
    "effect.unpaired": "P（非配对 t）",
    "effect.paired": "P（配对 t）",
    "effect.paired_holm": "Holm",
    "effect.wilcoxon": "P（Wilcoxon）",
    "effect.wilcoxon_holm": "Holm",
    "agreement.chart": "阅片者之间的一致性",
    "agreement.remark": "须线：区间；1 为完全一致，0 为偶然水平。",
    "spread.caption": "{name} 在其他参考标准下的 {metric}",
    "spread.reference": "采纳阅片者的方式",
    "spread.nodules": "结节",
    "spread.hit": "命中",
    "spread.remark": "从 {low} 到 {high}，取决于同一批阅片如何形成参考标准；区间不包含这一项。",
    "spread.undefined": "在所有参考标准下均无定义。",
    "combined.by_candidates": "合并候选列表：全部组合",
    "combined.by_scores": "平均分数：全部组合",
    "combined.remark": "实心：组合的成员。最佳值突出显示。",
    "combined.hits": "命中结节",
    "combined.sensitivity": "灵敏度",
    "combined.cpm": "CPM",
    "combined.best_single": "最佳单个",
    "combined.difference": "差异",
    "combined.candidates": "候选数",
    "combined.candidates_per_case": "每例",
}
