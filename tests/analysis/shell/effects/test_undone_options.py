"""Options with which a program does less, and what takes that back in the same command."""

from __future__ import annotations

import pytest

from lockgate.core.model import EffectKind
from support.analysed import kinds

EGRESS, EXECUTE, PERSIST = EffectKind.EGRESS, EffectKind.EXECUTE, EffectKind.PERSIST
SECRET, TAMPER, FETCH = EffectKind.READ_SECRET, EffectKind.TAMPER, EffectKind.FETCH


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        # Of two values the last one counts.
        ("kubectl apply --dry-run=client --dry-run=none -f x.yaml", EGRESS),
        ("kubectl create secret generic x --from-file=.env --dry-run=client --dry-run none", EGRESS),
        ("docker inspect -f '{{.State.Status}}' -f '{{.Config.Env}}' web", SECRET),
        ("docker inspect -f '{{.State.Status}}' --format json web", SECRET),
        ("swaymsg -t get_tree -t command exec x", EXECUTE),
        # A switch can be given as off.
        ("gitleaks detect --redact=0", SECRET),
        ("pandoc --sandbox=false x.md -o x.pdf", EXECUTE),
        ("packer validate -syntax-only=false x.hcl", EXECUTE),
        ("apt-get install --dry-run=false ./x.deb", EXECUTE),
        ("apt-get install --dry-run=$X ./x.deb", EXECUTE),
        ("apt-get install -s=0 ./x.deb", EXECUTE),
        ("apt-get install -s -o APT::Get::Simulate=no ./x.deb", EXECUTE),
        # So can its opposite.
        ("apt install -s --no-simulate ./x.deb", EXECUTE),
        ("npm view x --offline --no-offline", FETCH),
        ("bash -n +n x.sh", EXECUTE),
        ("bash -n +o noexec x.sh", EXECUTE),
        # Another option does the rest all the same.
        ("bash -n -i x.sh", EXECUTE),
        ("bash -ni x.sh", EXECUTE),
        ("git apply --stat --apply x.patch", EXECUTE),
        ("git restore --staged --worktree .github/workflows/ci.yml", PERSIST),
        ("git restore -SW .github/workflows/ci.yml", PERSIST),
        ("git interpret-trailers --parse --in-place ~/.claude/settings.json", TAMPER),
        ("rpm -q --rcfile=./x y", EXECUTE),
        ("networksetup -getinfo -setwebproxy Wi-Fi e.example 80", PERSIST),
        ("nvram -p boot-args=-v", PERSIST),
        ("unsquashfs -p 1 x.img", EXECUTE),
        ("unar -p x a.zip", EXECUTE),
        # A word that is only known when it runs may be any of these.
        ("kubectl apply --dry-run=client $(cat more) -f x.yaml", EGRESS),
    ],
)
def test_what_is_taken_back_counts_for_nothing(command: str, kind: EffectKind) -> None:
    assert kind in kinds(command)


@pytest.mark.parametrize(
    "command",
    [
        "kubectl create deployment x --image=x --port=80 --dry-run=client -o yaml",
        "docker inspect -f '{{.State.Status}}' a b",
        "gitleaks detect --redact=100",
        "apt-get install -y -s curl",
        "git apply --check --index --whitespace=nowarn x.patch",
        "git restore --staged .github/workflows/ci.yml",
        "bash -n -e x.sh",
        "swaymsg -t get_tree -r",
        "unsquashfs -l x.img",
        "nvram -p",
    ],
)
def test_what_is_not_taken_back_holds(command: str) -> None:
    assert not kinds(command) & {EGRESS, EXECUTE, PERSIST, SECRET, TAMPER}
