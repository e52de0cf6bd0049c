"""Methods, uncertainty and traceability, in Chinese; braces take the values.

``NOTICES`` says by code how an interval, a test or a size of a test was made.
"""

TEXTS = {
    "rules.caption": "规则：何为命中",
    "rules.hit": "命中",
    "rules.parameters": "参数",
    "rules.as_published": "与发表的相同",
    "protocol.caption": "方案的有效值",
    "protocol.name": "方案",
    "protocol.source": "来源",
    "protocol.test_set": "测试集",
    "protocol.rule_not_stated": "测试集未说明",
    "protocol.reference_rule": "参考标准的形成规则",
    "protocol.intended_use": "预期用途",
    "protocol.size_limit": "尺寸限制",
    "protocol.assignment": "标记与结节的匹配",
    "protocol.duplicates": "同一结节上的其余标记",
    "protocol.scored_marks": "评判的标记",
    "protocol.score_threshold": "分数阈值",
    "protocol.operating_point": "读取处",
    "protocol.point": (
        "每例 {rate} 个假阳性：各算法假阳性不超过该数的最低分数阈值。计数、召回率、精确率、漏检和"
        "分层均按该阈值以上的标记；曲线含全部标记。区间视阈值为固定。"
    ),
    "protocol.operating_points": "工作点",
    "protocol.reading": "曲线读数方式",
    "protocol.size_bins": "大小分组",
    "protocol.smallest_stratum": "给出比率的最小分层",
    "protocol.intervals": "区间",
    "protocol.seed": "随机种子",
    "protocol.points": "每例 {points} 个假阳性",
    "protocol.half_open": "{bins} mm，左闭右开",
    "protocol.nodules": "{count} 个结节",
    "protocol.limit": "{minimum} mm 及以上的结节，尺寸误差容差 {tolerance} mm，按“{reading}”解读",
    "interpolation.linear": "曲线相邻点之间的直线",
    "interpolation.step": "不超过允许假阳性数时达到的最高灵敏度",
    "interpolation.luna16": "与 LUNA16 官方程序的读法相同，包括舍入",
    "interval.over": "{level}，{method}，按{unit}",
    "interval.guarded": "带保护的贝叶斯自助法（加入一名最差与最好的未见患者）",
    "interval.percentile": "百分位数自助法",
    "interval.bca": "偏差校正加速自助法（BCa）",
    "interval.jackknife": "刀切法，正态界限",
    "interval.luna16": "LUNA16 官方程序的自助法，按排序下标取界",
    "interval.none": "无（未做自助法重复）",
    "interval.replicates": "，{count} 次重复",
    "interval.further": "；另有：{others}",
    "interval.sound": "。显示与判定均采用带保护的贝叶斯自助法；上述方法的界限并列给出",
    "interval.official": (
        "。显示与判定均采用带保护的贝叶斯自助法；官方界限在无漏检时无效，并列给出"
    ),
    "ties.drop": "与上限处同分的标记舍去",
    "ties.keep": "与上限处同分的标记保留",
    "ties.file_order": "同分时按文件次序截取",
    "cap.all": "全部",
    "cap.best": "每例分数最高的 {count} 个；{ties}",
    "scope.types": "类型为{types}的结节",
    "scope.every_type": "各种类型的结节",
    "scope.narrowed": "，并限于各算法声明适用的类型",
    "scope.others_ignored": "；其余为忽略区",
    "terms.caption": "各指标在 IEEE 2802-2022 中的名称",
    "terms.here": "本报告",
    "terms.term": "IEEE 2802-2022",
    "remarks.caption": "规则的应用情况",
    "facts.caption": "开发者声明",
    "identity.caption": "标识",
    "identity.submission": "提交文件 {name}",
    "identity.no_file": "无：未从文件读取",
    "uncertainty.caption": "主要指标的扩展不确定度",
    "uncertainty.remark": (
        "{level} 区间宽度的一半，及其向两侧的范围：在同一总体的其他病例上，该指标可能变动的幅度。"
        "其他不确定度来源见下表。"
    ),
    "uncertainty.value": "数值",
    "uncertainty.half_width": "半宽",
    "uncertainty.sides": "向下 / 向上",
    "sources.caption": "不确定度来源",
    "sources.source": "来源",
    "sources.treated": "本报告的处理",
    "sources.in_interval": "是否计入区间",
    "source.sampling": "病例的选取",
    "source.sampling_text": "{how}。",
    "source.sampling_in": "是",
    "source.rule": "命中规则",
    "source.rule_text": "在每种规则下给出结果；不同规则间召回率最多相差 {largest}。",
    "source.rule_single": "只应用了一种规则，结果仅对其成立。",
    "source.rule_in": "否，另行列出",
    "source.order": "匹配顺序",
    "source.order_text": "命中数随结节匹配顺序最多变化 {largest}。",
    "source.order_in": "否，另行列出",
    "source.reference": "参考标准",
    "source.reference_text": (
        "由阅片者的所见按规则“{rule}”合成。不同阅片者之间或不同日期之间的差异未在本测试中测量。"
    ),
    "source.reference_in": "否",
    "source.size": "尺寸测量",
    "source.size_text": "直径取自参考标准。靠近大小分界的结节可能属于相邻分组。",
    "source.size_swept": ("直径取自参考标准；结果随尺寸误差容差的变化见“进一步分析”。"),
    "source.size_in": "否",
    "source.replicates": "重复次数",
    "source.replicates_text": "{count} 次重复，种子 {seed}；相同种子给出相同界限。",
    "source.replicates_in": "不需要：可重复",
    "source.algorithm": "算法的重复性",
    "source.algorithm_text": "只评判了一组标记；算法能否再次给出相同结果在此未知。",
    "source.algorithm_in": "否",
    "source.computing": "计算",
    "source.computing_text": (
        "计数为整数，曲线完整保存；相同输入和相同版本给出相同数值。"
        "程序已与 LUNA16 官方程序、独立软件及已发表数值核对。"
    ),
    "source.computing_in": "不需要：可重复",
    "trace.caption": "溯源性：每个数值的来源",
    "trace.step": "步骤",
    "trace.identity": "标识",
    "trace.remark": "“nodulebench verify”由判定结果、数据表和方案重新计算每个数值，并指出差异。",
    "trace.report": "本报告显示",
    "trace.metrics": "计算程序",
    "trace.protocol": "依据方案",
    "trace.labels": "标记的判定",
    "trace.marks": "{name} 的标记",
    "trace.reference": "参考标准的所见",
    "trace.cohort": "病例",
    "trace.plan": "事先冻结的测试计划",
    "trace.withheld": "不公开：实验室知悉",
    "sketch.luna16": "标记（方形）到结节中心的三维距离小于结节半径。",
    "sketch.center_hit": "标记框的中心位于结节轮廓内。",
    "sketch.center_distance": "两框中心的距离小于平均半径。",
    "sketch.area_overlap": "标记框覆盖结节框的一半以上。",
    "sketch.remark": "实线：结节；虚线框或方形：标记；仅示一个层面。",
    "course.title": "测试全流程",
    "course.design": "设计：{protocol}",
    "course.plan": "验收标准已在计划中固定",
    "course.collection": "收集：{name} 的扫描",
    "course.cleaning": "清洗：保留 {patients} 名患者的 {cases} 例",
    "course.cleaning_cases": "清洗：保留 {cases} 例",
    "course.annotation": "标注：{nodules} 个结节，参考标准规则：{rule}",
    "course.ignored": "{count} 个不计入的所见",
    "course.release": "发布：参考标准已固定，摘要 {digest}",
    "course.test": "测试：{algorithms} 个算法，规则：{rules}",
    "flow.title": "逐个结节的匹配流程",
    "flow.next": "取参考标准中的下一个结节",
    "flow.qualifies": "是否有未占用的标记在任一层面上满足规则？",
    "flow.missed": "结节漏检，继续向下",
    "flow.best": "若有多个标记，取最佳者",
    "flow.hit": "该标记为命中，不再可用",
    "flow.more": "该病例还有结节吗？",
    "flow.again": "从头开始",
    "flow.rest": "仍未占用的标记为假阳性",
    "flow.best_center_hit": "{rule}规则下的最佳者：离结节最大层面最近。",
    "flow.best_center_distance": "{rule}规则下的最佳者：距离最短。",
    "flow.best_area_overlap": "{rule}规则下的最佳者：覆盖比例最大。",
}

