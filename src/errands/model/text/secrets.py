"""Secrets: what well-known credentials look like.

Each kind has an anchor, a text that must occur, so that searching for all of them costs little more than
reading. No pattern backtracks badly: only single character sets repeat, never groups.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Recognised by their own shape: kind, anchor, pattern. None contains a blank.
SHAPES = (
    ("github token", "gh", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    ("github fine-grained token", "github_pat_", r"github_pat_[A-Za-z0-9_]{40,255}"),
    ("gitlab token", "glpat-", r"glpat-[\w.-]{20,255}"),
    ("gitlab deploy token", "gldt-", r"gldt-[\w-]{20,255}"),
    ("gitlab runner token", "glrt-", r"glrt-[\w.-]{20,255}"),
    ("anthropic key", "sk-ant-", r"sk-ant-[\w-]{20,255}"),
    ("openrouter key", "sk-or-", r"sk-or-[\w-]{20,255}"),
    ("perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,255}"),
    ("nvidia key", "nvapi-", r"nvapi-[\w-]{60,255}"),
    ("langsmith key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("tavily key", "tvly-", r"tvly-[\w-]{20,255}"),
    ("google api key", "AIza", r"AIza[\w-]{35}"),
    ("google access token", "ya29.", r"ya29\.[\w-]{20,1024}"),
    ("google client secret", "GOCSPX-", r"GOCSPX-[\w-]{20,64}"),
    ("azure storage key", "AccountKey=", r"AccountKey=[A-Za-z0-9+/]{60,100}={0,2}"),
    ("azure shared access signature", "sig=", r"[?&]sig=[\w%+/=-]{30,255}"),
    ("slack token", "xox", r"xox[abeoprs](?:\.xox[bp])?-[\w-]{10,255}"),
    ("slack app token", "xapp-", r"xapp-\d-[\w-]{20,255}"),
    ("slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows)/[\w/-]{20,255}"),
    ("discord webhook", "/api/webhooks/", r"/api/webhooks/\d{10,25}/[\w-]{40,128}"),
    ("pypi token", "pypi-", r"pypi-[\w-]{50,512}"),
    ("rubygems key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    ("docker hub token", "dckr_", r"dckr_[po]at_[\w-]{20,64}"),
    ("webhook signing secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,128}"),
    ("shopify token", "shp", r"shp(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{32}"),
    ("braintree token", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    ("razorpay key", "rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,32}"),
    ("digitalocean token", "_v1_", r"do[oprt]_v1_[0-9a-f]{64}"),
    ("heroku key", "HRKU-", r"HRKU-[\w-]{36,80}"),
    ("planetscale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{32,64}"),
    ("tailscale key", "tskey-", r"tskey-[a-z]{2,12}-[\w-]{10,80}"),
    ("sentry token", "sntry", r"sntry[us]_[\w+/=.-]{40,400}"),
    ("dynatrace token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("atlassian token", "ATATT3", r"ATATT3[\w=-]{60,255}"),
    ("bitbucket token", "ATBB", r"ATBB[A-Za-z0-9]{24,64}"),
    ("postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("buildkite token", "bkua_", r"bkua_[0-9a-f]{40}"),
    ("circleci token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9]{10,30}_[0-9a-f]{40}"),
    ("sourcegraph token", "sgp_", r"sgp_(?:[0-9a-f]{16}_)?[0-9a-f]{40}"),
    ("1password token", "ops_eyJ", r"ops_eyJ[\w+/=-]{60,1500}"),
    ("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
)

# The same, but these could be the end of an ordinary word, so they must start one.
WORDS = (
    ("gitlab pipeline token", "gl", r"gl(?:cbt|ptt|ft|oas|soat|agent)-[\w-]{20,255}"),
    ("openai key", "sk-", r"sk-(?!ant-|or-)(?=[A-Za-z_-]{0,40}\d)[\w-]{32,255}"),
    ("groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,255}"),
    ("xai key", "xai-", r"xai-[A-Za-z0-9]{60,255}"),
    ("hugging face token", "hf_", r"hf_[A-Za-z0-9]{30,255}"),
    ("replicate token", "r8_", r"r8_[A-Za-z0-9]{37,255}"),
    ("aws access key", "AKIA", r"AKIA[0-9A-Z]{16}(?![0-9A-Z])"),
    ("aws session key", "ASIA", r"ASIA[0-9A-Z]{16}(?![0-9A-Z])"),
    ("google refresh token", "1//0", r"1//0[\w-]{40,255}"),
    ("azure client secret", "8Q~", r"[\w~.-]{3}8Q~[\w~.-]{31,34}"),
    ("discord token", ".", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}"),
    ("telegram token", ":AA", r"\d{8,10}:AA[\w-]{32,34}"),
    ("twilio key", "SK", r"SK[0-9a-f]{32}(?![0-9a-f])"),
    ("sendgrid key", "SG.", r"SG\.[\w-]{20,24}\.[\w-]{39,50}"),
    ("mailgun key", "key-", r"key-[0-9a-f]{32}(?![0-9a-f])"),
    ("mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?!\d)"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36,64}"),
    ("crates.io token", "cio", r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("stripe key", "k_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
    ("square token", "sq0", r"sq0[a-z]{3}-[\w-]{22,64}"),
    ("netlify token", "nfp_", r"nfp_[A-Za-z0-9]{36,64}"),
    ("fly.io token", "fm", r"fm[12]a?_[\w+/=-]{40,1024}"),
    ("render key", "rnd_", r"rnd_[A-Za-z0-9]{28,64}"),
    ("supabase key", "sb", r"sb(?:p|_secret)_[\w-]{31,64}"),
    ("databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("vault token", "hv", r"hv[sbr]\.[\w-]{24,300}"),
    ("terraform cloud token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,80}"),
    ("pulumi token", "pul-", r"pul-[0-9a-f]{40}"),
    ("doppler token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,80}"),
    ("cloudflare origin key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    ("grafana token", "gl", r"gl(?:sa_[A-Za-z0-9]{32}_[0-9a-f]{8}|c_[A-Za-z0-9+/=]{32,400})"),
    ("new relic key", "NR", r"NR(?:AK|AA|II|JS|RA)-[\w-]{20,64}"),
    ("linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    ("notion secret", "secret_", r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,50}(?![A-Za-z0-9])"),
    ("figma token", "fig", r"fig[duor]_[\w-]{36,64}"),
    ("airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("dropbox token", "sl.", r"sl\.[\w-]{100,1024}"),
    ("json web token", "eyJ", r"eyJ[\w-]{8,512}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
)

# A value that may be a password: long enough, with a digit, and not a reference like $PASSWORD or <password>.
_VALUE = r"""(?![$<*%])(?=[^\s"'`,;&()\[\]{}<>]{0,64}\d)[^\s"'`,;&()\[\]{}<>]{8,}"""
_NAME = r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"
_ANCHORS = ("passw", "passp", "secret", "token", "key")
_HEADER = r"authorization[^\w\n]{1,6}"

# Recognised by the label on the same line: kind, anchors, the label in lower case, the secret.
LABELLED = (
    ("bearer token", ("bearer",), r"bearer[ \t]{1,4}", r"[\w.~+/=-]{12,}"),
    ("basic credentials", ("authorization",), _HEADER + r"basic[ \t]{1,4}", r"[A-Za-z0-9+/=]{8,}"),
    ("authorization token", ("authorization",), _HEADER + r"token[ \t]{1,4}", r"[\w.~+/=-]{12,}"),
    ("password in an address", ("://",), r"://[^\s:/@?#]{0,128}:", r"""[^\s/"'<>]{1,256}(?=@)"""),
    ("user and password", ("-u",), r"-(?<![\w-].)(?:u|-user)[ \t=]{1,4}[\w.@-]{1,64}:", r"""[^\s"']{3,}"""),
    ("aws secret key", ("secret",), r"aws_?secret_?(?:access_?)?key[^\w\n]{1,6}", r"[A-Za-z0-9/+]{40}"),
    ("option", _ANCHORS, rf"-(?<![\w-].)-?[a-z-]{{0,24}}{_NAME}[ \t=]{{1,4}}[\"']?", _VALUE),
    ("variable", _ANCHORS, rf"{_NAME}=[\"']?", _VALUE),
    ("field", _ANCHORS, rf"{_NAME}\"[ \t]{{0,4}}:[ \t]{{0,4}}\"", r"""(?!-----BEGIN)[^\s"]{8,}"""),
    ("setting", ("passw", "passp", "key"), r"(?:passw(?:or)?d|passphrase|[_-]key):[ \t]{1,4}[\"']?", _VALUE),
    ("private key", ("private key",), r"private key(?: block)?-----", r"(?:\\[nr])+[A-Za-z0-9+/=\\]{16,}"),
)

# The parts of a variable's name that mark it as a credential.
SHORTEST_VALUE = 8
_TELLING_PARTS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "PRIVATEKEY")
_TELLING_WORDS = frozenset(("AUTH", "COOKIE", "DSN", "KEY", "PASS", "PAT", "PWD"))
# `SSH_AUTH_SOCK`, `TOKEN_LIMIT`, `KEY_FILE`: the last word says that it only relates to a credential.
_HARMLESS_ENDS = frozenset((
    "ALGORITHM", "COUNT", "DIR", "EXPIRY", "FILE", "HOST", "ID", "LENGTH", "LIMIT", "METHOD", "MODE", "NAME",
    "PARALLELISM", "PATH", "PORT", "PROVIDER", "SIZE", "SOCK", "TTL", "TYPE", "USER",
))  # fmt: skip


_EXACT = tuple(dict.fromkeys(anchor for _, anchor, _ in (*SHAPES, *WORDS)))
_LOWERED = tuple(dict.fromkeys(anchor for _, anchors, _, _ in LABELLED for anchor in anchors))


def may_have_secret(text: str) -> bool:
    """Return whether a text contains any anchor; without one it has no secrets."""
    # Plain loops: a list of 10,000 tasks asks 20,000 times; with generators that took 200 ms instead of 80.
    for anchor in _EXACT:
        if anchor in text:
            return True
    lowered = text.lower()
    for anchor in _LOWERED:  # noqa: SIM110
        if anchor in lowered:
            return True
    return False


def is_credential(name: str, value: str) -> bool:
    """Return whether a variable holds a credential, by its name and a plausible value."""
    words = name.upper().replace("-", "_").strip("_").split("_")
    telling = any(part in name.upper() for part in _TELLING_PARTS) or not _TELLING_WORDS.isdisjoint(words)
    if not telling or words[-1] in _HARMLESS_ENDS or name in ("PWD", "OLDPWD"):
        return False
    value = value.strip()
    is_path = "CREDENTIAL" in name.upper() and value.startswith(("/", "~", "."))
    is_number = value.isdecimal() and len(value) < 12
    return len(value) >= SHORTEST_VALUE and not is_path and not is_number and len(set(value)) > 2


def masked_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Replace the values of variables that hold a secret."""
    return {
        name: f"[masked: {name}]" if is_credential(name, value) else value
        for name, value in variables.items()
    }
