"""Codes -> why a metric or a rule is undefined, in Chinese."""

NOTICES = {
    # metrics
    "no_nodules": "没有应检出的结节",
    "no_nodules_for_recall": "没有应检出的结节，因此召回率未定义",
    "nothing_counts": "没有计为命中或假阳性的标记",
    "neither_nodules_nor_marks": "既没有结节也没有标记",
    "no_cases": "没有病例",
    "no_normal_case": "没有不含结节的病例",
    "no_normal_case_for": (
        "没有不含结节的病例，而{metric:case_roc=病例 ROC |lroc= LROC |AFROC= AFROC |wAFROC= "
        "wAFROC }需要此类病例[；{instead} 不需要]"
    ),
    "no_scores": "标记没有分数，只有一个工作点，没有曲线",
    "rate_too_low": "在如此低的假阳性率下不能计入任何标记",
    "program_stops": "没有计入的标记；官方程序报错终止（精确计数：0）",
    "program_gives_nan": "没有命中的结节；官方程序给出 NaN（精确计数：0）",
    "one_kind_only": "所判断的结节全部为{kind:malignant=恶性|benign=良性}；ROC 需要良性和恶性两类",
    "unpaired": (
        "没有检出的结节在参考标准和标记中同时具有{what:density=密度|type=类型|category=分类}"
    ),
    "unpaired_category": "没有检出的结节在参考标准和标记中同时具有 Lung-RADS 分类",
    "unpaired_long_axis": "没有检出的结节在参考标准和标记中同时具有长径",
    "unpaired_diameter": "没有检出的结节在参考标准和标记中同时具有直径",
    "one_class_only": (
        "所有检出结节两侧的{what:density=密度|type=类型|category=分类}均为“{label:word}”，因此"
        "偶然一致率为 1"
    ),
    "malignancy_unknown": "参考标准没有将任何结节判为良性（0）或恶性（1）",
    "no_stated_malignancy": "没有标记给出恶性概率",
    "no_rated_malignancy": "已知良恶性的结节中没有带概率的检出",
    "few_grades": "带概率检出的结节的恶性等级不足两级",
    "no_rated_nodule": "没有被判断的结节",
    "no_rated_malignant": "没有被判断的恶性结节",
    "no_rated_benign": "没有被判断的良性结节",
    "none_called_malignant": "没有被判为恶性的结节",
    "none_malignant": "没有恶性结节，也没有被判为恶性的结节",
    "no_stated_density": "没有标记给出密度",
    "density_unknown": "参考标准没有任何结节的密度",
    "no_found_density": "检出的结节在参考标准中都没有密度",
    "no_runs": "提交文件没有运行记录表",
    "no_timed_run": "没有成功且带时间的运行",
    "no_case_run": "测试集中没有运行过的病例",
    "no_area": "检出的结节都没有面积大于零的轮廓或边界框",
    "no_slices_in_reference": "参考标准没有逐层边界框或轮廓",
    "no_slices_in_submission": "提交文件没有逐层边界框或轮廓",
    "no_slices_on_both_sides": "检出的结节没有两侧都具备边界框或轮廓的",
    # intervals and strata
    "undefined_here": "在这些病例上未定义",
    "no_interval": "没有区间：{replicates} 次重复中有 {lost} 次未定义",
    "replicates_lost": "{replicates} 次重复中有 {lost} 次未定义，已略去",
    "replicates_without_hit": "{replicates} 次重复中有 {lost} 次没有命中，已略去",
    "no_interval_without_hits": "没有区间：重复中没有命中",
    "replicates_equal": "所有重抽样结果相同：按 {count} 个{unit:word}给出精确区间",
    "few_patients": "{unit:word}少（{units}）：区间主要取决于所假设的一名未见患者",
    "too_few_for_rate": (
        "没有区间：对于无上限的率，{units} 个{unit:word}太少（至少需要 {needed} 个）"
    ),
    "approximate_rate": "近似：仅由 {units} 个{unit:word}得到的无上限的率",
    "too_few_unguarded": "没有区间：与之有关的{unit:word}有 {units} 个，至少需要 {needed} 个",
    "no_variation": "没有区间：未见任何变异",
    "empty_stratum": "该分层中没有可计数的对象",
    "not_computed": "未计算",
    "too_few_to_tell": "数量过少，不予说明",
    "tells_few": "不予说明：否则可推算出数量过少的结节",
    "withheld": "不公开",
    # rules
    "no_boxes_in_submission": "{rule:word}需要逐层边界框；提交文件只有点坐标",
    "no_boxes_in_reference": "{rule:word}需要逐层边界框；参考标准只有点坐标",
    "nodules_unmeasured": "尺寸限制需要每个结节的直径；有 {count} 个未测量",
    "marks_unmeasured": (
        "尺寸限制需要每个标记的直径；{marks} 个中有 {count} 个没有[，首个为病例“{case}”的标记"
        "“{mark}”]"
    ),
    "no_size_limit": "方案“{protocol}”没有尺寸限制",
    "no_hit_to_compare": "在比较所依据的规则下没有命中的结节",
    "rule_not_applied": "未应用规则{rule:word}",
    "rule_not_applicable": "规则{rule:word}无法应用：{reason}",
    # plans
    "not_planned": "本次测试与计划的测试不同",
    "plan_undecided": "至少有一条准则在本测试集上无法判定；原因由实验室掌握",
    "no_such_metric": "评价中没有该指标",
    "not_assessable": (
        "无法评定：以 {units} 个{unit:word}，即使结果完美也无法达到[；至少需要 {needed} 个]"
    ),
    "gate_closed": "未检验：准则族“{family:word}”未全部满足",
    "lost_by_adjustment": (
        "单独满足[（P {p_value:.2g}）]，但与同族其他准则一并校正后不满足"
        "（校正 P {adjusted:.2g}，允许 {alpha:.2g}）"
    ),
    "no_bound": "没有{bound:low=下限|high=上限|value=数值}",
}
