"""The shell commands of a synthetic trace: which skeletons occur, how often, and which of them are slow.

A skeleton is what TraceLab leaves of a command (executables and operators, no arguments). The table is built from
two short lists, programs and the patterns around them, so that it has the long tail that real skeletons have
without any real command in it. The order from fast to slow is fixed; how much slower is drawn from the frailty law
in `laws`, so that the variance between skeletons is known.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Skeleton", "skeletons"]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """One command skeleton.

    Attributes
    ----------
    text : str
        The skeleton in TraceLab's grammar; empty when the command could not be parsed.
    executables : tuple of str
        One label per command, those inside loops and substitutions included.
    weight : float
        Share of the provider's shell launches.
    slowness : float
        Rank score: skeletons with larger scores get smaller hazard multipliers.
    fields : str
        The four command columns as JSON members, ready to be put into a row.
    """

    text: str
    executables: tuple[str, ...]
    weight: float
    slowness: float
    fields: str


# program: slowness (0 instant, 10 minutes), weight in Claude's Bash, weight in Codex' shell
PROGRAMS: tuple[tuple[str, float, float, float], ...] = (
    ("pwd", 0.0, 1, 1), ("echo", 0.1, 3, 1), ("true", 0.1, 0.2, 1), ("which", 0.3, 1, 1), ("mkdir", 0.3, 2, 1),
    ("nl", 0.3, 0.2, 9), ("cat", 0.4, 7, 4), ("sed", 0.4, 6, 44), ("head", 0.4, 2, 1), ("tail", 0.5, 3, 1),
    ("wc", 0.5, 3, 1), ("ls", 0.5, 10, 3), ("cp", 0.6, 2, 1), ("mv", 0.6, 1, 0.5), ("rm", 0.7, 3, 0.6),
    ("grep", 0.9, 17, 1), ("rg", 0.8, 2, 24), ("find", 1.4, 5, 5), ("jq", 1.0, 2, 1), ("diff", 1.0, 1, 1),
    ("git", 1.8, 48, 48), ("awk", 1.2, 1, 0.5), ("lsof", 2.0, 0.5, 1), ("ps", 1.7, 1, 1), ("tmux", 2.2, 0.3, 1),
    ("python-script", 3.2, 4, 3), ("python", 3.6, 4, 2), ("node", 3.4, 4, 4), ("ruby", 3.4, 0.5, 0.3),
    ("bash", 4.2, 1.5, 1), ("curl", 3.8, 4, 3), ("gh", 4.0, 6, 4), ("ssh", 5.0, 3, 1), ("custom_1", 3.0, 4, 3),
    ("custom_2", 4.4, 3, 2), ("custom_3", 5.2, 2, 2), ("custom_4", 2.0, 2, 2), ("custom_5", 6.4, 1, 1),
    ("npx", 5.6, 4, 3), ("npm", 6.2, 4, 4), ("pnpm", 6.2, 3, 1), ("tsc", 6.0, 1.5, 1), ("go", 5.8, 6, 3),
    ("pytest", 6.6, 6, 4), ("cargo", 7.2, 3, 2), ("make", 6.8, 2, 1), ("vitest", 6.6, 1, 1), ("pip", 6.3, 1, 0.5),
    ("uv", 5.4, 1, 0.5), ("docker", 7.4, 2, 1), ("gradle", 8.2, 0.6, 0.4), ("terraform", 7.6, 0.4, 0.2),
    ("sleep", 9.0, 1.2, 0.8),
)  # fmt: skip

# pattern around a program, slowness added (tail and grep are put behind long outputs), weight Claude, weight Codex
PATTERNS: tuple[tuple[str, float, float, float], ...] = (
    ("{0}", 0.0, 36, 58), ("{0} | tail", 0.5, 11, 1), ("{0} | head", 0.2, 8, 2), ("cd && {0}", 0.1, 11, 0.5),
    ("cd && {0} | tail", 0.6, 7, 0.3), ("{0} && {0}", 0.3, 6, 9), ("{0} ; echo", 0.0, 4, 1),
    ("{0} && echo", 0.1, 4, 1), ("{0} | grep", 0.1, 3, 0.3), ("{0} | grep | head", 0.2, 3, 0.2),
    ("{0} | sed", 0.1, 0.5, 9), ("{0} | rg", 0.1, 0.3, 5), ("{0} || true", 0.0, 1, 3), ("<assign> ; {0}", 0.3, 2, 3),
    ("{0} && {0} && {0}", 0.5, 2, 4), ("{0} ; {0} ; {0}", 0.4, 2, 1), ("{0} | sort", 0.2, 1, 2),
)  # fmt: skip

# skeleton, executables, parse status, parse reason, slowness, share Claude, share Codex
SPECIAL: tuple[tuple[str, tuple[str, ...], str, str | None, float, float, float], ...] = (
    ("git && git <substitution>", ("git", "git", "cat"), "success", None, 2.4, 0.012, 0.002),
    ("git <substitution>", ("git", "cat"), "success", None, 2.3, 0.008, 0.001),
    ("<loops>", ("echo", "curl", "sleep"), "success", None, 8.0, 0.006, 0.003),
    ("<conditional>", ("test", "echo"), "success", None, 1.0, 0.003, 0.001),
    ("<assign> && cd && <subshell>", ("cd", "make"), "success", None, 6.9, 0.002, 0.001),
    ("sleep ; tail", ("sleep", "tail"), "success", None, 9.1, 0.004, 0.001),
    ("<unknown>", (), "failed", "bad", 2.5, 0.001, 0.003),
    ("", (), "failed", "parse-error", 2.6, 0.0005, 0.002),
    ("cat && <unknown>", ("cat",), "partial", "dynamic", 2.0, 0.004, 0.001),
)


@lru_cache(maxsize=2)
def skeletons(provider: str) -> tuple[Skeleton, ...]:
    """Give the skeletons of one provider, fastest first, weights summing to one.

    Parameters
    ----------
    provider : {"claude", "codex"}

    Returns
    -------
    tuple of Skeleton

    Examples
    --------
    >>> table = skeletons("claude")
    >>> round(sum(s.weight for s in table), 9)
    1.0
    >>> next(s.executables for s in table if s.text == "cd && pytest | tail")
    ('cd', 'pytest', 'tail')
    """
    claude = provider == "claude"
    patterns = [(text, slow, c if claude else x) for text, slow, c, x in PATTERNS]
    plain: dict[str, tuple[float, float]] = {}
    for name, slow, c, x in PROGRAMS:
        for pattern, more, weight in patterns:
            # two ways to one skeleton (`echo && echo`): the first one stays
            plain.setdefault(pattern.format(name), (slow + more, weight * (c if claude else x)))
    rows = [(text, labels, status, why, slow, c if claude else x) for text, labels, status, why, slow, c, x in SPECIAL]
    left = (1.0 - sum(row[-1] for row in rows)) / sum(weight for _, weight in plain.values())
    rows += [(text, _labels(text), "success", None, slow, weight * left) for text, (slow, weight) in plain.items()]
    out = []
    for text, labels, status, why, slow, weight in rows:
        # a fixed jitter, so that one program is not always on the same side of another
        jitter = 1.5 * (zlib.crc32(text.encode()) / 2**32 - 0.5)
        out.append(Skeleton(text, labels, weight, slow + jitter, _fields(text, labels, status, why)))
    return tuple(sorted(out, key=lambda s: (s.slowness, s.text)))


def _labels(text: str) -> tuple[str, ...]:
    return tuple(w for w in text.split() if w not in {"|", "&&", "||", ";", "&", "!"} and not w.startswith("<"))


def _fields(text: str, labels: tuple[str, ...], status: str, reason: str | None) -> str:
    members = {
        "executables": list(labels),
        "executable_parse_status": status,
        "executable_parse_reason": reason,
        "command_skeleton": text,
    }
    return json.dumps(members, separators=(",", ":"))[1:-1]
