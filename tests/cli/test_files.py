from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import pytest

from tracestat.cli.files import check_no_input, check_target, describe_file
from tracestat.errors import TracestatError, UsageError
from tracestat.replacing import replacing


def test_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "numbers.csv"
    target.write_text("old")
    with replacing(target, "-o a.csv") as beside:
        beside.write_text("new")
        assert target.read_text() == "old"
        assert beside.suffix == ".csv"
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.csv"]


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "numbers.csv"
    target.write_text("old")
    with contextlib.suppress(ZeroDivisionError), replacing(target, "-o a.csv") as beside:
        beside.write_text("half")
        raise ZeroDivisionError
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.csv"]


def test_link_stays_a_link(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "real.csv").write_text("old")
    link = tmp_path / "link.csv"
    link.symlink_to(there / "real.csv")
    with replacing(link, "-o a.csv") as beside:
        beside.write_text("new")
    assert link.is_symlink()
    assert (there / "real.csv").read_text() == "new"


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "a.csv", "-o a.csv") as beside:
            beside.write_text("x")
    finally:
        os.umask(before)
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == 0o640


def test_system_error_becomes_one_line_with_the_base_name(tmp_path: Path) -> None:
    with pytest.raises(TracestatError) as caught, replacing(tmp_path / "a.csv", "-o a.csv"):
        raise OSError(28, "No space left on device", str(tmp_path / "a.csv"))
    assert str(caught.value) == "-o a.csv: cannot be written (No space left on device); choose another place"


@pytest.mark.parametrize("name", ["a.csv", "A.CSV", "x.tar.json"])
def test_known_ending_is_accepted(tmp_path: Path, name: str) -> None:
    assert check_target(tmp_path / name, "-o", (".csv", ".json")) == tmp_path / name


@pytest.mark.parametrize("name", ["a.xlsx", "csv", "a"])
def test_unknown_ending_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"must end in \.csv or \.json"):
        check_target(tmp_path / name, "-o", (".csv", ".json"))


def test_folder_and_missing_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(TracestatError, match=r"-o a\.csv: this is a folder"):
        check_target(tmp_path / "a.csv", "-o", (".csv",))
    with pytest.raises(TracestatError, match=r"-o b\.csv: its folder does not exist"):
        check_target(tmp_path / "none" / "b.csv", "-o", (".csv",))


def test_an_input_is_no_target_by_any_name(tmp_path: Path) -> None:
    trace = tmp_path / "same.json"
    trace.write_text("rows")
    (tmp_path / "soft.json").symlink_to(trace)
    (tmp_path / "hard.json").hardlink_to(trace)
    for name in ("same.json", "soft.json", "hard.json", "../" + tmp_path.name + "/same.json"):
        with pytest.raises(UsageError, match=r"-o \w+\.json: this file is read by the command"):
            check_no_input(tmp_path / name, "-o", [None, trace])
    check_no_input(tmp_path / "other.json", "-o", [trace, None, tmp_path / "none.json"])
    check_no_input(None, "-o", [trace])


def test_a_folder_that_is_read_takes_no_file(tmp_path: Path) -> None:
    folder, beside = tmp_path / "trace", tmp_path / "beside"
    (folder / "inner").mkdir(parents=True)
    beside.mkdir()
    inside = folder / "inner" / "rounds.parquet"
    inside.write_text("rows")
    (beside / "link").symlink_to(folder)
    (beside / "real.csv").write_text("rows")
    (folder / "real.csv").symlink_to(beside / "real.csv")
    for path in (inside, folder / "new.csv", beside / "link" / "a.csv", beside / "real.csv"):
        with pytest.raises(UsageError, match="it lies in trace, which is read"):
            check_no_input(path, "-o", [folder])
    check_no_input(beside / "new.csv", "-o", [folder])


def test_no_file_is_fine() -> None:
    assert check_target(None, "-o", (".csv",)) is None


def test_description_gives_base_name_size_and_digest(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"abc")
    assert describe_file(tmp_path / "a.bin", rows=3) == {
        "path": "a.bin",
        "rows": 3,
        "bytes": 3,
        "sha256": hashlib.sha256(b"abc").hexdigest(),
    }
