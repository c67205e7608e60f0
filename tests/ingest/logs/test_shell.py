"""What is kept of a command: public names, tokens, a fingerprint, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestat.ingest.logs.model import Shell
from tracestat.ingest.logs.names import TOKEN, Names
from tracestat.ingest.logs.public_names import PUBLIC_EXECUTABLES
from tracestat.ingest.logs.shell import parsed_command, shell_of
from tracestat.ingest.logs.shell_skeleton import RESERVED

NAMES = Names(b"a key of the tests")


def test_private_names_are_the_same_token_in_list_and_skeleton() -> None:
    shell = shell_of("acme-deploy --to prod && git push; ./acme-deploy", NAMES)
    token = NAMES.executable("acme-deploy")
    assert TOKEN.fullmatch(token)
    assert shell.executables == (token, "git", token)
    assert shell.skeleton == f"{token} && git ; {token}"
    assert (shell.status, shell.reason) == ("success", None)


def test_true_names_are_kept_only_when_asked() -> None:
    keeping = Names(b"a key of the tests", keep=True)
    assert shell_of("acme-deploy", keeping) == shell_of("acme-deploy", NAMES)
    assert keeping.seen == {("executable", NAMES.executable("acme-deploy")): "acme-deploy"}
    assert NAMES.seen == {}


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (["bash", "-lc", "ls | wc"], ("ls", "wc")),
        (["/bin/zsh", "-c", "ls", "zsh"], ("ls",)),
        (["sh", "-e", "-c", "date; ls"], ("date", "ls")),
        (["bash", "deploy.sh"], ("bash",)),
        (["bash"], ("bash",)),
        (["bash", "x", "-c", "ls"], ("bash",)),
        (["git", "commit", "-m", "it's; done"], ("git",)),
        (["sudo", "-u", "me", "ls"], ("ls",)),
        (["python3", "-m", "pytest", "-k", "a or b"], ("pytest",)),
        (["apply_patch", "*** Begin Patch\n+it's\n*** End Patch"], ("apply_patch",)),
    ],
)
def test_argument_lists(words: list[str], labels: tuple[str, ...]) -> None:
    found = parsed_command(words)
    assert (found.labels, found.status) == (labels, "success")


@pytest.mark.parametrize(
    ("words", "reason"), [([], "argv-empty"), (["bash", "-lc"], "argv-no-script"), (["bash", "-c", " "], "empty")]
)
def test_argument_lists_without_a_command(words: list[str], reason: str) -> None:
    assert shell_of(words, NAMES) == Shell((), "failed", reason, "", None)


def test_argument_lists_of_something_else() -> None:
    assert shell_of(["ls", 5], NAMES).reason == "argv-not-text"  # type: ignore[list-item]


def test_the_fingerprint_is_of_the_text_within_its_ends() -> None:
    first = shell_of("make  all", NAMES).fingerprint
    assert first is not None
    assert len(first) == 16
    assert shell_of("\n make  all \r\n", NAMES).fingerprint == first
    assert shell_of(["bash", "-lc", "make  all"], NAMES).fingerprint == first
    assert shell_of("make 'all'", NAMES).fingerprint != first
    assert shell_of("make  all", Names(b"another key")).fingerprint != first
    assert shell_of("a\r\nb", NAMES).fingerprint == shell_of("a\nb", NAMES).fingerprint
    assert shell_of(["ls", "a b"], NAMES).fingerprint == shell_of("ls 'a b'", NAMES).fingerprint


def test_a_text_that_cannot_be_parsed_has_a_fingerprint_all_the_same() -> None:
    broken = shell_of("echo 'half", NAMES)
    assert (broken.executables, broken.skeleton, broken.status) == ((), "", "failed")
    assert broken.fingerprint == shell_of("echo 'half\n", NAMES).fingerprint is not None
    assert shell_of("", NAMES).fingerprint is None
    assert shell_of(" \n", NAMES).fingerprint is None


SECRETS = ("hunter2", "/home/alice", "alice@example.org", "s3cr3t-project", "tok_abcdef123456")


@pytest.mark.parametrize(
    "template",
    [
        "curl -H 'Authorization: {}' x",
        "cd {} && make",
        "{}",
        "{}=1 make",
        "A={} make",
        "echo {} | {}/run",
        "for {} in a; do {}; done",
        "cat <<{0}\n{0}\n{0}",
        "$({})",
        "python -m {}",
        "sudo -u {} {}",
        "uv run {}",
        "'{}",
        "{}() {{ ls; }}",
        "# {}",
        "ls &amp; {}",
        "{}\0",
    ],
)
@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_comes_out(template: str, secret: str) -> None:
    text = template.format(secret, secret)
    for command in (text, ["bash", "-lc", text], ["run", text], [text]):
        assert secret not in repr(shell_of(command, NAMES))
        assert secret.rsplit("/", 1)[-1] not in repr(shell_of(command, NAMES))


@given(st.text())
def test_only_public_names_tokens_and_operators_come_out(text: str) -> None:
    shell = shell_of(text, NAMES)
    allowed = PUBLIC_EXECUTABLES
    assert all(name in allowed or TOKEN.fullmatch(name) for name in shell.executables)
    assert all(word in RESERVED or word in allowed or TOKEN.fullmatch(word) for word in shell.skeleton.split())


def test_a_repeated_command_gives_the_same() -> None:
    long = "git add " + "x" * 5_000
    for text in ("ls && pwd", long, "echo 'half"):
        assert shell_of(text, NAMES) == shell_of(text, NAMES)
