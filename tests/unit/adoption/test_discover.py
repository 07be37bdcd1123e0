"""Discovery lists the partitions and files below a location, and compares them with the recorded ones."""

import json
import os
from dataclasses import dataclass

import pyarrow.fs as pafs
import pytest

from parquetry.adoption.compare import compare, files_below
from parquetry.adoption.discover import DirectoryLevels, DiscoveredFile, DiscoveredPartition, Unfit, discover
from parquetry.errors import FileMissingError, ValueTypeError, WarehouseError
from parquetry.locations.filesystem import open_location
from parquetry.metastore.storage.model import FileRecord
from parquetry.types import parse_type

LOCAL = pafs.LocalFileSystem()
INT, STRING, TIMESTAMP = parse_type("int"), parse_type("string"), parse_type("timestamp")
NAMES, TYPES = ["p", "s"], [INT, STRING]


def lay(root, *paths, modified=1_700_000_000_000):
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"data")
        os.utime(place, ns=(modified * 1_000_000,) * 2)


def find(root, names=NAMES, types=TYPES, zone="UTC", **options):
    return list(discover(LOCAL, str(root), DirectoryLevels(names, types, zone), **options))


def test_partitions_come_in_the_order_of_their_paths_with_their_files(tmp_path):
    """Names of columns count in any case, and each file comes with its size and time."""
    lay(tmp_path, "p=2/s=a/1.parquet", "p=1/s=x y/2", "p=1/s=x y/1", "P=3/S=__HIVE_DEFAULT_PARTITION__/f")
    assert find(tmp_path) == [
        DiscoveredPartition(
            (3, None), "P=3/S=__HIVE_DEFAULT_PARTITION__", (DiscoveredFile("f", 4, 1_700_000_000_000),)
        ),
        DiscoveredPartition(
            (1, "x y"),
            "p=1/s=x y",
            (DiscoveredFile("1", 4, 1_700_000_000_000), DiscoveredFile("2", 4, 1_700_000_000_000)),
        ),
        DiscoveredPartition((2, "a"), "p=2/s=a", (DiscoveredFile("1.parquet", 4, 1_700_000_000_000),)),
    ]


def test_hidden_and_empty_files_are_left_out(tmp_path):
    """Names that begin with a dot or an underscore are not data, and neither is an empty file."""
    lay(tmp_path, "p=1/s=a/f", "p=1/s=a/_SUCCESS", "p=1/s=a/.f.crc", "_delta/x", ".tmp/y")
    lay(tmp_path, "p=1/_temporary/0/f", "p=1/s=a/pq-ffffffffffffffff-77-0.parquet")
    (tmp_path / "p=1/s=a/empty").touch()
    (found,) = find(tmp_path)
    assert [file.path for file in found.files] == ["f", "pq-ffffffffffffffff-77-0.parquet"]


def test_escaped_names_and_zones_are_read(tmp_path):
    """A timestamp in a directory's name is read in the zone that the caller gives."""
    lay(tmp_path, "t=2024-01-01 01%3A00%3A00/f")
    (found,) = find(tmp_path, ["t"], [TIMESTAMP], zone="Europe/Berlin")
    assert found.values == (1_704_067_200_000_000,)


def test_a_partition_may_be_empty(tmp_path):
    """A directory of the last level without files is a partition; one above it is none."""
    (tmp_path / "p=1/s=a").mkdir(parents=True)
    (tmp_path / "p=2").mkdir()
    assert find(tmp_path) == [DiscoveredPartition((1, "a"), "p=1/s=a", ())]


def test_an_unpartitioned_table_is_its_location(tmp_path):
    """The files directly in the location count; its directories are reported as unfit."""
    lay(tmp_path, "a", "b", "sub/c", "k=1/d")
    unfit = []
    (found,) = find(tmp_path, [], [], unfit=unfit)
    assert (found.values, found.relative_path, [file.path for file in found.files]) == ((), "", ["a", "b"])
    assert [entry.path for entry in unfit] == ["k=1", "sub"]
    assert find(tmp_path, [], []) == [found]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("f", "the file 'f' is outside"),
        ("p=1/f", "the file 'p=1/f' is outside"),
        ("q=1/s=a/f", "'q=1' where 'p=…' belongs"),
        ("plain/s=a/f", "'plain' where 'p=…' belongs"),
        ("p=abc/s=a/f", "'abc'"),
        ("p=1/t=a/f", "'t=a' where 's=…' belongs"),
    ],
)
def test_what_does_not_fit_is_an_error_or_listed(tmp_path, path, told):
    """A file or directory where no partition can be raises an error.

    With a caller's list it goes there, and the others are found.
    """
    lay(tmp_path, path, "p=7/s=fine/f")
    with pytest.raises(ValueTypeError) as error:
        find(tmp_path)
    assert told in error.value.message
    assert str(tmp_path) in error.value.message
    unfit = []
    assert [found.values for found in find(tmp_path, unfit=unfit)] == [(7, "fine")]
    (entry,) = unfit
    assert isinstance(entry, Unfit)
    assert path.startswith(entry.path)
    assert told in entry.reason