NOTICES = {
    # intervals
    "guarded_bootstrap": (
        "带保护的贝叶斯自助法，按{unit:word}，{replicates} 次重复"
        "（一名未见患者，其结节全部漏检/检出，先验组内相关 {icc:g}）"
    ),
    "guarded_paired_bootstrap": (
        "带保护的贝叶斯自助法，按{unit:word}配对，{replicates} 次重复"
        "（一名未见患者，先验组内相关 {icc:g}）"
    ),
    "bayesian_paired_bootstrap": "贝叶斯自助法，按{unit:word}配对，{replicates} 次重复",
    "bayesian_bootstrap": "贝叶斯自助法，按{unit:word}，{replicates} 次重复",
    "percentile_bootstrap": "百分位自助法，按{unit:word}抽样，{replicates} 次重复",
    "bca_bootstrap": "BCa 自助法，按{unit:word}抽样，{replicates} 次重复",
    "luna16_bootstrap": "LUNA16 自助法，按扫描抽样，{replicates} 次重复，取排序后序号处的界限",
    "jackknife": "刀切法，按{unit:word}，正态近似",
    "clopper_pearson": "Clopper-Pearson 法，按{unit:word}",
    "paired_bootstrap": "配对自助法，百分位",
    "ratio_estimator": "按患者的比值估计，正态近似",
    "kendall_tau": "各次重复的 Kendall tau-b，百分位",
    "delong": "DeLong 法，正态近似",
    "obuchowski_clustered": "Obuchowski 1997（整群），正态近似",
    # tests
    "guarded_against_margin": (
        "{level:.0%} 双侧带保护区间与界值比较，{better:higher=越高越好|lower=越低越好}"
    ),
    "interval_against_margin": (
        "{level:.0%} 双侧百分位区间与界值比较，{better:higher=越高越好|lower=越低越好}"
    ),
    "permutation_test": "置换检验，按抽样单位交换算法标签，[随机 {swaps} 次|全部交换]",
    "tied_with_leader": (
        "自最佳者向下，若与上方组首的配对差值经所有配对校正后不显著，则归入该组；"
        "否则成为下一组的组首。同组之内的次序只是本次样本的偶然。"
    ),
    "mcnemar_exact": "McNemar 检验（精确）",
    "mcnemar_durkalski": "整群 McNemar 检验（Durkalski 2003）",
    "mcnemar_obuchowski": "整群 McNemar 检验（Obuchowski 1998）",
    "mcnemar_eliasziw_donner": "整群 McNemar 检验（Eliasziw 与 Donner 1991）",
    "one_way_anova": "单因素方差分析（独立组）",
    "repeated_anova": "重复测量方差分析",
    "repeated_anova_corrected": "重复测量方差分析（Greenhouse-Geisser 校正）",
    "friedman": "Friedman 检验",
    "unpaired_t": "非配对 t 检验（合并方差）",
    "paired_t": "配对 t 检验",
    "wilcoxon_exact": "Wilcoxon 符号秩检验（精确）",
    "wilcoxon_normal": "Wilcoxon 符号秩检验（正态近似）",
    "obuchowski_rockette": (
        "Obuchowski-Rockette 法，{covariance:jackknife=刀切法}协方差，{kind:word}"
    ),
    # agreement of readers
    "positive_agreement": "阳性一致率",
    "jackknife_over_subjects": "{of}，按对象的刀切法",
    "cohen_kappa": "Cohen kappa 系数[，{weights:word}加权]，正态近似",
    "fleiss_kappa": "Fleiss kappa 系数",
    "gwet_ac1": "Gwet AC1 系数",
    "krippendorff_alpha": (
        "Krippendorff alpha 系数，{scale:nominal=名义|ordinal=有序|interval=等距}尺度"
    ),
    "icc": "组内相关系数 ICC({form})，Shrout 与 Fleiss 1979",
    "mean_difference_t": "平均差值，t 分布",
    "limit_of_agreement": "一致性界限（{share:.0%}），Bland 与 Altman 1999",
    "lin_concordance": "Lin 一致性相关系数",
    "lin_concordance_z": "Lin 一致性相关系数，Fisher z 变换",
    # sample sizes
    "normal_interval_of_proportion": "比例的正态区间，含设计效应",
    "normal_interval_of_mean": "{family:word}分布均值的正态区间",
    "normal_interval_of_area": (
        "正态区间，{variance:hanley_mcneil=Hanley-McNeil 1982|obuchowski=Obuchowski 1994} 方差"
    ),
    "normal_test_of_areas": (
        "两面积的正态检验，{variance:hanley_mcneil=Hanley-McNeil 1982|"
        "obuchowski=Obuchowski 1994} 方差"
    ),
    "exact_acceptance": "精确{family:word}接收检验",
    "mcnemar_connor": "McNemar 检验，正态近似（Connor 1987）",
    "paired_non_inferiority": "配对比例的非劣效性，正态近似（Liu 2002）",
    "obuchowski_rockette_power": (
        "Obuchowski-Rockette 检验效能（Hillis、Obuchowski 与 Berbaum 2011）"
    ),
    "pilot_bootstrap": "由预试验集以自助法推至更大样本",
}
