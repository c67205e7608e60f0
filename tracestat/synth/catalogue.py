"""What a synthetic trace is made of: tools, deadlines, waits, turn counts, with the shapes that were published.

Medians and shares follow the figures published for TraceLab v0.0.2 (SyFI Lab, University of Washington): medians of
Read, Edit and Bash 27, 75 and 329 ms, human waits with a median of 84 s, generation of 6.5 s, 10 requests a session,
8 rounds a request, 66 % of the sessions Claude's. Slopes within a key lie in the range published for classes, -0.56 to
-0.74; pooled ones are steeper, up to -0.85 for shells, where the published median and the published tail meet. All of
it is plain data; nothing here draws.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracestat.synth.laws import TurnLaw, WaitLaw

__all__ = [
    "CLAUDE",
    "CODEX",
    "DEVELOPER_THETA",
    "PROVIDERS",
    "SKELETON_THETA",
    "AskedLimit",
    "Provider",
    "Tool",
]

SKELETON_THETA = 0.45
DEVELOPER_THETA = 0.1

# within one (tool, skeleton, developer); pooled over them, slopes are steeper
SLOPES: dict[str, dict[str, float]] = {
    "claude": {
        "shell": -0.64, "read": -0.58, "edit": -0.62, "agent": -0.56, "web": -0.57, "plan": -0.66, "mcp": -0.59,
    },
    "codex": {"shell": -0.56, "read": -0.58, "edit": -0.62, "plan": -0.66, "mcp": -0.59},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of one provider.

    Attributes
    ----------
    name, tool_class : str
    weight : float
        Relative frequency among the calls that are not polls.
    median : float
        Pooled median duration, seconds.
    t0 : float
        Shortest duration, seconds.
    error : float
        Share of calls that end in an error.
    input_chars, result_chars : int
        Median sizes.
    internal : str
        How the runner reports its own time: ``""`` not, ``"ms"`` in milliseconds, ``"tenths"`` in tenths of a
        second, ``"exec"`` as unified exec does (0 when the process was gone before collection began).
    keyed : bool
        Whether the call has a command skeleton.
    custom : bool
        Whether Codex logs it as a custom tool call.
    """

    name: str
    tool_class: str
    weight: float
    median: float
    t0: float
    error: float
    input_chars: int
    result_chars: int
    internal: str = ""
    keyed: bool = False
    custom: bool = False


@dataclass(frozen=True, slots=True)
class AskedLimit:
    """A limit in force for a share of the calls of a tool.

    Attributes
    ----------
    seconds : float
    share : float
        Share of the tool's calls that run under this limit; independent of their duration.
    """

    seconds: float
    share: float


@dataclass(frozen=True, slots=True)
class Provider:
    """All constants of one harness.

    Attributes
    ----------
    name : str
    tools : tuple of Tool
    limits : dict
        Asked limits by tool name; shares that do not add up to one leave the rest without limit.
    overhead : dict
        By tool name, how long after the limit the result is logged: a wait law.
    batch : tuple of float
        P(1), P(2), ... calls in a round with calls.
    sibling : float
        Chance that a further call of a batch is the same tool as the first.
    requests, rounds : TurnLaw
        Requests of a session, rounds of a request.
    human : dict
        Waits for an answer by tool name.
    user_gap, generation : WaitLaw
        From the end of a request to the next user message; from complete input to the last output.
    reasoning, text : float
        Shares of rounds with such an event (a final round always has text).
    interrupted : float
        Share of requests, the last of a session excepted, whose last round is cut by a user message.
    open_end : float
        Share of sessions that stop at a call without result.
    resumed : float
        Share of sessions that begin with a copy of the developer's session before.
    context : tuple of int
        System prompt, and where the context is compacted, tokens.
    models : tuple of str
    """

    name: str
    tools: tuple[Tool, ...]
    limits: dict[str, tuple[AskedLimit, ...]]
    overhead: dict[str, WaitLaw]
    batch: tuple[float, ...]
    sibling: float
    requests: TurnLaw
    rounds: TurnLaw
    human: dict[str, WaitLaw]
    user_gap: WaitLaw
    generation: WaitLaw
    reasoning: float
    text: float
    interrupted: float
    open_end: float
    resumed: float
    context: tuple[int, int]
    models: tuple[str, ...]

    def slope(self, tool: Tool) -> float:
        """Log-log slope of the tool's hazard within a key."""
        return SLOPES[self.name][tool.tool_class]


ANSWER = WaitLaw(84.0, 2.2, 1.0, 43_200.0)

