"""Small files that several processes share: whole or not there, and created by one of them."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from parquetry.locations import create_small_file, read_small_file, small_files, take_away


def refuse_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", link)


@pytest.mark.parametrize("links", [True, False])
def test_one_of_several_writers_creates_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """All writers get the text of one of them, and nothing else stays in the folder, without links, too."""
    if not links:
        refuse_links(monkeypatch)
    texts: list[bytes] = []
    target = str(tmp_path / "file")
    writers = [
        threading.Thread(target=lambda text=text: texts.append(create_small_file(target, text)))
        for text in (b"one", b"two", b"three", b"four")
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert {read_small_file(target)} == set(texts)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_no_half_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool, step: str
) -> None:
    """An error at any step of the creation leaves no file of the name, or the whole one."""
    if not links:
        refuse_links(monkeypatch)
    monkeypatch.setattr(os, step, lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    target = str(tmp_path / "file")
    if links and step == "replace":
        assert create_small_file(target, b"text") == b"text"
        return
    with pytest.raises(OSError, match="full"):
        create_small_file(target, b"text")
    assert os.listdir(tmp_path) == []


def test_the_marker_of_a_killed_writer_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without hard links, a writer that died at its marker keeps no other from creating the file."""
    refuse_links(monkeypatch)
    monkeypatch.setattr(small_files, "_MAX_CREATION_SECONDS", 0.1)
    (tmp_path / "file.creating").touch()
    assert create_small_file(str(tmp_path / "file"), b"text") == b"text"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_system_that_shows_halves(tmp_path: Path) -> None:
    """Where a file is visible while it is written, it is written under another name, and moved."""
    seen = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    small_files._write(seen, "file", b"text")
    small_files._write(seen, "file", b"other")
    assert (tmp_path / "file").read_bytes() == b"other"
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(OSError, match="nowhere"):
        small_files._write(seen, "nowhere/file", b"text")
    assert os.listdir(tmp_path) == ["file"]


def test_only_the_expected_text_is_taken_away(tmp_path: Path) -> None:
    """A file that has another text by now stays, whole."""
    target = tmp_path / "file"
    target.write_bytes(b"whole")
    assert not take_away(str(target), b"ha")
    assert os.listdir(tmp_path) == ["file"]
    assert target.read_bytes() == b"whole"
    assert take_away(str(target), b"whole")
    assert not take_away(str(target), b"whole")
    assert os.listdir(tmp_path) == []
