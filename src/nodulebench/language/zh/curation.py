"""Codes -> why a series is excluded when a test set is made, in Chinese."""

NOTICES = {
    # what it is
    "other_modality": "其成像方式[为 {modality}|未注明]",
    "other_sop_class": "其对象不是 CT 图像（SOP 类：[{sop_class}|未注明]）",
    "localizer_type": "其图像类型为 {type}",
    "secondary_capture": "为二次采集图像",
    "projection": "为投影图像（{type}）",
    "colours": "为彩色图像（{photometric}，每像素 {samples} 个样本）",
    "few_bits": "每像素 {bits} 位，不足以存放 HU 值",
    "slice_unread": "有一层：{problem}[（另有 {more} 个文件）]",
    "reader_died": "读取进程中止（退出码 {exit_code}）",
    "reader_timed_out": "读取进程未在时限内结束",
    "too_much_memory": "其像素所需内存超过一个 CT 序列所能需要的",
    # whether its slices belong together
    "slices_name_several": "各层注明 {count} 个不同的{what:patients=患者|studies=检查}",
    "slices_without": ("{count} 层没有{what:position=位置|orientation=方向|pixel size=像素尺寸}"),
    "pixels_without_size": "其像素没有尺寸",
    "slices_skew": "{count} 层的行与列不成直角",
    "slices_turned": "{total} 层中有 {count} 层的朝向不同",
    "slices_differ": (
        "各层的{what:rows and columns=行列数|bits=位数|pixel size=像素尺寸}不同："
        "{first}、{second}[、{third}]"
    ),
    "pixels_not_square": "其像素不是正方形：{rows_mm:g} x {columns_mm:g} mm",
    "other_field_of_view": (
        "{columns} 列、每列 {pixel_mm:g} mm，共 {seen_mm:.0f} mm，"
        "而图像的重建直径为 {said_mm:.0f} mm"
    ),
    # where its slices lie
    "slices_off_axial": "其层面为{plane:word}，与横断面相差 {degrees:.0f} 度",
    "gantry_tilted": "机架倾斜 {degrees:g} 度",
    "slices_shift": "各层横向偏移 {degrees:.1f} 度",
    "slice_twice": "{file} 出现两次",
    "slices_at_one_place": "{first} 与 {second} 均位于 {at_mm:.2f} mm",
    "slices_same_pixels": "{first} 与 {second} 的像素相同",
    "slices_missing": (
        "缺少[ {count} |一]层[，共 {places} 处]：{first} 与 {second} 相距 {gap_mm:.2f} mm，"
        "其余为 {usual_mm:.2f} mm"
    ),
    "slices_leave_gaps": "层间距 {usual_mm:.2f} mm，而层厚仅 {thickness_mm:g} mm",
    "slices_uneven": "{first} 与 {second} 相距 {gap_mm:.2f} mm，其余为 {usual_mm:.2f} mm",
    "slice_beside": "{file} 偏离其余各层 {off_mm:.1f} mm",
    "spacing_contradicts": "文件头注明层间距 {said_mm:g} mm，而由位置得出 {usual_mm:.2f} mm",
    "few_slices": "{count} 层；下限为 {limit}",
    # what its image shows
    "few_pixels": "{rows} x {columns} 像素；下限为 {limit} x {limit}",
    "thickness_unknown": "各层未注明层厚",
    "too_thick": "层厚 {thickness_mm:g} mm；上限为 {limit_mm:g} mm",
    "no_rescale": "没有重标度斜率和截距：HU 值未知",
    "bad_slope": "重标度斜率为 {slope:g}",
    "little_contrast": "其数值范围不超过 {span_hu:.0f} HU",
    "wrong_levels": "空气和肺为 {air_hu} HU，软组织为 {tissue_hu} HU",
    "slices_do_not_fit": "{count} 层与相邻层不衔接",
    "slices_in_wrong_order": "相邻层的顺序有误",
    "little_lung": "仅显示 {lung_ml:.0f} ml 肺；下限为 {limit_ml:g}",
    "edge_through_lung": "图像边缘穿过肺，沿体部长 {cut_mm:.0f} mm",
    "ends_within_lung": ("图像在{end:feet=足|head=头}侧终止处仍有 {area_cm2:.0f} cm² 的肺"),
    # scans that are known
    "duplicate_uid": "该序列已存在：序列 UID 相同。",
    "duplicate_pixels": "相同的像素已存在，但序列 UID 不同。",
    "near_duplicate": "同一次扫描已存在：感知哈希表明其重建、压缩、裁剪或缩放方式不同。",
    "listed_uid": "另一测试集的名单含有相同的序列 UID。",
    "listed_pixels": "另一测试集的名单含有相同的像素。",
    "listed_near_duplicate": "感知哈希表明另一测试集的名单含有同一次扫描。",
    "held_by_this_set": "本集已含有{what}",
    "held_by_list": "名单 {list} 含有{what}",
    "same_series": "序列 {uid}",
    "same_pixels": "与[序列 {uid} |无 UID 的序列]相同的像素",
    "alike_bits": "与[序列 {uid} |无 UID 的序列]有 {share:.1%} 的位相同的扫描",
    # files that give no slices
    "header_too_large": "所需内存超过一个文件头所能需要的",
    "header_unreadable": "文件头无法读取（{error}）",
    "file_empty": "文件为空",
    "not_dicom_despite_its_name": "文件名表明是 DICOM，但内容不是",
    "zip_archive": "为 zip 压缩包；请解压后再读取",
    "not_dicom": "不是 DICOM 文件",
    "is_dicomdir": "为 DICOMDIR 目录文件",
    "series_unnamed": "[注明的序列“{name}”不是 UID|未注明序列]（SeriesInstanceUID）",
    "frames_undescribed": "{of} 帧中仅描述了 {count} 帧",
    "folder_closed": "无法打开文件夹（{error}）",
    # pixels that cannot be used
    "pixels_absent": "没有像素",
    "pixels_impossible": "不可能有 {rows} 行 {columns} 列",
    "pixels_coloured": "每像素 {samples} 个样本，为彩色图像",
    "pixels_of_bits": "每像素 {bits} 位",
    "pixels_too_few": "像素仅 {bytes} 字节，而 {size} 需要 {needed} 字节",
    "pixels_gone": "已无法读取（{error}）",
    "pixels_cut_off": "读取过程中被截断",
    "pixels_hardly_any": "压缩像素仅 {bytes} 字节",
    "pixels_of_another_size": "压缩像素为 {stream}，文件头注明为 {said}",
    "pixels_undecoded": "像素无法解码（{error}）",
}
