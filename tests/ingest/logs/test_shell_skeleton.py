"""Labels and skeleton of whole commands: known answers, and what holds of any text."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracestat.ingest.logs.shell_skeleton import RESERVED, parsed

REASONS = {"dynamic", "bad", "none", "parse-error", "html-entity", "empty", "undecodable"}
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


@pytest.mark.parametrize(
    ("text", "labels", "skeleton"),
    [
        ("V=1; make -j4 && grep a b | sort", "make grep sort", "<assign> ; make && grep | sort"),
        ("ls", "ls", "ls"),
        ("ls\n\n\npwd # where\n", "ls pwd", "ls ; pwd"),
        ("ls\r\npwd\r\n", "ls pwd", "ls ; pwd"),
        ("# nothing but words", "", ""),
        ("ls > out 2>&1", "ls", "ls"),
        ("> out", "", "<unknown>"),
        ("ls && > out | cat", "ls cat", "ls && <unknown> | cat"),
        ("serve & sleep 2; curl x &", "serve sleep curl", "serve & sleep ; curl &"),
        ("! grep -q a b || exit 1", "grep exit", "! grep || exit"),
        ("ls; ! true", "ls true", "ls ; ! true"),
        ("make |& tee log", "make tee", "make | tee"),
        ("A=1 B=2", "", "<assign>"),
        ("export PATH=$PATH:/x && make", "make", "<assign> && make"),
        ("A=$(date) B=2 make", "make date", "make <substitution>"),
        # what runs inside is listed, but not shown
        ("for f in *; do wc $f; done | sort", "wc sort", "<loops> | sort"),
        ("while read x; do echo $x; done < list", "read echo", "<loops>"),
        ("for ((i=0; i<3; i++)); do date; done", "date", "<loops>"),
        ("if test -f x; then cat x; else touch x; fi", "test cat touch", "<conditional>"),
        ("case $1 in a) ls;; *) pwd;; esac", "ls pwd", "<conditional>"),
        ("(cd sub && make) && ls", "cd make ls", "<subshell> && ls"),
        ("{ date; ls; } > log", "date ls", "<subshell>"),
        ("f() { ls; }; f", "ls f", "<function> ; f"),
        ("[ -f x ] && rm x", "rm", "<unknown> && rm"),
        ("[[ $(uname) = Linux ]] || ls", "uname ls", "<unknown> || ls"),
        ("unset X; ls", "ls", "<unknown> ; ls"),
        # outputs of other commands
        ("kill $(pgrep node)", "kill pgrep", "kill <substitution>"),
        ("kill `pgrep node`; ls", "kill pgrep ls", "kill <substitution> ; ls"),
        ('echo "at $(date)" | cat', "echo date cat", "echo <substitution> | cat"),
        ("diff <(sort a) <(sort b)", "diff sort sort", "diff <substitution>"),
        ("echo $(echo $(date))", "echo echo date", "echo <substitution>"),
        ("echo $((1 + 2))", "echo", "echo"),
        ("A=$(date); ls", "date ls", "<assign> ; ls"),
        ('cat <<< "$(date)"', "cat date", "cat <substitution>"),
        # here-documents
        ("cat <<EOF\nrm -rf x\nEOF\nls", "cat ls", "cat ; ls"),
        ("cat <<'EOF' | grep x && ls\nit's $(rm x)\nEOF\n", "cat grep ls", "cat | grep && ls"),
        ("python3 - <<'EOF'\nprint('a')\nEOF", "python-script", "python-script"),
        ("python3 <<EOF\nprint(1)\nEOF", "python-script", "python-script"),
        ("cd x && python3 <<EOF\n1\nEOF", "cd python-script", "cd && python-script"),
        (
            "python3 -c 1 | ! python3 <<EOF\n1\nEOF\npython3",
            "python python-script python",
            "python | ! python-script ; python",
        ),
        ("python3 | cat <<EOF\n1\nEOF", "python cat", "python | cat"),
        ("ls > x && python3 2>&1 <<EOF | cat\n1\nEOF", "ls python-script cat", "ls && python-script | cat"),
        ("while read x; do python3; done <<EOF\n1\nEOF", "read python", "<loops>"),
        ("cat <<EOF\n$(date)\nEOF", "cat date", "cat"),
        # wrappers
        ("cd x && timeout 60 uv run pytest -q 2>&1 | tail -5", "cd pytest tail", "cd && pytest | tail"),
        ("find . -print0 | xargs -0 -n1 wc -l", "find wc", "find | wc"),
        # the body of a patch is data, whatever its quotes
        ("apply_patch <<'E'\n*** Begin Patch\n+don't `rm`\n*** End Patch\nE\nls", "apply_patch ls", "apply_patch ; ls"),
        ("apply_patch '*** Begin Patch\n+don't\n*** End Patch'", "apply_patch", "apply_patch"),
    ],
)
def test_known_skeletons(text: str, labels: str, skeleton: str) -> None:
    found = parsed(text)
    assert (found.status, found.reason) == ("success", None)
    assert list(found.labels) == labels.split()
    assert " ".join(found.tokens) == skeleton


@pytest.mark.parametrize(
    ("text", "status", "reason", "labels", "skeleton"),
    [
        ("$TOOL x | wc", "partial", "dynamic", "wc", "<unknown> | wc"),
        ("$(choose) x", "partial", "dynamic", "choose", "<substitution>"),
        ("command -v jq", "failed", "bad", "", "<unknown>"),
        (". env.sh && make", "partial", "bad", "make", "<unknown> && make"),
        ("env | sort", "partial", "none", "sort", "<unknown> | sort"),
        ("env; $X; ls", "partial", "none", "ls", "<unknown> ; <unknown> ; ls"),
        ("for x in a; do $x; done", "failed", "dynamic", "", "<loops>"),
        ("ls 'unfinished", "failed", "parse-error", "", ""),
        ("cat <<EOF\nno end", "failed", "parse-error", "", ""),
        ("", "failed", "empty", "", ""),
        (" \n\t", "failed", "empty", "", ""),
        ("ls\0; rm x", "failed", "undecodable", "", ""),
        ("cd x &amp;&amp; make", "failed", "html-entity", "", ""),
        ("sort &lt; words", "failed", "html-entity", "", ""),
        ("curl 'http://h/?a=1&amp;b=2'", "success", None, "curl", "curl"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, status: str, reason: str | None, labels: str, skeleton: str) -> None:
    found = parsed(text)
    assert (found.status, found.reason) == (status, reason)
    assert (" ".join(found.labels), " ".join(found.tokens)) == (labels, skeleton)


@pytest.mark.parametrize("sign", ["\u00e9", "\u00a0", "\u2003", "\uff08", "\U0001f600", "\U000f5aa2", "\ud83d"])
def test_characters_beyond_ascii_do_no_harm(sign: str) -> None:
    # the scanner of the grammar indexes tables with them: before a brace, some end the process
    for text in (
        f"ls {{{sign}",
        f"ls {{{sign},b}}",
        f"{sign}",
        f"ls ${{{sign}}}",
        f"cat <<{sign}\nx\n{sign}",
        f"${sign}",
    ):
        for _ in range(20):
            assert parsed(text).status in ("success", "partial", "failed")
    assert parsed(f"echo '{sign}' {{{sign},b}} && ls").labels == ("echo", "ls")
    assert parsed(f"cat <<'{sign}'\nx\n{sign}\nls").labels == ("cat", "ls")


def test_half_a_character_is_a_character_like_others() -> None:
    assert parsed("echo 'broken \ud83d' && ls").labels == ("echo", "ls")
    assert parsed("\ud83d x").reason == "bad"


@dataclass(frozen=True)
class Built:
    """A command, and what has to come out."""

    text: str
    labels: tuple[str, ...]
    skeleton: str


_words = st.text("abcxyz019", min_size=1, max_size=6).map(lambda word: f"q{word}")


@st.composite
def _items(draw: st.DrawFn, depth: int = 2) -> Built:
    kind = draw(
        st.sampled_from(["plain", "redirected", "assign"] + ["subst", "loop", "if", "sub", "group"] * (depth > 0))
    )
    name = draw(_words)
    if kind == "plain":
        return Built(f"/opt/{name} --flag 'a; b | c' \"$HOME\"", (name,), name)
    if kind == "redirected":
        return Built(f"{name} x 2>&1 >/dev/null", (name,), name)
    if kind == "assign":
        return Built(f"{name}='a b'", (), "<assign>")
    inner = draw(_statements(depth - 1))
    if kind == "subst":
        return Built(f'{name} "$( {inner.text}\n)"', (name, *inner.labels), f"{name} <substitution>")
    if kind == "loop":
        return Built(f"while {name}; do\n{inner.text}\ndone", (name, *inner.labels), "<loops>")
    if kind == "if":
        return Built(f"if {name}; then\n{inner.text}\nfi", (name, *inner.labels), "<conditional>")
    bracket = ("( ", ")") if kind == "sub" else ("{ ", "\n}")
    return Built(f"{bracket[0]}{inner.text}{bracket[1]}", inner.labels, "<subshell>")


@st.composite
def _statements(draw: st.DrawFn, depth: int = 2) -> Built:
    first, *others = draw(st.lists(_items(depth), min_size=1, max_size=4))
    built = first
    for other in others:
        sign = draw(st.sampled_from(["|", "&&", "||", ";", "\n", "&"]))
        shown = ";" if sign == "\n" else sign
        if sign == "\n" and "|" in built.text:
            sign = ";\n"  # see test_a_redirected_line_after_three_piped_commands_is_lost_as_tracelab_loses_it
        built = Built(
            f"{built.text} {sign} {other.text}",
            built.labels + other.labels,
            f"{built.skeleton} {shown} {other.skeleton}",
        )
    return built


@given(_statements())
@settings(max_examples=133, deadline=None)
@pytest.mark.full
def test_what_is_put_together_comes_apart_again(built: Built) -> None:
    found = parsed(built.text)
    assert found.labels == built.labels
    assert " ".join(found.tokens) == built.skeleton


PIECES = """a ls | & && || ; ( ) { } [ [[ ]] $( ` ' " ${ $x << <<E <<'E' > < ! # \\ if then fi for in do done while case
    esac f() = =( a= -m python uv run sudo é &amp; *** apply_patch"""


@given(
    st.lists(st.sampled_from([*PIECES.split(), "\n", "\nE\n", "\r\n", "\ud83d"]) | st.text(max_size=5)).map(" ".join)
)
@settings(max_examples=200, deadline=None)
def test_any_text_gives_names_and_reserved_tokens_alone(text: str) -> None:
    found = parsed(text)
    assert all(NAME.fullmatch(label) for label in found.labels)
    assert all(token in RESERVED or NAME.fullmatch(token) for token in found.tokens)
    assert not any(NAME.fullmatch(token) for token in RESERVED)
    assert {token for token in found.tokens if token not in RESERVED} <= set(found.labels)
    assert (found.status == "success") == (found.reason is None)
    assert found.reason is None or found.reason in REASONS
    assert found.status != "partial" or found.labels
    # items and operators by turns: TraceLab's grammar of a skeleton
    shape = "".join(
        "s"
        if token == "<substitution>"
        else "n"
        if token == "!"
        else "o"
        if token in ("|", "&&", "||", ";", "&")
        else "i"
        for token in found.tokens
    )
    assert re.fullmatch(r"(?:n*(?:is?|s)(?:on*(?:is?|s))*o?)?", shape)


@pytest.mark.parametrize(
    "unit", ["(", "$(", "echo $(", "{ ", "`", "'", '"', "if a; then ", "a | ", "${", "a=(", "f()", "<<A "]
)
@pytest.mark.parametrize("length", [1_000, 1_000_000])
def test_no_text_is_too_deep_or_takes_long(unit: str, length: int) -> None:
    started = time.process_time()
    found = parsed((unit * (length // len(unit) + 1))[:length])
    assert found.status in ("success", "partial", "failed")
    assert time.process_time() - started < 10  # milliseconds when well, minutes when errors are followed up


def test_well_formed_nesting_is_read_however_deep() -> None:
    assert parsed("echo $(" * 400 + "date" + ")" * 400).labels == ("echo",) * 400 + ("date",)
    assert parsed(" && ".join(["true"] * 400)).tokens == ("true", *("&&", "true") * 399)


@pytest.mark.parametrize("opening", ["<<'EOF'", '<< "EOF"', "<<EOF", "<<-EOF", "<<\\EOF"])
def test_a_megabyte_of_here_document_is_skipped(opening: str) -> None:
    body = "it's (not) { a `command\n" if "'" in opening or '"' in opening or "\\" in opening else "neither is this\n"
    found = parsed(f"cat {opening} > notes && wc notes\n{body * 40_000}EOF\nls")
    assert (found.status, found.labels) == ("success", ("cat", "wc", "ls"))


def test_the_commands_of_a_long_here_document_are_kept_where_it_is_short_enough() -> None:
    found = parsed(f"cat <<EOF > notes\n{'word ' * 8_000}\n$(date)\nEOF\nls")
    assert found.labels == ("cat", "date", "ls")


def test_many_arguments_are_no_error() -> None:
    assert parsed("git add " + " ".join(f"src/part{n}/file.c" for n in range(2_000))).labels == ("git",)


@pytest.mark.parametrize(
    ("error", "well"),
    [("x='unfinished", "x='finished'"), (")", "(a)"), ("cat <<E", "cat <<E\nE"), ("a && && b", "a && b")],
)
def test_an_error_is_found_wherever_it_stands(error: str, well: str) -> None:
    # a long text is watched while it is read, a short one is not
    for before, after in ((0, 0), (0, 300), (300, 0), (300, 300)):
        for text, status in ((error, "failed"), (well, "success")):
            found = parsed("\n".join([*["true && ls"] * before, text, *["true && ls"] * after]))
            assert found.status == status


def test_a_redirected_line_after_three_piped_commands_is_lost_as_tracelab_loses_it() -> None:
    # the grammar takes the line for arguments of `c`; five published calls have the skeleton that this gives
    found = parsed("a | b | c\nd x 2>&1 | e")
    assert (found.labels, " ".join(found.tokens)) == (("a", "b", "c", "e"), "a | b | c | e")
    assert parsed("a | b | c;\nd x 2>&1 | e").labels == ("a", "b", "c", "d", "e")
