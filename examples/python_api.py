"""Errands from Python: a small pipeline, followed live, with a summary of what went wrong.

Run it with `python examples/python_api.py`; it needs nothing but Errands and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import tempfile

import errands


async def main(home: str) -> None:
    async with errands.connect(home, yes=True) as engine:
        build, lint, tests = await engine.submit_all(
            [
                errands.Draft(
                    name="build", command="for i in 1 2 3; do echo part $i; sleep 0.1; done", batch="ci"
                ),
                errands.Draft(name="lint", command="echo 'app.py:3: unused import'; exit 3", batch="ci"),
                errands.Draft(name="tests", command="echo '12 passed in 0.3s'", after=("build",), batch="ci"),
            ]
        )
        print(f"started {build.id}, {lint.id}, {tests.id}")

        async for piece in engine.follow(build.id):
            print("build |", piece.decode().rstrip().replace("\n", "\nbuild | "))

        for view in await engine.wait_all([build.id, lint.id, tests.id], timeout=30):
            run = view.latest
            facts = run.summary or run.error or ""
            print(f"{view.name:6} {view.state:10} exit code {run.exit_code}  {facts}")

        for notice in await engine.take_notices():
            print("notice", notice.run_id, notice.event)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(main(home))
