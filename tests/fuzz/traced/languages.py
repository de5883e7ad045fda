"""The words of little languages that harmless programs read, harmful ones included, and everyday lines."""

from __future__ import annotations

import re

EVERYDAY = (
    "for f in src/*.py; do head -1 $f; done",
    "for i in 1 2 3; do echo $i; done",
    "if test -f README.md; then cat README.md; fi",
    "[[ -f README.md ]] && cat README.md",
    "while read l; do echo $l; done < README.md",
    "ls | while read f; do wc -l $f; done",
    "case x in x) ls;; esac",
    "x=1; echo $x",
    "wc -l $(git ls-files)",
    "git ls-files | xargs wc -l",
    "cat <<'E'\nabc\nE",
    "(cd src && ls)",
    "cd src; ls",
    "ls *.md",
    "printf '%s' src/*",
    "echo $? $HOME",
    "git -C src log",
    "time ls",
    "! grep -q a README.md",
)


def _words(text: str) -> list[str]:
    """Split at blanks; `\\ ` is a blank inside of a word."""
    return [each.replace("\\ ", " ") for each in re.findall(r"(?:\\ |\S)+", text)]


# How the programs are called, with `@` for the script, and its words.
LANGUAGES = (
    (
        ("sed @ README.md", "sed -n @ README.md", "sed -E @ notes.txt", "cat README.md | sed -n -e @"),
        _words(
            r"""
            s/a/b/ s|a|b|g s,a,b,2 p d q n N l = F z 1 $ 1,3 0~2 /a/ \,a, /[/]/ /[]/]x/ /[^]/]/
            s/[/]/w/ y/ab/cd/ { } ; ;; ! I M g & \n # b t :x w e r R W Q a i c x w\ out r\ .env
            e\ id s/a/b/w s/a/id/e s/[]/]/x/e s/x\/y/z/ s/a/b/w\ out s/[[:alpha:]/]/x/w\ out
            """
        ),
    ),
    (
        ("awk @ README.md", "awk -F: @ notes.txt", "mawk @ README.md", "cat README.md | awk @"),
        _words(
            r"""
            BEGIN END {print} {print\ $1} {x=1} {x++} /a/ /[/]/ /[]/]/ /[^]/]/ !/a/ NR==1 $0 ( ) { }
            ; , ~ / // + - "out" "id" > >> | system( getline close( printf length substr(
            gsub(/a/,"b") function\ f() "%s" ? : ENVIRON {print\ >\ "out"} {print|"id"}
            {system("id")} {"id"|getline} "/inet/tcp/0/localhost/9"
            """
        ),
    ),
    (
        ("jq @ data.json", "jq -r @ data.json", "jq -n @"),
        _words(
            r"""
            . .a .[0] | , [ ] { } ( ) $ENV $\ ENV env $__prog_args input inputs @sh @base64 include
            import "x" ; : keys map( select( getpath input_filename debug stderr halt_error limit(
            first .. // as $x reduce def\ f:
            """
        ),
    ),
    (
        ("find . @", "find src @", "find . -type f @", "find src -maxdepth 1 @"),
        _words(
            r"""
            -name '*.py' -type f -print -print0 -o -a ! \( \) , -newer README.md -printf '%p' -ls
            -prune -delete -exec cat {} \; + -execdir -ok sh -fprint out -fls -fprintf -quit -size
            +1k -regex '.*' -path './src/*' -files0-from
            """
        ),
    ),
    (
        (
            "grep -rn @ .",
            "grep -rE @ .",
            "grep -rP @ .",
            "egrep -rw @ src config",
            "rg @",
            "rg -uu @ .",
            "rg -P --hidden --no-ignore @",
            "git grep --untracked @",
            "git grep --untracked -E @",
        ),
        _words(
            r"""
            . .* ^ $ \w \W [A-Z] [A-Z_] = _ 7 q | \| ( ) * + ? {1,3} {2,} \{2\} [^a] [^a-z] \S \s [[:upper:]]
            [[:alnum:]_] (?i) (?x) (?s) \b \B \< \> a|= z|7 () (|) (?=7) (?:7|) (?<!q)= [=] \x3d \075 \Q=\E
            \d \D \pL \p{Lu} \N \X \R \h \K \1 (.)\1 TODO abc .{5} \(7\) 7\|3 \+ \= [] []=] [^]=] [a-\]]
            [[^a]] [\w&&\d] [^\d\D] \u003d # \e \cM ^.*$ \A \z \Z .+= $$ ^^ +? *+ (*ACCEPT) (?P<n> \b{start}
            """
        ),
    ),
)
