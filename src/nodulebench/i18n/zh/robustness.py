"""Codes -> how runs went, and relations that marks keep when an image changes, in Chinese."""

NOTICES = {
    "run_exited": "程序以退出码 {exit_code} 结束",
    "run_signalled": "程序被信号 {signal} 终止",
    "run_timed_out": "程序未在 {seconds:.0f} 秒内结束",
    "run_out_of_memory": "程序所需内存超出上限",
    "run_too_many_processes": "程序所需进程数超出上限",
    "run_not_ready": "程序未能就绪",
    "run_call_failed": "程序回答失败",
    "run_infrastructure": "运行环境出错，并非算法之故[：{problem}]",
    "run_marks_over": "给出 {marks:,} 个标记；仅计得分最高的 {most:,} 个，其余不计",
    "run_marks_outside": (
        "{marks:,} 个标记中有 {outside:,} 个位于图像之外；仍计为标记，但不命中任何结节"
    ),
    "run_lungs_implausible": "算法自述未找到可信的肺；其标记照常计数",
    "output_missing": "程序未写出任何文件",
    "output_large": "程序写出的内容超出上限",
    "output_many_files": "程序写出的文件超过 {most:,} 个",
    "output_odd_name": "程序写出的文件名过长或不是文本",
    "output_deep": "程序写出的文件夹层级超过 {most}",
    "output_no_file": ("程序写出的不是文件，而是{kind:link=链接|pipe=管道|socket=套接字|*=设备}"),
    "output_unread": "程序写出的内容无法读取[（{problem}）]",
    "output_lacks": "程序未写出[ {file}|其清单所列的文件]",
    "output_no_marks": "程序写出的内容无法作为标记读取[：{problem}]",
    "output_several_cases": "标记涉及多个病例，而只给了一个",
    "relation_shift": "患者位于别处：标记随之移动",
    "relation_flip_columns": "列反向存储：标记不变",
    "relation_flip_slices": "层面自头向足存储：标记不变",
    "relation_mirror": "镜像图像中得分最高的标记也成镜像",
    "relation_crop": "裁剪至肺部：标记不变",
    "relation_noise": "加入少量噪声：得分最高的标记保留",
    "relation_insert": "植入的结节被检出，其他标记保留",
    "relation_density": "肺更致密或含气更多：结节仍被检出，标记数相近",
    "relation_more_noise": "噪声加倍：结节仍被检出，标记数相近",
    "relation_dose": "剂量降低时灵敏度不升高",
    "relation_thickness": "层厚增加时灵敏度不升高",
    "relation_smooth_kernel": "采用较平滑的卷积核时仍检出大结节",
    "relation_sharp_kernel": "采用较锐利的卷积核时仍检出大结节",
    "marks_agree": (
        "前 {before} 个与后 {after} 个标记中有 {agreeing} 对一致（{share:.2f}），至少应为 {least:g}"
    ),
    "highest_stay": (
        "得分最高的 {top} 个标记中保留 {kept} 个（{share:.2f}），至少应为 {least:g}；"
        "在所有标记中为 {all:.2f}"
    ),
    "inserted_found": (
        "{large} 个大结节中检出 {large_found} 个（共 {total} 个中检出 {found} 个）；"
        "其他部位：{elsewhere}"
    ),
    "found_by_step": "{total} 个中检出：{steps:list}",
    "large_stay": "原先检出的 {total} 个大结节中有 {kept} 个仍被检出",
    "about_as_many": (
        "原先检出的 {total} 个大结节中有 {kept} 个仍被检出；标记数 {counts:list}；"
        "相差至多 {factor:g} 倍"
    ),
    "variant_counted": "{variant}：{count}",
    "variant_none": "原图",
    "variant_nodules": "植入结节",
    "variant_shift": "平移",
    "variant_flip_columns": "列翻转",
    "variant_flip_rows": "行翻转",
    "variant_flip_slices": "层面翻转",
    "variant_mirror": "镜像",
    "variant_crop": "裁剪",
    "variant_noise": "噪声",
    "variant_dose": "剂量 1/{part}",
    "variant_density": "中位数 {median_hu:.0f} HU",
    "variant_thickness": "层厚 ×{factor}",
    "variant_smooth_kernel": "平滑卷积核",
    "variant_sharp_kernel": "锐利卷积核",
    "no_marks_at_all": "前后均无标记",
    "no_marks_before": "先前没有标记",
    "never_found": "植入的 {total} 个结节在任何一步均未检出",
    "no_large_found_before": "先前未检出任何植入的大结节",
}
