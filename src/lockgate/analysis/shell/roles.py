"""What a word does in its place: the roles that the knowledge gives to options and operands.

A role is a function of the invocation, the words that have it and the option's name (empty for operands).
``docs/knowledge.md`` lists them all; a test holds that list to this table.
"""

from __future__ import annotations

from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from lockgate.analysis.shell.invoke import Invocation
    from lockgate.analysis.shell.scope import Arg

ROLES = {
    "name": "files.name",
    "look": "files.look",
    "unpack": "files.unpack",
    "prefix": "files.prefix",
    "backup": "files.backup",
    "packed": "files.packed",
    "read": "files.read",
    "read-below": "files.read_below",
    "read-but": "files.read",
    "read-below-but": "files.read_below",
    "paged": "files.paged",
    "archive": "files.archive",
    "write": "files.write",
    "edit": "files.edit",
    "into": "files.into",
    "container-copy": "folders.container_copy",
    "move": "files.move",
    "link": "files.link",
    "delete": "files.delete",
    "recursive": "files.recursive",
    "keep": "folders.keep",
    "pathspec": "folders.pathspec",
    "fill": "folders.fill",
    "listed": "folders.listed",
    "either": "folders.either",
    "unnamed": "folders.unnamed",
    "rights": "folders.rights",
    "source-below": "folders.source_below",
    "mount": "folders.mount",
    "dsn": "databases.dsn",
    "sqlite": "databases.sqlite",
    "url": "network.url",
    "source": "network.source",
    "saved": "network.saved",
    "remote-name": "network.remote_name",
    "format": "network.format_",
    "host": "network.host",
    "lookup": "network.lookup",
    "peer": "network.peer",
    "send": "network.send",
    "send-file": "network.send_file",
    "static": "network.static",
    "method": "network.method",
    "proxy": "network.proxy",
    "endpoint": "clients.endpoint",
    "reroute": "network.reroute",
    "command": "running.command",
    "script-command": "packages.script_command",
    "program": "running.program",
    "action": "running.action",
    "output": "running.output",
    "format-shell": "running.format_shell",
    "argv": "running.argv",
    "package-argv": "packages.package_argv",
    "argv-inside": "inside.argv",
    "project-argv": "packages.project_argv",
    "exec": "running.execute_found",
    "shell-argv": "running.shell_argv",
    "split": "running.split",
    "lock-argv": "running.lock_argv",
    "script": "running.script",
    "code": "running.code:code",
    "code-shell": "running.code:shell",
    "code-sh": "running.code:sh",
    "code-zsh": "running.code:zsh",
    "code-other-shell": "running.code:other-shell",
    "code-python": "running.code:python",
    "code-sed": "running.code:sed",
    "code-awk": "running.code:awk",
    "code-jq": "running.code:jq",
    "code-yq": "running.code:yq",
    "loaded": "running.loaded",
    "perl-file": "running.perl_file",
    "perl-separator": "running.perl_separator",
    "python-setting": "running.python_setting",
    "passed": "compiling.passed",
    "compiled": "compiling.compiled",
    "code-perl": "running.code:perl",
    "code-javascript": "running.code:javascript",
    "code-sqlite": "running.code:sqlite",
    "code-psql": "running.code:psql",
    "code-mysql": "running.code:mysql",
    "first-sqlite": "running.code:sqlite",
    "first-mysql": "running.code:mysql",
    "cwd": "files.cwd",
    "config": "settings.config",
    "config-write": "settings.config_write",
    "remote": "network.remote",
    "push-to": "network.push_to",
    "placeholder": "running.placeholder",
    "apt-option": "network.apt_option",
    "module": "running.module",
    "delete-found": "files.delete_found",
    "write-first": "files.write_first",
    "process": "network.process",
    "transfer": "network.transfer",
    "ssh-option": "network.ssh_option",
    "assignment": "running.assignment",
    "send-to": "clients.send_to",
    "httpie": "clients.httpie",
    "image": "clients.image",
    "repository": "clients.repository",
    "downloaded": "clients.downloaded",
    "recipient": "clients.recipient",
    "socket": "clients.socket",
    "socat": "clients.socat",
}
"""Role to the function that plays it; after a colon, what that function is made for."""


def play(role: str, call: Invocation, words: list[Arg], option: str) -> None:
    """Say what the words that have a role do."""
    name, _, made_for = ROLES[role].partition(":")
    room, _, function = name.partition(".")
    found = getattr(_room(room), function)
    before = len(call.own)
    (found(made_for) if made_for else found)(call, words, option)
    if role.endswith("-but"):
        if len(call.own) > before:
            from lockgate.analysis.shell.walks import leave_out

            leave_out(call, words, before)
        if any(option.role in ("only-names", "left-out-glob") for option in call.matched.options):
            from lockgate.analysis.shell.walks import taken

            taken(call, words)


def _room(name: str) -> ModuleType:
    # A command needs one or two of them, and a hook pays for each.
    if name == "files":
        from lockgate.analysis.shell import roles_files

        return roles_files
    if name == "folders":
        from lockgate.analysis.shell import roles_folders

        return roles_folders
    if name == "compiling":
        from lockgate.analysis.shell import roles_compiling

        return roles_compiling
    if name == "inside":
        from lockgate.analysis.shell import inside

        return inside
    if name == "network":
        from lockgate.analysis.shell import roles_network

        return roles_network
    if name == "clients":
        from lockgate.analysis.shell import roles_clients

        return roles_clients
    if name == "databases":
        from lockgate.analysis.shell import roles_databases

        return roles_databases
    if name == "packages":
        from lockgate.analysis.shell import roles_packages

        return roles_packages
    if name == "settings":
        from lockgate.analysis.shell import roles_settings

        return roles_settings
    from lockgate.analysis.shell import roles_running

    return roles_running
