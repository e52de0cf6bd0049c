from nodulebench.curation.header_facts import scan_kinds


def test_of_several_days_the_earliest_is_the_first_and_words_count_more() -> None:
    kinds = scan_kinds(
        ["p", "p", "p", "q", "r", "r", None],
        ["20250301", "20240301", "20240301", "20240301", "20240101", "20250101", "20240101"],
        ["", "", "chest", "Initials AB", "", "CT chest baseline", "Thorax Follow-Up"],
    )
    assert kinds == ["follow_up", "first", "first", None, "first", "first", "follow_up"]


def test_chinese_words_are_read() -> None:
    assert scan_kinds(["p"], [None], ["胸部CT复查"]) == ["follow_up"]


def test_without_days_the_kind_is_unknown() -> None:
    assert scan_kinds(["p", "p"], [None, "20240101"], ["", ""]) == [None, None]
