"""Filters: programs that read text and write other text to standard output."""

from __future__ import annotations

from errands.judge.programs.entry import Program

PROGRAMS = {
    "sort": Program(
        options="""
        -b --ignore-leading-blanks -d --dictionary-order -f --ignore-case -g --general-numeric-sort -i
        --ignore-nonprinting -M --month-sort -h --human-numeric-sort -n --numeric-sort -R --random-sort -r
        --reverse --sort=general-numeric|human-numeric|month|numeric|random|version -V --version-sort
        --batch-size=NUMBER -c --check[=quiet|silent|diagnose-first] -C --debug -k=TEXT --key=TEXT -m
        --merge -s --stable -S=SIZE --buffer-size=SIZE -t=TEXT --field-separator=TEXT --parallel=NUMBER -u
        --unique -z --zero-terminated
        """,
        operands="READ...",
        refused={
            "-o --output": "writes its output to a file",
            "--compress-program": "names a program to run",
            "-T --temporary-directory": "writes temporary files elsewhere",
            "--files0-from": "reads the names of files from a file",
            "--random-source": "reads any file or device",
        },
    ),
    "uniq": Program(
        options="""
        -c --count -d --repeated -D --all-repeated[=none|prepend|separate] -f=NUMBER --skip-fields=NUMBER
        --group[=separate|prepend|append|both] -i --ignore-case -s=NUMBER --skip-chars=NUMBER -u --unique -z
        --zero-terminated -w=NUMBER --check-chars=NUMBER
        """,
        # A second operand would be overwritten.
        operands="READ",
    ),
    "cut": Program(
        options="""
        -b=TEXT --bytes=TEXT -c=TEXT --characters=TEXT -d=TEXT --delimiter=TEXT -f=TEXT --fields=TEXT -n
        --complement -s --only-delimited --output-delimiter=TEXT -z --zero-terminated
        """,
        operands="READ...",
    ),
    "tr": Program(
        options="-c -C --complement -d --delete -s --squeeze-repeats -t --truncate-set1",
        operands="TEXT TEXT",
        permutes=False,
    ),
    "paste": Program(
        options="-d=TEXT --delimiters=TEXT -s --serial -z --zero-terminated", operands="READ..."
    ),
    "join": Program(
        options="""
        -a=NUMBER -e=TEXT -i --ignore-case -j=NUMBER -o=TEXT -t=TEXT -v=NUMBER -1=NUMBER -2=NUMBER
        --check-order --nocheck-order --header -z --zero-terminated
        """,
        operands="READ READ",
    ),
    "rev": Program(options="-h -V -0 --zero", operands="READ..."),
    "fold": Program(
        options="-NUMBER -b --bytes -s --spaces -w=NUMBER --width=NUMBER -c --characters", operands="READ..."
    ),
    "fmt": Program(
        options="""
        -NUMBER -c --crown-margin -p=TEXT --prefix=TEXT -s --split-only -t --tagged-paragraph -u
        --uniform-spacing -w=NUMBER --width=NUMBER -g=NUMBER --goal=NUMBER
        """,
        operands="READ...",
    ),
    "expand": Program(options="-NUMBER -i --initial -t=TEXT --tabs=TEXT", operands="READ..."),
    "unexpand": Program(options="-NUMBER -a --all --first-only -t=TEXT --tabs=TEXT", operands="READ..."),
    "column": Program(
        options="""
        -t --table -n=TEXT --table-name=TEXT -O=TEXT --table-order=TEXT -N=TEXT --table-columns=TEXT
        -l=NUMBER --table-columns-limit=NUMBER -E=TEXT --table-noextreme=TEXT -d --table-noheadings -e
        --table-header-repeat -H=TEXT --table-hide=TEXT -R=TEXT --table-right=TEXT -T=TEXT
        --table-truncate=TEXT -W=TEXT --table-wrap=TEXT -L --keep-empty-lines -J --json -r=TEXT --tree=TEXT
        -i=TEXT --tree-id=TEXT -p=TEXT --tree-parent=TEXT -c=NUMBER --output-width=NUMBER -o=TEXT
        --output-separator=TEXT -s=TEXT --separator=TEXT -x --fillrows -h -V
        """,
        operands="READ...",
    ),
    "colrm": Program(options="-h -V", operands="NUMBER NUMBER"),
    "pr": Program(
        options="""
        -NUMBER +NUMBER --columns=NUMBER -a --across -c --show-control-chars -d --double-space -D=TEXT
        --date-format=TEXT -F -f --form-feed -h=TEXT --header=TEXT -J --join-lines -l=NUMBER --length=NUMBER
        -m --merge -N=NUMBER --first-line-number=NUMBER -o=NUMBER --indent=NUMBER -r --no-file-warnings -t
        --omit-header -T --omit-pagination -v --show-nonprinting -w=NUMBER --width=NUMBER -W=NUMBER
        --page-width=NUMBER
        -e[=TEXT] -i[=TEXT] -n[=TEXT] --number-lines[=TEXT] -s[=TEXT] -S[=TEXT] --expand-tabs[=TEXT]
        """,
        operands="READ...",
    ),
    "shuf": Program(
        options="""
        -e --echo -i=TEXT --input-range=TEXT -n=NUMBER --head-count=NUMBER -z --zero-terminated
        """,
        operands="READ...",
        refused={
            "-o --output": "writes its output to a file",
            "-r --repeat": "never ends",
            "--random-source": "reads any file or device",
        },
    ),
    "tsort": Program(operands="READ"),
    "numfmt": Program(
        options="""
        --debug -d=TEXT --delimiter=TEXT --field=TEXT --format=TEXT --from=auto|si|iec|iec-i|none
        --from-unit=COUNT --grouping --header[=NUMBER] --invalid=abort|fail|warn|ignore --padding=NUMBER
        --round=up|down|from-zero|towards-zero|nearest --suffix=TEXT --to=auto|si|iec|iec-i|none
        --to-unit=COUNT -z --zero-terminated
        """,
        operands="TEXT...",
    ),
    "seq": Program(
        options="-f=TEXT --format=TEXT -s=TEXT --separator=TEXT -w --equal-width",
        operands="NUMBER NUMBER NUMBER",
        permutes=False,
    ),
    "bc": Program(options="-l --mathlib -q --quiet -s --standard -w --warn"),
    "factor": Program(options="-h --exponents", operands="NUMBER..."),
    "look": Program(
        options="-a --alternative -d --alphanum -f --ignore-case -t=TEXT --terminate=TEXT -h -V",
        operands="TEXT READ",
    ),
}
