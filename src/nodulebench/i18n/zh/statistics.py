"""Codes -> why a statistic is undefined, and what looks at a sealed set mean, in Chinese."""

NOTICES = {
    # agreement of readers
    "nothing_drawn_by_two": "两位阅片者均未勾画",
    "nothing_drawn": "无人勾画",
    "no_case_with_two_readers": "没有由两位阅片者阅读的病例",
    "no_trend": "没有趋势可检验：全部检出或全未检出，或都在同一时段",
    "none_rated_by_both": "没有由两位阅片者共同评定的对象",
    "one_class_used": "两位阅片者只用了同一类别，一致性可全由偶然解释",
    "ratings_equal": "所有评定相同，一致性可全由偶然解释",
    "ratings_in_one_class": "所有评定属于同一类别，一致性可全由偶然解释",
    "few_rated_twice": "一致性分析需要至少两个由两位阅片者评定的对象",
    "no_interval_because": "没有区间：{reason}",
    "icc_too_few": "组内相关系数需要至少两个对象和两位阅片者",
    "icc_incomplete": "组内相关系数需要每位阅片者评定每个对象",
    "icc_without_error": "阅片者完全一致，因此区间未定义",
    "limits_too_few": "一致性界限需要至少两对测量值",
    "concordance_too_few": "一致性相关系数需要至少三对有变化的测量值",
    "pairs_alike": "没有区间：各对测量值全部相同或全不相关",
    "staple_one_sided": "STAPLE 需要轮廓内和轮廓外的体素",
    # reader studies
    "jackknife_too_few": "刀切法需要至少两个异常病例和两个正常病例",
    "study_too_small": "该分析需要至少两种条件和两位阅片者",
    "study_one_reader": "该分析需要至少两位阅片者",
    "read_at_several": "“{metric}”在多个点读取，而非一个",
    "error_not_positive": "{kind:word}分析的误差不为正",
    "readers_change_alike": "各阅片者在两种条件间变化相同，因此 F 未定义",
    "readers_do_not_differ": "各阅片者没有差异，因此检验未定义",
    # areas under curves
    "one_class_in_roc": "ROC 曲线需要阳性和阴性样本",
    "variance_too_few": "方差需要至少两个含阳性和两个含阴性的独立单元",
    "no_variance_of_difference": "两曲线下面积之差没有方差",
    "scores_separate": "分数完全分离：没有可估计的方差",
    # comparisons
    "difference_undefined": "差值或其几乎所有重复均未定义",
    "undefined_for_some": "该指标对某个算法在某条规则下未定义",
    "undefined_for_one": "该指标对其中一个算法未定义",
    "undefined_for": "该指标对 {algorithms:list} 未定义",
    "undefined_on_pilot": "该指标对其中一个算法在预试验集上未定义",
    "undefined_at_size": "该指标在 {size} {unit:word}的测试集中未定义",
    "no_hit_at_baseline": "在基线规则下没有命中的结节",
    "ranking_too_few": "排名需要至少两个算法",
    "no_common_replicate": "没有所有算法均有定义的重复",
    "algorithms_equal": "所有算法的数值相同",
    "nothing_in_common": "没有两个算法都应检出的结节",
    "nothing_tells_apart": "没有能区分两个算法的结节",
    "one_patient": "仅有一名患者，没有患者间方差",
    "rule_does_not_apply": "该规则不适用",
    "reason_for_algorithm": "{algorithm}：{reason}",
    "no_permutation": "没有置换检验：{reason}",
    # tests over groups
    "deviation_too_few": "标准差需要至少两个数值",
    "anova_too_few": "方差分析需要至少两组",
    "groups_constant": "组内没有变化，因此 F 未定义",
    "neither_varies": "两组均无变化，因此 t 未定义",
    "friedman_too_few": "Friedman 检验需要至少三种条件",
    "conditions_equal": "各条件没有差异，因此秩检验未定义",
    "pairs_equal": "各对没有差异，因此秩检验未定义",
    "paired_too_few": "配对检验需要至少两个单元和两种条件",
    "differences_constant": "差值在各单元间没有变化，因此检验未定义",
    "test_of_rules": "{test:one_way=单因素|repeated=重复测量|friedman=Friedman}：{reason}",
    "test_of_two_rules": "{first:word}对{second:word}：{reason}",
    # sizes and lungs
    "no_size_errors": "没有观察到的尺寸误差",
    "empty_size_class": "共 {classes} 个尺寸类别，第 {number} 个没有观察到的误差",
    "no_large_nodule": "没有结节达到最小尺寸",
    "no_small_nodule": "没有结节小于最小尺寸",
    "no_inner_lung": "肺内没有距胸膜 {distance_mm:g} mm 以上的体素",
    "no_window_in_lungs": "肺内没有 {window} x {window} 的窗口",
    # looks at a sealed set
    "no_evaluation": "没有查看记录",
    "bad_correlation": "相关系数 {correlation:g} 不在 0 与 1 之间",
    "no_bound_holds": "反馈透露过多，对会据此调整的开发者没有成立的界限",
    "undisclosed_undefined": "未定义",
    "not_a_share": "不在 0 与 1 之间",
    "repeated_evaluation": (
        "这是第 {look} 次查看同一批病例。{look} 次同等水平的提交中最好的一次平均最多高估 "
        "{optimism:.2f} 个标准误；下限需要 {needed:.2f} 个而非 {usual:.2f} 个标准误。"
    ),
    "evaluation_after_failure": (
        "此前一次查看因测试集内容而失败，这本身也是一个答案：下限需要 {needed:.2f} 个标准误，"
        "而不是 {usual:.2f} 个。"
    ),
    "repeated_evaluation_unbounded": (
        "这是第 {look} 次查看同一批病例。{look} 次同等水平的提交中最好的一次平均最多高估 "
        "{optimism:.2f} 个标准误；{reason}。"
    ),
}
