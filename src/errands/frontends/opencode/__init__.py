"""OpenCode: the process beside it, which its plugin starts and speaks to in lines of JSON."""
