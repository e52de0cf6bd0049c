"""An index spares reading, and changes nothing that is read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from builders.word_log import Word, coded, log_in, translate
from nodulebench.core.errors import InputError
from nodulebench.security import event_index as indexed
from nodulebench.security.event_index import IndexedLog
from nodulebench.security.event_log import FolderStore, Stored


class Counted(FolderStore):
    """Remembers which events were read."""

    def read_event(self, number: int) -> Stored | None:
        READ.append(number)
        return super().read_event(number)


READ: list[int] = []


def label(event: Word) -> str:
    return event.text


def index_of(folder: Path, key: bytes | None = b"key") -> IndexedLog[Word]:
    log = replace(log_in(folder / "events", key), store=Counted(folder / "events"))
    return IndexedLog(log, label, folder / "index.json")


def write(log: IndexedLog[Word], *texts: str) -> None:
    if log.log.store.read_head() is None:
        log.log.write_head([], "bo")
    for text in texts:
        log.append(
            lambda view, text=text: coded(
                log.log, Word(number=view.next_number, previous=view.last_digest, text=text)
            )
        )


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed, "REWRITE_EVERY", 4)
    READ.clear()


@pytest.mark.parametrize("key", [b"key", None])
def test_the_view_is_the_same_with_and_without_an_index(tmp_path: Path, key) -> None:
    log = index_of(tmp_path, key)
    texts = [*"zabcaabbczacba"]
    for number, text in enumerate(texts, start=1):
        write(log, text)
        whole = replace(log, file=None).view()
        view = index_of(tmp_path, key).view()
        assert view.digests == whole.digests
        assert list(view.labels.items()) == list(whole.labels.items())
        for name in {*texts}:
            expected = [place for place in range(1, number + 1) if texts[place - 1] == name]
            assert [event.number for event in view.events(name)] == expected
    assert log.index_is_true(log.read())


def test_what_the_index_knows_is_read_only_when_asked_for(tmp_path: Path) -> None:
    log = index_of(tmp_path)
    write(log, *"aabbccdde")
    known = json.loads((tmp_path / "index.json").read_text())["digests"]
    assert len(known) == 8
    READ.clear()
    view = log.view()
    assert sorted(set(READ)) == [8, 9, 10]  # the last that it knows, the new one, none behind it
    READ.clear()
    view.events("a")
    assert READ == [1, 2]


@pytest.mark.parametrize("key", [b"key", None])
@pytest.mark.parametrize("what", ["labels", "digests", "root", "torn", "gone", "other key"])
def test_an_index_that_was_touched_is_left_aside(tmp_path: Path, key, what) -> None:
    log = index_of(tmp_path, key)
    write(log, *"aabbccdd")
    file = tmp_path / "index.json"
    content = json.loads(file.read_text())
    assert log.index() is not None
    if what == "labels":
        content["labels"]["a"] = [1]
    elif what == "digests":
        content["digests"][2] = content["digests"][1]
    elif what == "root":
        content["root"] = "another"
    elif what == "other key":
        content["code"] = log_in(tmp_path, b"other").signer.make(b"", "bo")
    file.write_text(json.dumps(content)[: 20 if what == "torn" else None])
    if what == "gone":
        file.unlink()
    assert log.index() is None
    assert [event.number for event in log.view().events("a")] == [1, 2]


def test_an_index_of_a_log_that_was_cut_off_hides_nothing(tmp_path: Path) -> None:
    log = index_of(tmp_path)
    write(log, *"aabbccdd")
    (tmp_path / "events" / "00000008.json").unlink()
    with pytest.raises(InputError, match="says that the log has 8 events, but it ends with 7"):
        log.view()


def test_a_forged_index_by_who_has_the_key_is_found_by_audit(tmp_path: Path) -> None:
    log = index_of(tmp_path)
    write(log, *"aabbccdd")
    index = log.index()
    assert index is not None
    forged = index.model_copy(update={"labels": {**index.labels, "a": [1]}})
    code = log.log.signer.make(forged.unsigned_bytes, "bo")
    (tmp_path / "index.json").write_text(forged.model_copy(update={"code": code}).model_dump_json())
    assert not log.index_is_true(log.read())


def test_an_event_that_was_changed_behind_the_index_is_found_when_it_is_read(
    tmp_path: Path,
) -> None:
    log = index_of(tmp_path)
    write(log, *"aabbccdd")
    path = tmp_path / "events" / "00000002.json"
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"x"'))
    view = log.view()
    with pytest.raises(InputError, match=r"00000002\.json: was changed"):
        view.events("a")
    path.unlink()
    with pytest.raises(InputError, match=r"00000002\.json: was changed, or does not exist"):
        log.view().events("a")


def test_plain_logs_write_on_after_indexed_ones(tmp_path: Path) -> None:
    log = index_of(tmp_path)
    write(log, *"aab")
    translate(log.log, "c")
    assert [*log.view().labels] == ["a", "b", "c"]
