"""What a test set consists of and whether that is its design, in Chinese: its page, its notices."""

TEXTS = {
    "coverage.kind": "NoduleBench · 测试集构成",
    "coverage.footer": "NoduleBench {version}。所有数字均列于 coverage.json。",
    "coverage.no_design": "未给出设计。",
    "coverage.lead": "{design}：{rules} 条规则中满足 {met} 条。",
    "coverage.lead_preferred": (
        "{design}：{rules} 条规则中满足 {met} 条；其余规则中 {preferred} 条为优先项。"
    ),
    "coverage.total_cases": "病例",
    "coverage.total_patients": "患者",
    "coverage.total_hospitals": "医院",
    "coverage.total_provinces": "省份",
    "coverage.total_nodules": "结节",
    "coverage.total_ignored findings": "忽略所见",
    "coverage.section_design": "设计输入",
    "coverage.section_rules": "设计的规则",
    "coverage.section_ranges": "范围",
    "coverage.section_shares": "构成比",
    "coverage.section_thin": "样本不足的分层",
    "coverage.section_against": "与另一测试集对照",
    "coverage.sizes": "两者规模",
    "coverage.hard": "影响检出难度的因素",
    "coverage.hard_nodules_per_case": "每例结节数",
    "coverage.hard_median_diameter_mm": "直径中位数（mm）",
    "coverage.hard_small_share": "小于 6 mm 的比例",
    "coverage.hard_subsolid_share": "部分实性与磨玻璃的比例",
    "coverage.hard_not_seen_by_all_share": "未被全部阅片者标出的比例",
    "coverage.hard_near_vessel_share": "邻近血管的比例",
    "coverage.hard_near_cavity_share": "邻近空洞的比例",
    "coverage.hard_subtlety": "可见度（1 极难见，5 明显）",
    "coverage.one_sided": "仅一方注明：{columns}。",
    "coverage.distance": "需改变 {distance:.0%} 的行，两者比例方能相同。",
    "coverage.section_commission": "供仲裁委员会使用",
    "coverage.purpose": "目的",
    "coverage.patients": "患者",
    "coverage.identification": "病例和序列的命名",
    "coverage.unknown": "未注明",
    "coverage.unknown_remark": "设计中的分层，其列在病例表和结节表中均不存在。",
    "coverage.head_rule": "规则",
    "coverage.head_source": "依据",
    "coverage.head_required": "要求",
    "coverage.head_found": "现有",
    "coverage.head_answer": "结论",
    "coverage.head_missing": "缺少",
    "coverage.head_low": "最小",
    "coverage.head_mean": "平均",
    "coverage.head_high": "最大",
    "coverage.head_stated": "已注明的病例",
    "coverage.in_unit": "{column}（{unit}）",
    "coverage.of_cases": "病例的{column}",
    "coverage.of_nodules": "结节的{column}",
    "coverage.more": "另有 {count} 项列于 coverage.json。",
    "coverage.percent": "百分比",
    "coverage.head_column": "列",
    "coverage.head_stratum": "分层",
    "coverage.head_nodules": "结节",
    "coverage.head_half_width": "半宽",
    "coverage.thin_remark": (
        "灵敏度为 {sensitivity:g} 时，95 % 区间（Wilson，结节相互独立）向一侧的宽度将超过 "
        "{half_width:g}。同一患者的结节相关，实际宽度更大。"
    ),
    "coverage.head_topic": "审查内容",
    "coverage.head_evidence": "数据中的证据",
    "coverage.head_judged": "评判",
    "coverage.head_by": "签名、日期",
}

NOTICES = {
    # what a rule asks for
    "asks_rows": "至少 {count:,} {table:word}[（{where:all}）]",
    "asks_different": "至少 {count} 个不同的 {column}[（{where:all}）]",
    "asks_values": "{column}：{wanted:words}[，各至少 {each:,} {table:word}]",
    "asks_shares": "{planned:words}，各允许相差 {points:g} 个百分点",
    "asks_share": "至少 {share:.0%} 的{table:cases=病例|nodules=结节}[（{where:all}）]",
    "asks_all_stated": "每{table:cases=例病例|nodules=个结节}均注明 {column}[（{where:all}）]",
    "where_values": "{column} 为 {values:either}",
    "where_range": "{column}[ 不小于 {at_least:g}][ 小于 {below:g}][ 不大于 {at_most:g}]",
    # what was found
    "rows_found": "共 {count:,}",
    "different_found": "{count} 种",
    "share_found": "{total:,} 中有 {count:,}（{share:.1%}）",
    "stated_found": "{total:,} 中有 {count:,} 已注明",
    "each_found": "其中 {found:words}",
    "columns_absent": "{table:cases=病例|nodules=结节}表没有列 {columns:list}",
    # what would have to be added
    "lacks_columns": "列 {columns:list}",
    "lacks_rows": "还需 {count:,} {table:word}",
    "lacks_share": "{share:.1%} 的{table:cases=病例|nodules=结节}",
    "lacks_different": "还需 {count} 种 {column}",
    "lacks_stated": "{count:,} {table:word}的 {column}",
    "lacks_value": "{name:word} 还需 {count:,} {table:word}",
    "share_off": "{name:word}：{is_more:True=多|*=少} {gap:.1%}",
    "lacks_any": "没有任何{table:cases=病例|nodules=结节}",
    # what a commission inspects
    "sufficiency": "充分性",
    "heterogeneity": "异质性",
    "label_quality": "标注质量",
    "ethics_and_law": "伦理与法律",
    "size_of_set": (
        "{cases:,} 例病例，{nodules:,} 个结节；{thin} 个样本不足的分层；"
        "{rules} 条规则中满足 {met} 条"
    ),
    "different_hospitals": "{count} 家医院",
    "different_countries": "{count} 个国家",
    "different_vendors": "厂家 {vendors:words}",
    "not_stated": "未注明",
    "labels_stated": (
        "一致的阅片者数：[{agreement:words}|未注明]；结节的真值：[{truth:words}|病理或随访未注明]"
    ),
    "approvals_stated": (
        "伦理批件：[{approvals:words}|未注明]；公开：[{public:words}|未注明病例是否公开]"
    ),
}
