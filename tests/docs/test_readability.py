"""Sentences are short: half of them at most 18 words, in README and tutorials each at most 35."""

import readability


def test_the_median_sentence_of_documentation_and_messages_is_short() -> None:
    assert len(readability.pages()) > 80
    assert len(readability.catalogues()) > 2
    assert readability.median_of_pages() <= readability.MEDIAN_LIMIT
    assert readability.median_of_messages() <= readability.MEDIAN_LIMIT


def test_no_sentence_of_readme_and_tutorials_is_too_long() -> None:
    assert readability.too_long() == []


def test_sentences_are_counted_without_code_tables_and_headings() -> None:
    page = "# Head\n\nOne [two](x.md) three. Four `five six`.\n\n- seven\n\n"
    page += "| a | b |\n\n```\nx y\n```\n"
    found = list(readability.sentences(readability.prose(page)))
    assert found == ["One two three.", "Four `five_six`.", "seven"]
    assert [readability.words(sentence) for sentence in found] == [3, 2, 1]
