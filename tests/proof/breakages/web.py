"""Breakages of the web page and its API (X8, X24)."""

from __future__ import annotations

from tests.proof.breakage import Breakage

BREAKAGES = [
    Breakage(
        "X8",
        "a run that has planted a session approves",
        file="frontends/web/callers.py",
        old="if is_local(self.peer[0]) and is_inside_a_run(",
        new="if False and is_inside_a_run(",
        test="frontends/web/test_security.py::test_it_is_so_that",
    ),
    Breakage(
        "X8",
        "a code works twice",
        file="frontends/web/sign_in.py",
        old="            os.unlink(path)  # of two at once, one gets an error\n",
        new="            pass\n",
        test="frontends/web/test_sign_in.py::test_a_code_is_good_once",
    ),
    Breakage(
        "X8",
        "a page of another origin can ask",
        file="frontends/web/guard.py",
        old="if origin is not None and origin.lower() not in self._origins:",
        new="if False:",
        test="frontends/web/test_security.py::test_it_is_so_that",
    ),
    Breakage(
        "X8",
        "the page has another key than the terminal",
        file="frontends/web/page/js/keys.js",
        old='[["c"], "cancel"',
        new='[["k"], "cancel"',
        test="frontends/web/test_page_files.py::test_the_page_has_the_keys_of_the_terminal",
    ),
    Breakage(
        "X8",
        "the page makes HTML of a text",
        file="frontends/web/page/js/parts/toast.js",
        old="  show = setSaid;",
        new="  show = (said) => { document.body.innerHTML = said.text; };",
        test="frontends/web/test_page_files.py::test_nothing_makes_html_of_text",
    ),
    Breakage(
        "X8",
        "the files of the page are sent as they are",
        file="frontends/web/static.py",
        old='    if "gzip" in accepted:',
        new='    if "zip7" in accepted:',
        test="frontends/web/test_page_files.py::test_the_page_is_small",
    ),
    Breakage(
        "X8",
        "a tab in the background reads with every change",
        file="frontends/web/page/js/data.js",
        old="  if (document.hidden) waiting.add(act);\n  else act();",
        new="  act();",
        test="browser/test_stream.py::test_a_tab_in_the_background_reads_only_once_it_is_looked_at",
    ),
    Breakage(
        "X8",
        "every tab reads its list again when another tab takes the stream over",
        file="frontends/web/page/js/stream.js",
        old='  if (name === "hello" && facts.resumed && !isBefore(lastId, facts.after)) kind = "resumed";\n',
        new="",
        test="browser/test_stream.py::test_twelve_tabs_share_one_stream_and_another_tab_takes_over",
    ),
    Breakage(
        "X8",
        "the first screen shows the last line of a failed task, whatever it is",
        file="text/error_line.py",
        old="    told = [each for each in shown if LOOKS_LIKE_ERROR.search(each)]\n",
        new="    told: list[str] = []\n",
        test="test_text_error_line.py::test_the_cause_of_a_failure_is_found",
    ),
    Breakage(
        "X24",
        "a stream that goes on loses what came in between",
        file="frontends/web/stream.py",
        old="            for frame in missed or ():\n",
        new="            for frame in ():\n",
        test="frontends/web/test_stream.py::test_a_stream_goes_on_after_the_last_event_of_another",
    ),
    Breakage(
        "X24",
        "a parameter that the table does not list is ignored",
        file="frontends/web/api/request.py",
        old="        if name not in allowed:\n",
        new="        if False:\n",
        test="frontends/web/test_table.py::test_what_the_table_does_not_allow_is_refused_with_a_sentence",
    ),
    Breakage(
        "X24",
        "a batch acts on more tasks than expected",
        file="frontends/web/handlers/tasks.py",
        old='if len(ids) != body["expected"]:',
        new="if False:",
        test="frontends/web/test_answers.py::test_a_batch_acts_on_all_that_match_if_they_are_as_many_as_expected",
    ),
]
