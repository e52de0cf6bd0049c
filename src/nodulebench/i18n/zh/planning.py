"""Codes -> what a plan was asked and what it assumes, in Chinese."""

NOTICES = {
    # what was asked
    "ask_sensitivity": (
        "需要多少个结节，才能以 ± {half_width:g} 的精度得知 {sensitivity:g} 的灵敏度？"
    ),
    "ask_acceptance": "怎样的试验能证明灵敏度高于 {unacceptable:g}？",
    "ask_paired": "需要多少个结节，才能证明两个算法[的差异不超过 {margin:g} 的损失|有差异]？",
    "ask_false_positives": (
        "需要多少个病例，才能以 ± {half_width:g} 的精度得知每例 {rate:g} 个假阳性？"
    ),
    "ask_fewer_false_positives": "怎样的试验能证明每例假阳性少于 {unacceptable:g} 个？",
    "ask_area": "需要多少个阳性，才能以 ± {half_width:g} 的精度得知 {auc:g} 的曲线下面积？",
    "ask_areas": "需要多少个阳性，才能区分 {baseline:g} 与 {expected:g} 的曲线下面积？",
    "ask_pilot": (
        "需要多少{unit:patients=名患者|cases=个病例}，才能证明该算法[的损失小于 {margin:g}|更好]？"
    ),
    "ask_readers": "{readers} 名阅片者须阅读多少个病例，才能发现 {difference:g} 的提高？",
    # what is expected
    "assume_near": "{what:sensitivity=灵敏度|area=曲线下面积}接近 {value:g}。",
    "assume_rate": "每例约有 {rate:g} 个假阳性。",
    "assume_areas": (
        "曲线下面积为 {baseline:g} 和 {expected:g}；两个估计值的相关系数为 {correlation:g}。"
    ),
    "assume_difference": "灵敏度相差 {difference:g}。",
    "assume_discordance": "恰由一个算法检出的结节占 {discordance:g}。",
    "assume_pilot_difference": (
        "差值为 {difference:.4g}，{is_assumed:True=系假定|*=与预试验集相同}。"
    ),
    "may_pass": ("{what:rate=每例假阳性|*=灵敏度}为 {value:g} 的产品通过的概率至多为 {alpha:g}。"),
    "shall_pass": (
        "{what:rate=每例假阳性|*=灵敏度}为 {value:g} 的产品通过的概率至少为 {power:g}。"
    ),
    # how things vary
    "one_nodule_each": "每名患者有一个结节；若有多个，请注明。",
    "several_nodules_each": (
        "每名患者平均有 {mean:g} 个结节，标准差 {sd:.4g}"
        "{is_sd_assumed:True=（假定：几何分布）|*=}，相关系数 {correlation:g}"
        "{is_correlation_assumed:True=（假定）|*=}：设计效应 {effect:.4g}。"
    ),
    "nodules_independent": "结节相互独立：每名患者取一个，或乘以设计效应。",
    "cases_independent": "病例相互独立。",
    "negatives_for_each": "每个阳性对应 {ratio:g} 个阴性，均相互独立。",
    "scores_spread": (
        "分数在两组中均服从{variance:hanley_mcneil=指数分布（Hanley 和 McNeil）|"
        "obuchowski=离散程度相同的正态分布（Obuchowski）}。"
    ),
    "counts_spread": (
        "每例计数[服从负二项分布，方差为 rate + {dispersion:g} rate^2|"
        "按泊松分布变化；实际计数的变化往往更大]。"
    ),
    "like_the_pilot": (
        "{unit:patients=患者|cases=病例}与预试验集的 {units} {unit:patients=名|cases=例}相似。"
    ),
    "like_the_pilot_study": (
        "阅片者和病例的变异与含 {cases} 个病例的预试验相同，异常病例所占比例也相同。"
    ),
    "all_read_all": "全部 {readers} 名阅片者在有辅助和无辅助时均阅读所有病例。",
    # how it is decided
    "interval_normal": (
        "{of:rate=病例相互独立；|*=}区间为 {level:g} 水平的正态区间"
        "{of:sensitivity=；接近 0 或 1 时偏短|pilot=，采用模拟的标准误|*=}。"
    ),
    "test_sided": "检验为{sides:1=单|2=双}侧，水平 {alpha:g}。",
    "test_of_readers": "检验为双侧，水平 {alpha:g}，阅片者和病例均视为随机。",
    "power_not_monotone": "功效并不随样本量单调变化；略大于答案的样本量，其功效可能稍低。",
    "power_simulated": "功效由 {simulations} 个模拟测试集得出，精度为 ± {error:.2g}。",
    # sizes that are measured with error
    "sizes_exponential": (
        "不小于 {minimum_mm:g} mm 的尺寸服从指数分布，平均超出 {excess_mm:g} mm。"
    ),
    "sizes_observed": "尺寸取自 {file} 的 {count} 个结节。",
    "size_error_normal": (
        "报告尺寸 = 真实尺寸 + 正态误差，均值 {mean_mm:g} mm，标准差 {sd_mm:g} mm。"
    ),
    "size_error_observed": (
        "尺寸误差取自 {file} 的 {count} 个结节，[以 {edges_mm:list} mm 为界分别统计|各种尺寸相同]。"
    ),
    "any_reported_size": "对任何报告尺寸的结节的灵敏度：{sensitivity:g}。",
}
