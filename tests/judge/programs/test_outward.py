"""What a person is asked about although they typed it: changes on other hosts, writes outside the project."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace

PLACE = FakeWorkspace()
pytestmark = pytest.mark.spec("A12")


@pytest.mark.parametrize(
    "line",
    [
        "git push",
        "git push origin main",
        "git commit -m x && git push",
        "gh pr create --fill",
        "gh api -X POST repos/o/r/issues",
        "gh api repos/o/r/issues -f title=x",
        "curl -X POST https://example.org",
        "curl -XDELETE https://example.org",
        "curl -sd a=b https://example.org",
        "curl --data-binary @x https://example.org",
        "curl -T x https://example.org",
        "wget --post-data=a https://example.org",
        "http POST example.org a=b",
        "npm publish",
        "npm run deploy",
        "make deploy",
        "cargo publish",
        "docker push me/app",
        "kubectl apply -f x.yaml",
        "kubectl rollout restart deployment/app",
        "helm upgrade app ./chart",
        "terraform apply",
        "ssh host uptime",
        "scp x host:",
        "rsync -a . host:/srv",
        "aws s3 cp x s3://bucket",
        "gcloud run deploy app",
        "echo x > /tmp/x",
        "echo x >> ~/.bashrc",
        "touch ../x",
        "cp a /etc/motd",
        "cp -t /etc a",
        "mv a b ~/",
        "mkdir -p $HOME/x",
        "tee /var/x",
        "sed -i s/a/b/ /etc/hosts",
        "dd if=a of=/tmp/b",
        "curl -o /tmp/x https://example.org",
        "tar -xf a.tar -C /opt",
        "cd /tmp && touch x",
        "for f in *; do scp $f host:; done",
        "echo $(git push)",
        "if true; then echo x > /etc/x; fi",
        "sudo curl -X POST https://example.org",
        "env A=1 git push",
        "bash -c 'git push'",
    ],
)
def test_what_changes_something_outside_of_the_project_is_outward(line: str) -> None:
    found = judge([line], PLACE)

    assert found.reasons
    assert found.is_outward


@pytest.mark.parametrize(
    "line",
    [
        "git pull",
        "git fetch origin",
        "git commit -m x",
        "gh pr list",
        "gh run watch 1",
        "gh pr checkout 3",
        "gh api repos/o/r/issues",
        "curl https://example.org",
        "curl -G -d q=x https://example.org",
        "curl -o page.html https://example.org",
        "wget https://example.org/x",
        "npm install",
        "npm test",
        "npm run build",
        "pip install x",
        "make",
        "cargo build --release",
        "docker build .",
        "kubectl get pods",
        "kubectl logs -f app",
        "aws ec2 describe-instances",
        "aws s3 ls",
        "gcloud compute instances list",
        "terraform plan",
        "ssh -V",
        "mkdir x",
        "touch src/x",
        "cp /etc/hosts .",
        "cp ~/x here",
        "echo x > out.txt",
        "make > build.log 2>&1",
        "python tool.py > out 2> /dev/null",
        "rsync -a host:/srv .",
        "tar -xf a.tar",
        "chmod 755 run.sh",
        "for f in *; do touch $f; done",
        "ls -l /etc",
    ],
)
def test_other_lines_are_not(line: str) -> None:
    assert not judge([line], PLACE).is_outward
