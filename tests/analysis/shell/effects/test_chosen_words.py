"""Words that a program prints and that somebody could choose: another command takes them for files or code."""

from __future__ import annotations

import pytest

from lockgate.core.model import EffectKind
from support.analysed import kinds

ACTING = {EffectKind.EGRESS, EffectKind.EXECUTE, EffectKind.PERSIST, EffectKind.TAMPER}


@pytest.mark.parametrize(
    "command",
    [
        # It prints what it does not know, and whatever else it is asked for.
        "tee $(git rev-parse --show-toplevel ~/.claude/settings.json) < x",
        "tee $(git rev-parse --show-toplevel --git-path hooks/pre-push) < x",
        # A temporary file lies where it is told to.
        'cp x "$(mktemp -p .github/workflows --suffix=.yml)"',
        'cp x "$(mktemp .github/workflows/XXXXXX.yml)"',
        'cp x "$(mktemp -t XXXXXX.desktop --tmpdir=$HOME/.config/autostart)"',
        'cp x "$(TMPDIR=.github/workflows mktemp --suffix=.yml)"',
        'export TMPDIR=.github/workflows; cp x "$(mktemp --suffix=.yml)"',
        # Numbers with something between them, and a calculation that prints a text.
        "tee $(pgrep -d /home/user/.claude/settings.json x) < x",
        "tee $(echo '\"/home/user/.claude/settings.json\"' | bc) < x",
        "tee $(wc -l --files0-from=- < x) < y",
        # What a commit holds.
        'sed "$(git cat-file -p HEAD:x)" y',
        'awk "$(git stripspace < x)" y',
        "find . $(git cat-file -p HEAD:x)",
        "find . $(git ls-tree -r HEAD)",
        "export $(git cat-file -p HEAD:x); ls",
        # The name of a branch: x/e;1ewhoami or LD_PRELOAD=x/y.so.
        'sed "s/a/$(git branch --show-current)/" y',
        'b=$(git rev-parse --abbrev-ref HEAD); sed "s/a/$b/" y',
        "export $(git branch --show-current); ls",
        "read $(git branch --show-current) < x; ls",
        "printf -v $(git branch --show-current) ./bin; ls",
        # The name of a file: 1ewhoami or LD_PRELOAD=x.so.
        'for f in *; do sed "$f" y; done',
        'for f in *; do awk "$f" y; done',
        'ls | while read f; do sed "${f}p" y; done',
        'for f in *; do export "$f"; done; ls',
        "export *; ls",
        # The name of a file: b|e;1ewhoami ends the text that it stands in.
        'for f in *; do sed "s|a|$f|" y; done',
        'for f in *; do sed "s#$f#b#" y; done',
        'for f in *; do sed "\\|$f|d" y; done',
        'for f in *; do sed "a $f" y; done',
        "find . -exec sed 's/a/{}/' y ';'",
        "ls | xargs -I{} sed 's|a|{}|' y",
        # "; system("whoami") #
        'for f in *; do awk "{print \\"$f\\"}" y; done',
        "find . -exec awk '{print \"{}\"}' y ';'",
        'for f in *; do export "LD_$f"; done; ls',
    ],
)
def test_a_chosen_word_is_no_harmless_one(command: str) -> None:
    assert kinds(command) & ACTING


@pytest.mark.parametrize(
    "command",
    [
        'cd "$(git rev-parse --show-toplevel)" && cp x y',
        't=$(mktemp); sed s/a/b/ x > "$t"; mv "$t" x',
        'd=$(mktemp -d -t x.XXXXXX); echo x > "$d/a"',
        'cp x "$(mktemp /tmp/x-XXXXXX.py)"',
        'sed -i "s/VERSION/$(git rev-parse --short HEAD)/" x',
        'sed -n "$(wc -l < x)p" x',
        "sleep $(echo '1.5 * 2' | bc)",
        "kill $(pgrep -f vite)",
        'git log "$(git describe --tags --abbrev=0)..HEAD"',
        'jq --arg v "$(git branch --show-current)" .v x',
        "git cat-file -t $(git rev-parse HEAD)",
        'for f in *.md; do sed -i "s/TITLE/${f%.md}/" "$f"; done',
        'for f in *; do sed "/$f/d" y; done',
        "find . -name '*.py' -exec sed -i 's|a|b|' {} +",
        "ls | xargs -I{} awk '{print $1}' {}",
        'for i in 1 2 3; do sed "s|a|$i|" y; done',
        'while read a b; do echo "$a $b"; done < x',
    ],
)
def test_honest_words_are_used(command: str) -> None:
    assert not kinds(command) & ACTING
