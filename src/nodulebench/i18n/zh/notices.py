"""Codes -> what a reader must know, and remarks, in Chinese."""

NOTICES = {
    "as_stated": "{text}",
    # the test set and its marks
    "marks_dropped": "不在病例列表中的 {cases} 个病例的 {marks} 个标记已舍去[：{names:names}]。",
    "headers_dropped": "重复的 {count} 行表头已舍去。",
    "strata_not_known": "测试集未注明{columns:words}，结果不按其分层。",
    "marks_over_cap": (
        "有 {count} 个标记超出每例最高 {cap} 个的上限，未评判（"
        "{ties:drop=上限处同分的标记全部舍去|keep=上限处同分的标记全部保留|"
        "file_order=同分时按文件次序截取}）。"
    ),
    "weights_saw_scans": (
        "{cases:,} 个扫描中有 {count:,} 个由曾以其训练的权重评判[：{names:names}]。"
        "在这些扫描上测得的数值不能推广到其他扫描。"
    ),
    "candidates_scored": "标记对[ {file} 中] {candidates} 个候选的 {scored} 个给出了分数。",
    "outside_image": (
        "{checked} 个位置中有 {outside} 个位于病例图像之外。[若将 x 与 y 取反则为 {mirrored} 个"
        "：坐标是否为 RAS？NoduleBench 需要 LPS。]"
    ),
    "marks_repeated": (
        "{cases:,} 个病例中有 {marks:,} 个标记重复给出（位置与分数相同）[：{names:names}]。若规则"
        "计入多余标记，它们计为假阳性。"
    ),
    "cases_without_marks": (
        "{cases:,} 个病例中有 {count:,} 个没有标记[：{names:names}]。它们仍计入所有分母：算法是否"
        "在这些病例上运行过，或这只是其中一折（--series）？"
    ),
    "runs_failed": (
        "{runs:,} 次运行中有 {failed:,} 次失败，{timed_out:,} 次超时[：{names:names}]。相应病例仍"
        "计入所有分母。"
    ),
    # the lungs that a detector looks into
    "lungs_without_tissue": "体内没有任何含气区域具有肺的密度、血管和胸壁",
    "lungs_unlike": (
        "{measure:volume_ml=肺体积（ml）|height_mm=肺高度（mm）|median_hu=肺密度中位数（HU）|"
        "body_share=肺占身体断面的比例|exposed_share=肺边界贴近皮肤的比例|"
        "left_out_share=未纳入的肺样含气区域与肺体积之比}为 {value:,.4g}，应在 {low:,g} 至 "
        "{high:,g} 之间"
    ),
    "lungs_implausible": (
        "所认定的肺不符合肺的特征：{doubts:list}。可能漏检结节，标记可能位于肺外：使用这些标记前"
        "请查看该扫描。"
    ),
    "lungs_unusual": "请查看肺部：{doubts:list}。",
    "runs_lungs_implausible": (
        "{runs:,} 次运行中有 {count:,} 次算法未找到可信的肺[：{names:names}]。相应病例仍计入所有"
        "分母，其标记照常计数。"
    ),
    "one_lung": "只有一侧肺（另一侧为其体积的 {smaller_share:.0%}）",
    "threshold_declared": (
        "召回率、精确率、F 值、每例假阳性数和漏检按算法声明的阈值 {declared:g} 读取；曲线及由其读取"
        "的指标使用全部标记。"
    ),
    "threshold_overridden": "方案规定的阈值 {threshold:g} 取代算法声明的 {declared:g}。",
    "threshold_not_used": (
        "未使用算法声明的阈值 {declared:g}：方案在每例 {rate:g} 个假阳性处读取。"
    ),
    "threshold_without_scores": (
        "算法声明了阈值 {declared:g}，但并非所有标记都有分数：全部标记都计入。"
    ),
    "names_nearly_match": (
        "若{way:file=去掉文件夹和文件扩展名|letters=不计扩展名和大小写|signs=不计连字符、下划线、"
        "点等符号}，其中 {marks:,} 个标记将属于测试集的 {cases:,} 个病例[：“{given}”是否为“{case}”"
        "？]"
    ),
    "scores_inverted": (
        "命中的分数低于假阳性：仅 {share:.0%} 的配对中命中分数较高。这里是否低分表示结节？应以高分"
        "表示。"
    ),
    "would_be_hit": (
        "若{slip:ras=将 x 与 y 取反（是否为 RAS？应为 LPS）|x_mirrored=将 x 取反|"
        "y_mirrored=将 y 取反|z_mirrored=将 z 取反|zyx=各列按 z、y、x 排列|yxz=交换 x 与 y|"
        "xzy=交换 y 与 z|centimetres=单位为厘米|metres=单位为米|flipped_z=层面从另一端计数|"
        "voxels=数值为体素而非毫米|voxels_zyx=数值为按 z、y、x 排列的体素|"
        "from_first_voxel=毫米从第一个体素起算而未加原点}，则有标记的病例中 {nodules:,} 个结节里有 "
        "{hits:,} 个会被命中；目前为 {given:,} 个。"
    ),
    "few_hits": (
        "在有标记的病例中，{nodules:,} 个结节里仅有 {given:,} 个被命中，且常见的坐标错误都"
        "不能解释。[未尝试体素与层面翻转：{untried:,} 个病例的几何信息未知，请用 --cases 给出。]"
    ),
    "nodules_added": "在假阳性的观察者研究之后，增加了 {added} 个结节，忽略了 {ignored} 个所见。",
    # matching
    "marks_in_two_nodules": "有 {count} 个标记同时位于两个结节内；官方程序各计一次命中。",
    "nodules_without_size": "有 {count} 个结节既无直径也无边界框，计为漏检。",
    "nodules_without_box": "有 {count} 个结节在任何层面上都没有边界框，计为漏检。",
    "marks_without_box": "有 {count} 个标记在任何层面上都没有边界框，不能命中结节。",
    "spacing_unknown": (
        "有 {pairs} 对标记与结节的层间距未知；多个标记命中同一结节时，到其最大层面的距离按每层 "
        "1 mm 计。"
    ),
    "nodule_regions": "结节区域在 {contours} 个层面上取其轮廓，在 {boxes} 个层面上取其边界框。",
    "overlap_of_hits": "{count} 次命中的交并比：平均 {mean:.3f}，其中 {low} 次不超过 0.5。",
    # files of marks and references
    "no_excluded_findings": (
        "[{folder} |测试集]没有 annotations_excluded.csv：落在排除所见上的标记计为假阳性，因此"
        "结果并非官方结果。"
    ),
    "columns_separated": (
        "[{file}|文件]以{separator:semicolons=分号|tabs=制表符}分隔各列[，小数点为{decimal:comma=逗号}]"
        "，已按此读取。"
    ),
    "columns_respelt": "[{file}：]列名写法略有不同，已视为相应的列[：{columns:list}]。",
    "columns_unread": "[{file}：]下列列含义不明，未予读取[：{columns:list}]。",
    "nodule_columns_unread": (
        "{file}：下列列含义不明，未予读取：{columns:list}。以 --nodules 给出的表可含任意列，"
        "用作分层。"
    ),
    "nodules_passed_over": "结节表的 {given} 行中有 {count} 行所属病例不在测试集中，已略过。",
    "cases_passed_over": "病例表的 {given} 个病例中有 {count} 个不在测试集中，已略过。",
    "scans_described_by_images": (
        "{columns:list}：部分病例中参考标准的记载与图像头信息不同；测试集以图像头信息为准。"
    ),
    "boxes_linked_by_place": (
        "[{file} |文件]没有 nodule_id：{boxes} 个边界框被连接为 {marks} 个标记（相邻层面，一框"
        "中心位于另一框内，最近者优先）。"
    ),
    "boxes_linked": (
        "[{file}：]{boxes} 个边界框被连接为 {marks} 个{what:findings=所见|marks=标记}（相邻层面"
        "，一框中心位于另一框内，最近者优先）。"
    ),
    "convention_assumed": (
        "[{file} |文件]没有说明其 {key}；按 MONAI 的 LUNA16 示例取 {taken}。若不正确，请在文件"
        "开头写明“{key}”。"
    ),
    "geometry_unknown": (
        "病例的几何信息（大小、间距、原点）未知，因此边界框未被切分到各层；按层面评判的规则不能"
        "使用。"
    ),
    # DICOM reports
    "outlines_unplaced": (
        "有 {count} 个病例的几何信息未知，因此轮廓未落到各层；按层面评判的规则不能使用。请把图像"
        "文件夹作为病例给出。"
    ),
    "others_passed_over": "[{file}：]非结节的所见已略过[：{others:list}]。",
    "segmentation_fractional": "[{file} |有分割]为分数型：取值不小于一半的像素。",
    "cad_partly_failed": "[{file}：]CAD 系统的算法并未全部成功。",
    "no_certainty": "{findings} 个所见中有 {count} 个没有置信度，因此没有分数。",
    "operating_points_as_scores": "没有所见带置信度：以 CAD 工作点的负值作为分数。",
    "hidden_findings": "有 {count} 个不向用户显示的所见{done:kept=已保留|left_out=已略去}。",
    "optional_findings": "有 {count} 个可选显示的所见已保留。",
    # readings
    "xrays_passed_over": "{count} 份胸部 X 线阅片已略过。",
    "readings_repeated": "有 {count} 个文件重复同一序列的阅片，只计一次。",
    "reading_corrected": (
        "[{file} |有文件]更正了[序列 {series}|某一序列]，{done:applied=已采用|not_applied=未采用}。"
    ),
    "findings_outside": "有 {count} 个所见位于图像之外，已保留[：{files:list}]。",
    "no_origin": "有 {count} 个病例没有原点：其中的位置从第一个体素算起。",
    "file_passed_over": "已略过[：{problem}]",
    "readers_unknown": (
        "数据库没有说明由谁勾画：每个标注视为一位独立的阅片者，且缺少小于 3 mm 的所见和非结节。"
    ),
    # annotation
    "long_diameter": "层面 {slice} 上长径为 {long_mm:.1f} mm，超过 {longest_mm:g} mm",
    "crossing_outline": "层面 {slice} 上的轮廓自相交",
    "single_slice": "仅见于一个层面，而层间距为 {spacing_mm:g} mm",
    "calcified_density": "称为{type:word}，但其均值为 {mean_hu:.0f} HU，未超过 {least_hu:g}",
    "outside_lung": "其 {share:.0%} 位于肺外",
    "added_in_review": "由“{reader}”增加，阅片者均未勾画",
    "readers_inconsistent": "阅片者不一致",
    "types_differ": "类型不一致",
    "reviewer_objects": "审核者有异议",
    "log_unsigned": (
        "项目未列出密钥：凡能写入其文件夹者，都可以任何人的名义写入步骤，或重写整个日志；只有保存在"
        "别处的锚点才能发现"
    ),
    "log_without_checkpoint": "未比对任何锚点：整体恢复到较早状态的日志无法被发现",
    "reviewer_named": "批次“{batch}”的审核者“{reader}”是指定的，而非抽签产生",
    "draw_waits": (
        "自 {since} 起批次“{batch}”已全部阅片完毕，审核者仍未抽出："
        "办公室若扣留其随机数，便可进行选择"
    ),
    "draw_made_anew": (
        "办公室未公开其为批次“{batch}”承诺的随机数（{reason}）；“{reader}”重新抽取了审核者，"
        "本可自行选定"
    ),
    "cases_opened_again": "有病例被多次分发，每次都重新确定审核者：{batches:list}",
    # losses of a conversion
    "rows_changed": "{before} 行变为 {after} 行。",
    "table_lost": "{table}：全部 {rows} 行丢失。",
    "values_lost": "{table}：{column} 的 {held} 个值中有 {lost} 个丢失。",
    "names_lost": "{column}：名称未保留。",
    "values_changed": "{column}：数值最多改变 {change:.3g}。",
    # comparisons and plans
    "too_few_resamples": (
        "{resamples} 次重抽样不足以校正 {family} 次比较：P 值不会低于 {smallest:.2g}，因此差异"
        "可能被判为不显著。请至少使用 {enough} 次。"
    ),
    "other_uses": (
        "仅在预期用途相同的算法之间进行比较。另有 {count} 个预期用途不同的算法[（{algorithms}）]"
        "仅并列展示，不作检验；只有规则的影响是对全部算法统计的。"
    ),
    "different_targets": (
        "在规则“{rule:word}”下，各算法因声明适用的类型不同而须检出不同的结节；差异中混有这一因素。"
    ),
    "other_than_planned": (
        "{part:protocol=方案|cohort=病例列表|reference=参考标准}与计划不同[：计划为 {planned}，"
        "测试为 {tested}]。"
    ),
    # sealed sets
    "look_interrupted": "事件 {event} 的查看被中断；再次请求不计次数",
    "leftover": "[{file} |有文件]由被终止的进程遗留，可以删除",
}
