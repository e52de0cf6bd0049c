"""How long the sentences of the documentation and of the messages are.

python docs/readability.py            medians, and sentences that are too long
python docs/readability.py PAGE ...   the longest sentences of these pages
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
MEDIAN_LIMIT = 18
"""Most words of the median sentence, in the documentation and in the messages."""
SENTENCE_LIMIT = 35
"""Most words of any sentence in README and tutorials."""

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
CODE = re.compile(r"^\s*(`{3,}).*?^\s*\1\s*$|<!--.*?-->", re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(r"^\s*\|.*$|^#.*$|^\([\w-]+\)=$", re.MULTILINE)
"""Tables, headings, targets."""
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.|:)\s+")
END = re.compile(r"(?<=[.!?:;])[*_)\"']*\s+(?=[*_(\"'`\[]*[A-Z0-9`\[])")
MESSAGE = re.compile(r'^msgstr(?:\[\d+\])? ((?:".*"\n?)+)', re.MULTILINE)
PLACEHOLDER = re.compile(r"%\(\w+\)\w|\{\w*\}")


def prose(markdown: str) -> Iterator[str]:
    """The paragraphs and list items of a page, without code, tables and headings."""
    text = NOT_PROSE.sub("\n", CODE.sub("\n\n", FRONT_MATTER.sub("", markdown)))
    for part in PARAGRAPH.split("\n" + text):
        words = " ".join(LINK.sub(r"\1", part).split()).lstrip("-*: ")
        if words:
            yield words


def sentences(parts: Iterable[str]) -> Iterator[str]:
    """The sentences of paragraphs; a code word counts as one word."""
    for part in parts:
        text = re.sub(r"`[^`]*`", lambda code: "_".join(code.group().split()), part)
        yield from (sentence for sentence in END.split(text) if re.search(r"[a-z]", sentence))


def page_sentences(page: Path) -> list[str]:
    """The sentences of a Markdown page."""
    return list(sentences(prose(page.read_text(encoding="utf-8"))))


def message_sentences(catalogue: Path) -> list[str]:
    """The sentences of the messages of a catalogue."""
    blocks = MESSAGE.findall(catalogue.read_text(encoding="utf-8"))[1:]  # the first is its header
    texts = ("".join(re.findall(r'"(.*)"', block)).replace("\\n", " ") for block in blocks)
    return list(sentences(PLACEHOLDER.sub("X", text) for text in texts if text))


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return len(sentence.split())


def pages() -> list[Path]:
    """Every page that people write; generated pages come from the code."""
    written = (ROOT / "docs").rglob("*.md")
    return [ROOT / "README.md", *sorted(page for page in written if "generated" not in page.parts)]


def catalogues() -> list[Path]:
    """The English catalogues."""
    folder = ROOT / "src" / "nodulebench" / "i18n" / "locales" / "en" / "LC_MESSAGES"
    return sorted(folder.glob("*.po"))


def too_long() -> list[str]:
    """The sentences of README and tutorials that have too many words."""
    strict = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
    return [
        f"{page.relative_to(ROOT)}: {words(sentence)} words: {sentence}"
        for page in strict
        for sentence in page_sentences(page)
        if words(sentence) > SENTENCE_LIMIT
    ]


def median_of_pages() -> float:
    """Words of the median sentence of all pages."""
    return median(words(sentence) for page in pages() for sentence in page_sentences(page))


def median_of_messages() -> float:
    """Words of the median sentence of all English messages."""
    return median(words(text) for path in catalogues() for text in message_sentences(path))


def main(names: list[str]) -> int:
    """Print the measures; 1 if a limit is exceeded."""
    if names:
        listed = [sentence for name in names for sentence in page_sentences(Path(name))]
        for sentence in sorted(listed, key=words, reverse=True)[:20]:
            print(words(sentence), sentence)
        return 0
    of_pages, of_messages, long = median_of_pages(), median_of_messages(), too_long()
    print(f"median sentence: documentation {of_pages:g}, messages {of_messages:g} words")
    print("\n".join(long))
    return int(bool(long) or max(of_pages, of_messages) > MEDIAN_LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
