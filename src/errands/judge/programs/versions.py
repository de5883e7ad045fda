"""Versions: programs that may be asked which one they are, and nothing else.

Not here is whatever loads code or fetches something even to say that: cargo, go, yarn, pnpm, composer, tox,
flake8, pylint, terraform.
"""

from __future__ import annotations

# Programs of which nothing but these single words is accepted.
VERSIONS = {
    name: frozenset(words.split())
    for names, words in {
        "node deno bun": "--version -v",
        "npm npx": "--version -v",
        "ruby gem php perl lua luajit julia ghc swift elixir Rscript R": "--version -v",
        "java javac": "--version -version",
        "gcc g++ cc c++ clang clang++ gfortran ld as gdb cmake ninja make gmake meson": "--version",
        "bash zsh dash fish ksh": "--version",
        "ruff black mypy isort nox coverage pipenv hatch pre-commit": "--version",
        "docker podman helm gh aws gcloud psql mysql sqlite3 redis-cli": "--version",
        "curl wget ssh rsync tmux screen vim nvim nano emacs less more watch": "--version -V",
        "rm cp mv ln mkdir rmdir touch chmod chown tee dd truncate shred split csplit": "--help --version",
        "timeout nice nohup stdbuf setsid": "--version",
        "gpg openssl zip bc dc ffmpeg convert pandoc": "--version",
        "apt apt-get dpkg rpm flatpak": "--version",
    }.items()
    for name in names.split()
}