def test_directories_below_the_last_level_are_reported(tmp_path):
    """They are listed as unfit, and the partition's own files are found."""
    lay(tmp_path, "p=1/s=a/x=6/f", "p=1/s=a/f")
    unfit = []
    (found,) = find(tmp_path, unfit=unfit)
    assert [file.path for file in found.files] == ["f"]
    assert [entry.path for entry in unfit] == ["p=1/s=a/x=6"]


def test_two_spellings_of_one_partition_are_an_error(tmp_path):
    """`p=7` and `p=007` are one value; with a list the first path is taken and the other listed."""
    lay(tmp_path, "p=7/s=a/f", "p=007/s=a/f")
    with pytest.raises(ValueTypeError, match=r"'p=7/s=a' and 'p=007/s=a' are the same partition"):
        find(tmp_path)
    unfit = []
    assert [found.relative_path for found in find(tmp_path, unfit=unfit)] == ["p=007/s=a"]
    assert [entry.path for entry in unfit] == ["p=7/s=a"]


def test_progress_is_told(tmp_path):
    """The caller hears of each partition once, in rising numbers, from whichever thread it came."""
    lay(tmp_path, *(f"p={number}/s=a/f" for number in range(5)))
    told = []
    find(tmp_path, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 5) for done in range(1, 6)]


def test_a_location_that_cannot_be_listed_is_told(tmp_path):
    """The error names the place, be it missing or a file."""
    with pytest.raises(FileMissingError, match="nothere"):
        find(tmp_path / "nothere")
    lay(tmp_path, "file")
    with pytest.raises(WarehouseError, match="file"):
        find(tmp_path / "file")


def test_locations_are_opened_without_decoding():
    """`%20` in a URI stays as it is, as it is part of a directory's name."""
    filesystem, path = open_location("mock:///lake/x=%20")
    assert (filesystem.type_name, path.strip("/")) == ("mock", "lake/x=%20")
    with pytest.raises(WarehouseError, match="nosuch"):
        open_location("nosuch://host/x")


@dataclass
class Known:
    values: tuple
    location: str
    files: tuple


def known(values, location, *files):
    return Known(
        values, location, tuple(FileRecord(path, size, 1, modified) for path, size, modified in files)
    )


def found(values, path, *files):
    return DiscoveredPartition(values, path, tuple(DiscoveredFile(*file) for file in files))


def test_nothing_changed():
    """Files of the same path, size and time are the same, also where the metastore knows no time."""
    same = [found((1,), "p=1", ("f", 4, 5)), found((None,), "p=x", ("f", 4, 5))]
    recorded = [known((None,), "/t/p=x", ("/t/p=x/f", 4, None)), known((1,), "/t/p=1", ("f", 4, 5))]
    changes = compare(same, recorded, "/t/")
    assert not changes
    assert (changes.added, changes.changed, changes.deleted) == ((), (), ())


def test_added_changed_and_gone_are_told_apart():
    """A file of another size or time is gone and added; a partition of NaN is one value like any other."""
    now = [
        found((1,), "p=1", ("new", 4, 5), ("same", 4, 5), ("rewritten", 4, 6), ("grown", 5, 5)),
        found((2,), "p=2", ("f", 1, 1)),
        found((float("nan"),), "p=NaN", ("f", 1, 1)),
    ]
    recorded = [
        known((1,), "/t/p=1", ("same", 4, 5), ("rewritten", 4, 5), ("grown", 4, 5), ("gone", 1, 1)),
        known((3,), "/t/p=3", ("f", 1, 1)),
        known((float("nan"),), "/t/p=NaN", ("f", 1, 1)),
    ]
    changes = compare(now, recorded, "/t")
    assert changes.added == (now[1],)
    assert changes.deleted == ((3,),)
    (change,) = changes.changed
    assert change.partition == now[0]
    assert [file.path for file in change.added] == ["new", "rewritten", "grown"]
    assert sorted(change.deleted) == ["gone", "grown", "rewritten"]


def test_partitions_that_lie_elsewhere_are_left_alone():
    """A partition recorded outside the table's folder is not gone because nothing was found in the folder."""
    recorded = [known((1,), "/elsewhere/p=1", ("f", 4, 5)), known((2,), "/t2/p=2", ("f", 4, 5))]
    assert not compare([found((1,), "p=1", ("g", 1, 1))], recorded, "/t")


def test_an_unpartitioned_table_is_compared_too():
    """Its one partition has the empty path."""
    (change,) = compare([found((), "", ("a", 1, 1))], [known((), "/t", ("b", 1, 1))], "/t").changed
    assert ([file.path for file in change.added], change.deleted) == (["a"], ("b",))