CLAUDE = Provider(
    name="claude",
    tools=(
        Tool("Bash", "shell", 0.520, 0.329, 0.012, 0.07, 149, 273, keyed=True),
        Tool("Read", "read", 0.210, 0.027, 0.002, 0.013, 101, 2315),
        Tool("Edit", "edit", 0.120, 0.075, 0.004, 0.05, 768, 132),
        Tool("Write", "edit", 0.026, 0.060, 0.004, 0.02, 2937, 143),
        Tool("Grep", "read", 0.028, 0.180, 0.010, 0.013, 137, 368),
        Tool("Glob", "read", 0.008, 0.200, 0.010, 0.03, 45, 106, "ms"),
        Tool("TodoWrite", "plan", 0.010, 0.041, 0.002, 0.013, 646, 160),
        Tool("TaskCreate", "plan", 0.006, 0.008, 0.0004, 0.0, 243, 74),
        Tool("TaskUpdate", "plan", 0.013, 0.008, 0.0004, 0.003, 36, 22),
        Tool("TaskList", "plan", 0.001, 0.008, 0.0004, 0.0, 2, 400),
        Tool("Skill", "plan", 0.002, 0.027, 0.002, 0.08, 31, 90),
        Tool("ToolSearch", "plan", 0.002, 0.010, 0.001, 0.0, 60, 300),
        Tool("Agent", "agent", 0.0083, 12.0, 0.5, 0.03, 3265, 1105),
        Tool("Task", "agent", 0.002, 45.0, 0.5, 0.06, 1035, 4556),
        Tool("WebFetch", "web", 0.005, 2.5, 0.08, 0.15, 180, 1800, "ms"),
        Tool("WebSearch", "web", 0.003, 3.0, 0.3, 0.02, 70, 2600, "ms"),
        Tool("AskUserQuestion", "human", 0.0062, 84.0, 1.0, 0.1, 900, 300),
        Tool("ExitPlanMode", "human", 0.0023, 84.0, 1.0, 0.25, 2500, 800),
        Tool("custom_tool_1", "mcp", 0.010, 0.9, 0.02, 0.05, 338, 299),
        Tool("custom_tool_2", "mcp", 0.008, 2.0, 0.05, 0.05, 460, 337),
        Tool("custom_tool_3", "mcp", 0.006, 0.25, 0.01, 0.1, 120, 1500),
        Tool("custom_tool_4", "mcp", 0.004, 0.12, 0.01, 0.02, 90, 900),
    ),
    limits={"Bash": (AskedLimit(120.0, 0.50), AskedLimit(600.0, 0.35))},
    overhead={"Bash": WaitLaw(0.1, 0.3, 0.05, 0.4)},
    batch=(0.885, 0.072, 0.025, 0.011, 0.007),
    sibling=0.6,
    requests=TurnLaw(1.35, 1.35, 160),
    rounds=TurnLaw(0.93, 1.28, 300),
    human={"AskUserQuestion": ANSWER, "ExitPlanMode": ANSWER},
    user_gap=WaitLaw(120.0, 2.2, 2.0, 14 * 86_400.0),
    generation=WaitLaw(6.5, 1.08, 0.6, 600.0),
    reasoning=0.49,
    text=0.40,
    interrupted=0.10,
    open_end=0.03,
    resumed=0.05,
    context=(18_000, 168_000),
    models=("claude-opus-4-8", "claude-opus-4-7", "claude-sonnet-4-6"),
)

CODEX = Provider(
    name="codex",
    tools=(
        Tool("exec_command", "shell", 0.695, 0.300, 0.025, 0.04, 172, 808, "exec", keyed=True),
        Tool("exec", "shell", 0.129, 1.000, 0.030, 0.03, 420, 900, custom=True),
        Tool("apply_patch", "edit", 0.089, 0.060, 0.008, 0.01, 958, 110, "tenths", custom=True),
        Tool("shell_command", "shell", 0.018, 3.000, 0.050, 0.08, 170, 600, "tenths", keyed=True),
        Tool("update_plan", "plan", 0.024, 0.012, 0.001, 0.0, 437, 12),
        Tool("view_image", "read", 0.005, 0.030, 0.002, 0.01, 90, 60),
        Tool("request_user_input", "human", 0.002, 84.0, 1.0, 0.0, 700, 200),
        Tool("custom_tool_5", "mcp", 0.022, 0.600, 0.020, 0.0, 841, 505, "ms"),
        Tool("custom_tool_6", "mcp", 0.016, 1.500, 0.050, 0.0, 300, 2000, "ms"),
    ),
    limits={
        "exec_command": (AskedLimit(1.0, 0.55), AskedLimit(5.0, 0.05), AskedLimit(10.0, 0.28), AskedLimit(30.0, 0.12)),
        "write_stdin": (AskedLimit(5.0, 0.30), AskedLimit(10.0, 0.10), AskedLimit(30.0, 0.60)),
    },
    overhead={"exec_command": WaitLaw(0.17, 0.22, 0.10, 0.45), "write_stdin": WaitLaw(0.011, 0.5, 0.004, 0.040)},
    batch=(0.72, 0.16, 0.07, 0.04, 0.01),
    sibling=0.8,
    requests=TurnLaw(1.45, 1.35, 160),
    rounds=TurnLaw(1.77, 1.20, 300),
    human={"request_user_input": ANSWER},
    user_gap=WaitLaw(59.0, 2.3, 2.0, 14 * 86_400.0),
    generation=WaitLaw(6.0, 1.0, 0.6, 600.0),
    reasoning=0.67,
    text=0.53,
    interrupted=0.10,
    open_end=0.0,  # calls after the last token count are not in TraceLab rows
    resumed=0.0,
    context=(11_000, 220_000),
    models=("gpt-5.5", "gpt-5.4"),
)  # fmt: skip

PROVIDERS = {"claude": CLAUDE, "codex": CODEX}
