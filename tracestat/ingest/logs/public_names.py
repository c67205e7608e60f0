"""Names that say nothing about anybody: tools of the known harnesses, and common public executables.

What is not listed here becomes a token (see :mod:`tracestat.ingest.logs.names`). So a name is here only if anybody
may have it: programs that come with systems, languages and clouds, and modules that ``python -m`` runs. Tools of MCP
servers (``mcp__server__tool``) are not: which servers somebody has tells about them.
"""

from __future__ import annotations

from typing import Final

__all__ = ["PUBLIC_EXECUTABLES", "PUBLIC_TOOLS"]

# A name that two harnesses share stands with the first.
_TOOLS: Final = (
    # Claude Code
    """
    Agent AgentOutputTool Artifact AskUserQuestion Bash BashOutput Config CronCreate CronDelete CronList Edit
    EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillBash KillShell LS LSP ListMcpResources
    ListMcpResourcesTool Monitor MultiEdit NotebookEdit NotebookRead PowerShell PushNotification Read ReadMcpResource
    ReadMcpResourceTool RemoteTrigger ReportFindings ScheduleWakeup SendMessage SendUserFile SendUserMessage Skill
    SlashCommand StructuredOutput Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TeamCreate TeamDelete
    TodoRead TodoWrite ToolSearch WebFetch WebSearch Workflow Write exit_plan_mode
    """,
    # Codex
    """
    apply_patch close_agent create_goal exec exec_command get_goal grep_files image_generation interrupt_agent js_repl
    js_repl_reset list_agents list_dir list_mcp_resource_templates list_mcp_resources local_shell parallel read_file
    read_mcp_resource read_thread_terminal request_permissions request_user_input resume_agent send_input send_message
    shell shell_command spawn_agent tool_search tool_suggest unified_exec update_goal update_plan view_image wait
    wait_agent web_search web_search_call write_stdin
    """,
    # OpenCode
    """
    bash batch codesearch edit glob grep invalid list lsp multiedit patch plan_enter plan_exit question read skill task
    todoread todowrite webfetch websearch write
    """,
    # Gemini CLI
    """
    activate_skill ask_user cli_help codebase_investigator complete_task delegate_to_agent enter_plan_mode
    get_internal_docs google_web_search grep_search list_directory read_many_files replace run_shell_command save_memory
    search_file_content web_fetch write_file write_todos
    """,
    # Copilot CLI
    """
    create fetch_copilot_cli_documentation list_bash list_powershell powershell read_agent read_bash read_powershell
    report_intent rg show_file sql stop_bash stop_powershell store_memory str_replace_editor task_complete update_todo
    view write_bash write_powershell
    """,
    # pi
    """
    find ls
    """,
)

_EXECUTABLES: Final = (
    # files and text
    """
    ack ag awk base32 base64 basename bat bc cat chgrp chmod chown cmp column comm cp cut date dd delta df diff dir
    dirname du echo egrep env expand expr false fd fdfind fgrep file find fmt fold fx gawk grep gsed head hexdump join
    jq less ln locate ls md5 md5sum mkdir mktemp more mv nl od paste patch printenv printf pwd readlink realpath rev rg
    rm rmdir sed seq sha1sum sha256sum sha512sum shasum shuf sort split stat strings tac tail tee test touch tr tree
    true truncate uniq wc whereis which xargs xmllint xq xxd yes yq zcat
    """,
    # shells and what they have built in
    """
    alias bash bg builtin cd cmd cmd.exe command dash declare dirs disown eval exec exit export fg fish getopts hash
    help history jobs ksh let local popd powershell powershell.exe pushd pwsh pwsh.exe read readonly return set sh shift
    shopt source times trap type ulimit umask unalias unset wait zsh
    """,
    # processes and the system
    """
    arch chroot crontab dmesg findstr free getent groups hostname htop id ionice iostat journalctl kill killall
    launchctl lsof mount nice nohup nproc nvidia-smi open osascript parallel perf pgrep pidof pkill ps pstree screen
    setsid sleep ss stdbuf strace stty su sudo sync sysctl systemctl taskkill tasklist taskset time timeout tmux top
    umount uname uptime watch where who whoami
    """,
    # archives
    """
    7z ar bzip2 gunzip gzip tar unzip xz zip zstd
    """,
    # network
    """
    curl dig gpg host http ifconfig ip iptables nc netstat nginx nslookup openssl ping rsync scp sftp ssh ssh-add
    ssh-agent ssh-keygen telnet traceroute wget
    """,
    # version control and forges
    """
    gh git git-lfs glab hg hub jj pre-commit svn
    """,
    # compilers, builds and their checks
    """
    actionlint as bazel c++ cabal cargo cc clang clang++ clang-format clang-tidy cmake configure cppcheck ctest g++ gcc
    gdb gfortran ghc ghci go gofmt goimports golangci-lint gotestsum hyperfine just ld ldd lldb make meson msbuild ninja
    nm nvcc objcopy objdump pkg-config protoc readelf rustc rustfmt rustup shellcheck shfmt stack staticcheck strip
    swift valgrind vcpkg xcodebuild xcrun zig
    """,
    # JVM and .NET
    """
    ant dotnet gradle gradlew jar java javac javap jstack kotlin kotlinc mvn mvnw sbt scala
    """,
    # JavaScript
    """
    ava babel biome bun bunx corepack cypress deno esbuild eslint jest mocha next ng node nodemon npm npx nuxt nvm nx
    playwright pnpm prettier rollup ts-node tsc tsx turbo vite vitest webpack yarn
    """,
    # Python
    """
    black cProfile compileall conda coverage flake8 flask hatch http.server ipython isort json.tool jupyter jupyter-lab
    mamba micromamba mypy nox pdb pdm pip pip3 pipenv pipx poetry py_compile pyenv pylint pyright pytest python
    python-script python3 ruff timeit torchrun tox twine unittest uv uvicorn uvx venv virtualenv zipfile
    """,
    # other languages
    """
    R Rscript bundle bundler composer elixir flutter gem julia lua mix perl php phpunit rails rake rspec rubocop ruby
    tclsh
    """,
    # packages and environments
    """
    apk apt apt-cache apt-get asdf brew choco dnf dpkg nix nix-shell pacman rpm snap winget yum zypper
    """,
    # containers and infrastructure
    """
    ansible ansible-playbook buildah docker helm k3s k9s kind kubectl minikube nerdctl podman pulumi sbatch skaffold
    skopeo srun terraform terragrunt vagrant vault
    """,
    # clouds and services
    """
    aws az firebase flyctl gcloud gsutil heroku netlify supabase vercel
    """,
    # databases
    """
    dbt duckdb mongo mongosh mysql mysqldump pg_dump pg_isready pg_restore postgres psql redis-cli redis-server sqlite3
    """,
    # editors, documents and media
    """
    convert dot emacs ffmpeg ffprobe fzf latexmk magick nvim pandoc pdflatex pdftotext vi vim
    """,
    # coding agents and models
    """
    apply_patch claude codex copilot gemini llm ollama opencode pi
    """,
)

PUBLIC_TOOLS: Final[frozenset[str]] = frozenset(name for group in _TOOLS for name in group.split())
PUBLIC_EXECUTABLES: Final[frozenset[str]] = frozenset(name for group in _EXECUTABLES for name in group.split())