def test_files_of_one_name_are_told_apart_by_their_directories():
    """Below a partition, `x=10/000000_0` and `x=20/000000_0` are two files, and `000000_0` a third."""
    now = [found((1,), "p=1", ("000000_0", 1, 1), ("x=10/000000_0", 4, 5), ("x=20/000000_0", 4, 6))]
    recorded = [
        known((1,), "/t/p=1", ("x=10/000000_0", 4, 5), ("/t/p=1/x=20/000000_0", 4, 5), ("/u/000000_0", 1, 1))
    ]
    (change,) = compare(now, recorded, "/t").changed
    assert [file.path for file in change.added] == ["000000_0", "x=20/000000_0"]
    assert change.deleted == ("x=20/000000_0",)
    assert files_below(recorded[0]).keys() == {"x=10/000000_0", "x=20/000000_0"}


def test_a_file_recorded_by_its_absolute_path_is_gone_by_that_below_its_partition():
    """A file that is recorded by its absolute path is reported by its path below the partition."""
    recorded = [known((1,), "/t/p=1", ("/t/p=1/f", 4, 5), ("g", 4, 5), ("/u/h", 4, 5))]
    (change,) = compare([found((1,), "p=1", ("g", 4, 5))], recorded, "/t").changed
    assert (change.added, change.deleted) == ((), ("f",))


def test_partition_columns_that_begin_with_an_underscore_are_seen(tmp_path):
    """Files that Spark's listing shows are found, also `_day=1`.

    Files named `._COPYING_` and names that begin with a dot are not.
    """
    lay(tmp_path, "_p=1/s=a/f", "_p=1/s=a/g.parquet._COPYING_", "_p=1/s=a/_metadata", "_temporary/_p=2/s=a/f")
    lay(tmp_path, "_p=1/.s=a/f", "_p=1/s=b/_x=1")
    found = find(tmp_path, ["_p", "s"])
    assert [(each.relative_path, [file.path for file in each.files]) for each in found] == [
        ("_p=1/s=a", ["f"]),
        ("_p=1/s=b", ["_x=1"]),
    ]


def test_dates_with_a_time_are_read_as_spark_casts_them(tmp_path):
    """A folder's date may have a time behind it, which counts for nothing; other texts are no dates."""
    lay(
        tmp_path,
        "d=2026-01-03 00%3A00%3A00/f",
        "d=2026-01-05T10%3A00/f",
        "d=2026-01-06 /f",
        "d=2026-01-07x/f",
    )
    unfit = []
    found = find(tmp_path, ["d"], [parse_type("date")], unfit=unfit)
    assert [each.values for each in found] == [(20456,), (20458,), (20459,)]
    assert [each.path for each in unfit] == ["d=2026-01-07x"]


def log(root, name, *paths, action="add", version="v1"):
    place = root / "_spark_metadata" / name
    place.parent.mkdir(exist_ok=True)
    entries = [
        json.dumps({"path": f"file:///moved/{path}", "isDir": False, "action": action}) for path in paths
    ]
    place.write_text("\n".join([version, *entries]))


def test_files_of_a_stream_are_those_that_its_log_lists(tmp_path):
    """Only the files that the stream's log lists are found, and own files.

    A compacted batch counts with the batches after it. Files of failed batches are reported as unfit.
    """
    own = "pq-ffffffffffffffff-77-0.parquet"
    lay(tmp_path, "p=1/s=a/a b", "p=1/s=a/b", "p=1/s=a/c", "p=2/s=a/d", "p=2/s=a/orphan", f"p=2/s=a/{own}")
    log(tmp_path, "0", "p=1/s=a/before")
    log(tmp_path, "1", "p=1/s=a/orphan")
    log(tmp_path, "1.compact", "p=1/s=a/a%20b", "p=1/s=a/b")
    log(tmp_path, "2", "p=1/s=a/b", action="delete")
    log(tmp_path, "3", "p=2/s=a/d")
    log(tmp_path, ".3.crc", "p=1/s=a/c")
    unfit = []
    found = find(tmp_path, unfit=unfit)
    assert [[file.path for file in each.files] for each in found] == [["a b"], ["d", own]]
    assert sorted(each.path for each in unfit) == ["p=1/s=a/b", "p=1/s=a/c", "p=2/s=a/orphan"]
    assert all("_spark_metadata" in each.reason for each in unfit)


@pytest.mark.parametrize("text", ["", "v1\n{", "v1\n{}", "v1\n[1]", "1"])
def test_a_damaged_log_of_a_stream_is_an_error(tmp_path, text):
    """A log that cannot be read lists no files by guess: the error names the folder and the remedy."""
    lay(tmp_path, "f")
    log(tmp_path, "0", "f")
    (tmp_path / "_spark_metadata" / "0").write_text(text)
    with pytest.raises(WarehouseError, match=r"_spark_metadata.* Restore it; or copy"):
        find(tmp_path, [], [])
