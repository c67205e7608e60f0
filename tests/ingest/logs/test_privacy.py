"""Nothing that a log says gets out: secrets in every place of every format, clean and damaged, and one search for all.

A secret may go to the store, the cache, the terminal, JSON, files, charts or messages only as a pseudonym made with the
user's key. The names file may hold names, where it was asked for.
"""

from __future__ import annotations

import gzip
import json
import stat
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pytest

from tests.cli.conftest import Ran
from tests.ingest.logs.poison import MARK, TEMPLATES, damaged, number_of, poisoned, wholly
from tracestat.cli import main
from tracestat.ingest import ingest
from tracestat.ingest.logs.format import Format
from tracestat.ingest.logs.formats import FORMATS, format_of
from tracestat.ingest.logs.lines import read_chunk, read_document
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.state import Chunk, unpack
from tracestat.private_names import names_path

NAMES = Names(b"a key of the tests")
SLUGS = tuple(form.slug for form in FORMATS)
# In the names of files and folders, which are not the log's text.
PLACE = "zqyplace"
FOLDER = f"-home-{PLACE}-plan"


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACESTAT_KEY", "a key of the tests")
    monkeypatch.setenv("TRACESTAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.delenv("TRACESTAT_DEBUG", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)


def silent(content: bytes | str, *marks: str) -> bool:
    """Tell whether none of the secrets is in a content, as UTF-8 or UTF-16, large or small."""
    data = (content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content).lower()
    return not any(mark.encode(code) in data for mark in marks or (MARK, PLACE) for code in ("utf-8", "utf-16-le"))


def kept(chunk: Chunk) -> bytes:
    """Give all that is kept of some lines, uncompressed."""
    return msgspec.msgpack.encode(chunk) + unpack(chunk.facts)


def chunks(form: Format, raw: bytes) -> Iterator[Chunk]:
    """Read a content in every way."""
    yield read_chunk(form, NAMES, raw + b"\n", 1)
    yield read_chunk(form, NAMES, raw, 1, complete=False)
    document = read_document(form, NAMES, raw) if form.document else None
    if document is not None:
        yield document


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("slug", SLUGS)
def test_no_place_of_a_log_is_kept_as_it_was(slug: str, every: int) -> None:
    form = format_of(slug)
    leaks = [
        place
        for place, value in poisoned(TEMPLATES[slug], every=every)
        if not all(silent(kept(chunk)) for chunk in chunks(form, json.dumps(value).encode()))
    ]
    assert leaks == []


@pytest.mark.parametrize("slug", SLUGS)
def test_nothing_is_kept_of_damage(slug: str) -> None:
    form = format_of(slug)
    assert [raw for raw in damaged(TEMPLATES[slug]) if not all(silent(kept(c)) for c in chunks(form, raw))] == []


@cache
def lines_of(slug: str, every: int) -> bytes:
    """Write logs of a format with secrets everywhere, or in every so many places, the untouched templates with them."""
    places = poisoned(TEMPLATES[slug], every=every)
    objects = [*TEMPLATES[slug], *wholly(TEMPLATES[slug]), *(value for _, value in places)]
    raws = [json.dumps(value).encode() for value in objects]
    return b"\n".join([*raws, *islice(damaged(TEMPLATES[slug]), 0, None, every)]) + b"\n"


def few_lines_of(slug: str) -> bytes:
    """Write a readable log with a secret in the place of every text."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in [*TEMPLATES[slug], *wholly(TEMPLATES[slug])])


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Write logs of all formats, with secrets in some places, into folders that spell out secrets."""
    return written(tmp_path, 17)  # a prime, so that every shape has its turn


@pytest.fixture
def all_logs(tmp_path: Path) -> Path:
    """Write logs with secrets in every place."""
    return written(tmp_path, 1)


def written(tmp_path: Path, every: int) -> Path:
    folder = tmp_path / "logs" / FOLDER
    folder.mkdir(parents=True)
    for slug in SLUGS:
        document = len(TEMPLATES[slug]) == 1
        (folder / f"{PLACE}-{slug}.jsonl").write_bytes(few_lines_of(slug))
        (folder / f"{PLACE}-{slug}.damaged.jsonl.gz").write_bytes(gzip.compress(lines_of(slug, every))[:-9])
        if document:
            value = wholly(TEMPLATES[slug])[0]
            (folder / f"{PLACE}-{slug}.json").write_text(json.dumps(value, indent=1), encoding="utf-8")
    (folder / f"{PLACE}.txt").write_text(f"{MARK} notes")
    return tmp_path / "logs"


def texts_of(store: Path) -> Iterator[tuple[str, bytes | str]]:
    """Give all that a store holds: its bytes, every table as text, and what is compressed in it."""
    yield "bytes", store.read_bytes()
    with duckdb.connect(str(store), read_only=True) as connection:
        tables = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        assert {"rounds", "raw_logs", "raw_log_facts", "sources", "rejects", "pauses"} <= set(tables)
        for table in tables:
            yield table, repr(connection.sql(f'FROM "{table}"').fetchall())
        for piece, (facts,) in enumerate(connection.sql("SELECT facts FROM raw_log_facts").fetchall()):
            yield f"facts {piece}", zlib.decompress(facts)
        for (rest,) in connection.sql("SELECT rest FROM raw_logs").fetchall():
            yield "rest", kept(msgspec.msgpack.decode(rest, type=Chunk))


def check_store(store: Path) -> None:
    assert [(what, number_of(repr(content))) for what, content in texts_of(store) if not silent(content, MARK)] == []
    assert [what for what, content in texts_of(store) if not silent(content, PLACE)] == []


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Ran:
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    caught = capsys.readouterr()
    return Ran(code, caught.out, caught.err)


def check_said(ran: Ran, *codes: int) -> None:
    """What is said holds no secret, and is no failure of the program."""
    assert silent(ran.out), ran.out
    assert silent(ran.err), ran.err
    assert "internal error" not in ran.err
    assert ran.code in codes, ran.err


def files_in(*folders: Path) -> Iterable[Path]:
    return (path for folder in folders for path in folder.rglob("*") if path.is_file())


@pytest.mark.full
def test_a_store_of_all_formats_holds_no_secret(tmp_path: Path, all_logs: Path) -> None:
    store = tmp_path / "out.duckdb"
    report = ingest([all_logs], store, force=True)
    assert {source.path.split("/")[0] for source in report.sources} == set(SLUGS)
    assert all(report.tables[name] > 100 for name in ("rounds", "tool_calls", "timing_events"))
    assert report.rejected > 1000
    assert silent(json.dumps(report.to_dict()))
    check_store(store)


@pytest.mark.full
def test_what_is_read_a_second_time_holds_no_secret(tmp_path: Path, all_logs: Path) -> None:
    store = tmp_path / "out.duckdb"
    ingest([all_logs], store, force=True)
    for path in files_in(all_logs):
        if path.suffix == ".jsonl":  # half a line with secrets, the rest of which never comes
            with path.open("ab") as file:
                file.write(few_lines_of(path.stem.removeprefix(f"{PLACE}-"))[:-40])
    ingest([all_logs], store, force=True)
    check_store(store)


COMMANDS: list[tuple[str, ...]] = [
    ("keys",),
    ("calls", "--longest", "20"),
    ("summary", "--by", "tool,command_skeleton"),
    ("survival", "--by", "model"),
    ("hazard", "--by", "project"),
]


@pytest.mark.parametrize("mine", [pytest.param(False, marks=pytest.mark.full), True])
def test_no_command_says_a_secret(tmp_path: Path, logs: Path, mine: bool, capsys: pytest.CaptureFixture[str]) -> None:
    if mine:
        home = tmp_path / "home" / ".claude" / "projects"
        home.parent.mkdir(parents=True)
        logs.rename(home)
    which: str | Path = "--mine" if mine else logs
    out = tmp_path / "out"
    out.mkdir()
    for number, command in enumerate(COMMANDS):
        check_said(run(capsys, *command, which), 0)
        file = out / f"{number}{('.csv', '.parquet', '.json')[number % 3]}"
        check_said(run(capsys, *command, which, "--json", "-o", file), 0)
    check_said(run(capsys, "summary", which, "--by", "tool,model", "--chart", out / "chart.html"), 0)
    check_said(run(capsys, "cache", "list"), 0)
    check_said(run(capsys, "cache", "list", "--json"), 0)
    check_said(run(capsys), 0)
    names = {path.suffix for path in files_in(out)}
    assert names == {".csv", ".parquet", ".json", ".html"}
    check_files(out)
    (store,) = (tmp_path / "cache").glob("*.duckdb")
    check_store(store)
    check_files(tmp_path / "cache")


@pytest.mark.full
def test_the_cache_does_not_tell_what_was_named(tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for which in (logs / FOLDER, logs / FOLDER / f"{PLACE}-claude-code.jsonl"):
        check_said(run(capsys, "summary", which), 0)
        check_said(run(capsys, "summary", which, "--json"), 0)
    check_said(run(capsys, "cache", "list"), 0)
    check_files(tmp_path / "cache")
    check_said(run(capsys, "cache", "clear"), 0)


def check_files(folder: Path) -> None:
    """No file in a folder says a secret, nor does its name."""
    for path in files_in(folder):
        assert silent(path.name), path.name
        assert silent(path.read_bytes()), path.name
        if path.suffix == ".parquet":
            assert silent(repr(duckdb.read_parquet(str(path)).fetchall()))


def test_ingest_and_what_is_written_of_a_store_say_no_secret(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    store = out / "a.duckdb"
    check_said(run(capsys, "ingest", logs, "-o", store), 0)
    assert not names_path(store).exists()
    check_said(run(capsys, "ingest", logs, "-o", out / "b.duckdb", "--json", "--force"), 0)
    check_said(run(capsys, "ingest", store, "-o", out / "c.duckdb"), 0)
    check_said(run(capsys, "export", "tracelab", store, "-o", out / "rows.jsonl"), 0)
    with duckdb.connect(str(store), read_only=True) as connection:
        (session,) = (
            connection.execute("SELECT mode(session_id) FROM rounds WHERE provider = 'claude'").fetchone() or ()
        )
    check_said(run(capsys, "timeline", session, store, "--perfetto", out / "p.json", "--chart", out / "t.html"), 0)
    check_files(out)
    check_store(store)


@pytest.mark.full
def test_true_names_are_kept_aside_and_shown_on_the_screen_only(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    store = out / "a.duckdb"
    ran = run(capsys, "ingest", logs, "-o", store, "--keep-names")
    check_said(ran, 0)
    aside = names_path(store)
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600
    seen = json.loads(aside.read_text(encoding="utf-8"))["seen"]
    assert {kind.split(" ")[0] for kind in seen} == {"tool", "executable", "model", "project"}
    executables = [name for kind, name in seen.items() if kind.startswith("executable")]
    assert any(MARK in name for name in executables)
    # a name, never a path or an argument
    assert not any("/" in name or " " in name or "=" in name for name in executables)
    check_store(store)
    assert MARK in run(capsys, "keys", store, "--top", "500").out
    check_said(run(capsys, "keys", store, "--top", "500", "--json"), 0)
    files = ("-o", out / "s.csv", "--chart", out / "s.html")
    check_said(run(capsys, "summary", store, "--by", "project,model", *files, "--json"), 0)
    assert run(capsys, "summary", store, "--by", "tool,command_skeleton", "-o", out / "s.parquet").code == 0
    check_said(run(capsys, "export", "tracelab", store, "-o", out / "rows.jsonl"), 0)
    aside.unlink()
    check_files(out)


WRONG: dict[str, bytes] = {
    "mostly damaged": b"".join(json.dumps(TEMPLATES["claude-code"][1]).encode() + b"\n" for _ in range(2))
    + f'{{"type": "user", "{MARK}": {MARK}}}\n'.encode() * 9,
    "wrong types": b"".join(
        json.dumps({**TEMPLATES["codex"][1], "timestamp": [MARK], "payload": {"type": {MARK: 1}}}).encode() + b"\n"
        for _ in range(9)
    ),
    "no log": json.dumps({MARK: MARK}).encode(),
    "no JSON": f"{MARK}, {MARK}\n{MARK}, {MARK}\n".encode(),
    "no object": json.dumps([MARK]).encode(),
    "binary": b"\0" * 20 + MARK.encode(),
    "an archive": b"PK\x03\x04" + MARK.encode(),
    "a cut gzip": gzip.compress(MARK.encode() * 99)[:12],
    "a cut Parquet": b"PAR1" + MARK.encode(),
    "a cut DuckDB": b"\0" * 8 + b"DUCK" + MARK.encode(),
    "a rollout of old": json.dumps({"id": MARK, "timestamp": MARK, "instructions": MARK}).encode() + b"\n",
    "deep": b"".join(b'{"type": "' + MARK.encode() + b'", "a":' + b"[" * 9999 + b"\n" for _ in range(9)),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize(
    "how", ["folder", *(pytest.param(how, marks=pytest.mark.full) for how in ("file", "mine", "map"))]
)
def test_no_message_says_a_secret(tmp_path: Path, what: str, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "home" / ".claude" / "projects" / FOLDER
    folder.mkdir(parents=True)
    log = folder / "log.jsonl"
    log.write_bytes(WRONG[what])
    which = {"file": log, "folder": folder.parent, "mine": "--mine", "map": log}[how]
    more = ["--map", "session=a,tool=b,start=c,end=d"] if how == "map" else []
    ran = run(capsys, "ingest", which, "-o", tmp_path / "a.duckdb", *more)
    check_said(ran, 1, 2)
    assert len(ran.err.splitlines()) == 1
    check_said(run(capsys, "ingest", which, "-o", tmp_path / "a.duckdb", "--force", *more), 0, 1, 2)
    if how != "map":
        check_said(run(capsys, "summary", which), 1)


@pytest.mark.filterwarnings("default")
@pytest.mark.full
def test_a_log_that_cannot_be_read_is_not_named(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Path.open

    def opened(self: Path, *a: Any, **k: Any) -> Any:
        if PLACE in self.name:
            raise PermissionError(13, "Permission denied", str(self))
        return whole(self, *a, **k)

    monkeypatch.setattr(Path, "open", opened)
    ran = run(capsys, "ingest", logs, "-o", tmp_path / "a.duckdb")
    check_said(ran, 1)
    assert "cannot be read" in ran.err


CELLS = [MARK, f"/home/{MARK}/x", f"{MARK}@example.org", f"sk-{MARK}-1", f"{MARK} --key {MARK}", f"mcp__{MARK}__x"]
COLUMNS = ("chat", "fn", "t0", "t1", "project", "model", "req", "id", "n", "kind", "limit", "cmd", f"{MARK} notes")
MAP = (
    "session=chat,tool=fn,start=t0,end=t1,project=project,model=model,request_id=req,call_id=id,input_tokens=n,"
    "end_kind=kind,asked_limit=limit,command=cmd"
)
GOOD = dict(zip(COLUMNS, ("a", "Bash", "1", "2", "p", "gpt-5.5", "r", "c", "5", "ok", "9", "make", ""), strict=True))


def table_rows() -> list[dict[str, str]]:
    """Make rows with a secret in one column each, and as many good ones."""
    rows = []
    for column in COLUMNS:
        for cell in CELLS:
            start = 1_780_000_000 + 10 * len(rows)
            good = {**GOOD, "t0": str(start), "t1": str(start + 2), "req": f"r{start}", "id": f"c{start}"}
            rows += [good, {**good, "id": f"x{start}", "req": f"y{start}", column: cell}]
    return rows


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.first_case
def test_a_mapped_table_leaves_no_secret(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table_rows()
    table = tmp_path / f"table.{form}"
    if form == "parquet":
        pa.parquet.write_table(pa.Table.from_pylist(rows), table)
    elif form == "jsonl":
        odd = [json.dumps({**rows[0], "fn": value}) for value in ([MARK], {MARK: MARK}, True, None)]
        cut = [json.dumps(row)[:40] for row in rows[1::9]]
        table.write_text("\n".join([*map(json.dumps, rows), *odd, *cut, MARK]) + "\n", encoding="utf-8")
    else:
        cells = [",".join(f'"{row[column]}"' for column in COLUMNS) for row in rows]
        wrong = [f"{MARK},{MARK}", f'{MARK}"x,1', f'"{MARK}']
        table.write_text("\n".join([",".join(COLUMNS), *cells, *wrong]) + "\n", encoding="utf-8")
    store = tmp_path / "a.duckdb"
    ran = run(capsys, "ingest", table, "--map", MAP, "-o", store)
    check_said(ran, 0)
    check_said(run(capsys, "ingest", table, "--map", MAP, "-o", store, "--json"), 0)
    assert ran.code == 0
    check_store(store)
    check_said(run(capsys, "keys", store), 0)


@pytest.mark.parametrize("mapping", [MAP.replace("chat", "nothing"), MAP.replace("t0", f"{MARK} notes"), MAP])
def test_messages_about_a_table_say_none_of_its_values(
    tmp_path: Path, mapping: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    header = [column.replace(MARK, "my") for column in COLUMNS]
    cells = [",".join(f'"{cell}"' for cell in CELLS * 2 + [MARK]) for _ in range(9)]
    mapping = mapping.replace(MARK, "my")
    for content in ([",".join(header), *cells], cells):
        table.write_text("\n".join(content) + "\n", encoding="utf-8")
        ran = run(capsys, "ingest", table, "--map", mapping, "-o", tmp_path / "a.duckdb")
        check_said(ran, 1, 2)
        assert len(ran.err.splitlines()) == 1
