"""Made-up credentials, one of every kind that masking knows.

They are put together from parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

LETTERS = "aB3dE5gH7jK9mN2pQ4rS6tU8vW0xY1z"
HEX = "0123456789abcdef"


def letters(number: int) -> str:
    """Make that many letters and digits."""
    return (LETTERS * 40)[:number]


def hexes(number: int) -> str:
    """Make that many hexadecimal digits."""
    return (HEX * 20)[:number]


def capitals(number: int) -> str:
    """Make that many capital letters and digits."""
    return letters(number).upper()


# Kinds that are recognised by their own shape.
SHAPED = {
    "github token": "ghp" + "_" + letters(36),
    "github fine-grained token": "github" + "_pat_" + letters(22) + "_" + letters(59),
    "gitlab token": "glpat" + "-" + letters(20),
    "gitlab deploy token": "gldt" + "-" + letters(20),
    "gitlab runner token": "glrt" + "-" + letters(20),
    "gitlab pipeline token": "glptt" + "-" + hexes(40),
    "anthropic key": "sk" + "-ant-api03-" + letters(90),
    "openai key": "sk" + "-proj-" + letters(48),
    "openrouter key": "sk" + "-or-v1-" + hexes(64),
    "groq key": "gsk" + "_" + letters(52),
    "xai key": "xai" + "-" + letters(80),
    "perplexity key": "pplx" + "-" + letters(48),
    "nvidia key": "nvapi" + "-" + letters(64),
    "hugging face token": "hf" + "_" + letters(34),
    "replicate token": "r8" + "_" + letters(37),
    "langsmith key": "lsv2" + "_pt_" + hexes(32) + "_" + hexes(10),
    "tavily key": "tvly" + "-" + letters(32),
    "aws access key": "AKIA" + capitals(16),
    "aws session key": "ASIA" + capitals(16),
    "google api key": "AIza" + letters(35),
    "google access token": "ya29" + "." + letters(80),
    "google client secret": "GOCSPX" + "-" + letters(28),
    "google refresh token": "1//0" + letters(60),
    "azure client secret": "a1b" + "8Q~" + letters(34),
    "azure storage key": "AccountKey" + "=" + letters(86) + "==",
    "azure shared access signature": "https://x.blob.example/c" + "?sig=" + letters(43) + "%3D",
    "slack token": "xoxb" + "-" + "123456789012-" + letters(24),
    "slack app token": "xapp" + "-1-A0-" + letters(40),
    "slack webhook": "https://hooks.slack.com" + "/services/T00000000/B00000000/" + letters(24),
    "discord token": "M" + letters(23) + "." + letters(6) + "." + letters(38),
    "discord webhook": "https://discord.com" + "/api/webhooks/123456789012345678/" + letters(68),
    "telegram token": "123456789" + ":AA" + letters(33),
    "twilio key": "SK" + hexes(32),
    "sendgrid key": "SG" + "." + letters(22) + "." + letters(43),
    "mailgun key": "key" + "-" + hexes(32),
    "mailchimp key": hexes(32) + "-us" + "12",
    "npm token": "npm" + "_" + letters(36),
    "pypi token": "pypi" + "-" + letters(120),
    "rubygems key": "rubygems" + "_" + hexes(48),
    "crates.io token": "cio" + letters(32),
    "docker hub token": "dckr" + "_pat_" + letters(27),
    "stripe key": "sk" + "_live_" + letters(24),
    "webhook signing secret": "whsec" + "_" + letters(32),
    "square token": "sq0" + "atp-" + letters(22),
    "shopify token": "shpat" + "_" + hexes(32),
    "braintree token": "access_token" + "$production$" + hexes(16) + "$" + hexes(32),
    "razorpay key": "rzp" + "_live_" + letters(14),
    "digitalocean token": "dop" + "_v1_" + hexes(64),
    "heroku key": "HRKU" + "-AA" + letters(58),
    "netlify token": "nfp" + "_" + letters(36),
    "fly.io token": "fm2" + "_" + letters(80),
    "render key": "rnd" + "_" + letters(32),
    "supabase key": "sbp" + "_" + hexes(40),
    "planetscale token": "pscale" + "_tkn_" + letters(43),
    "databricks token": "dapi" + hexes(32),
    "vault token": "hvs" + "." + letters(90),
    "terraform cloud token": letters(14) + ".atlasv1." + letters(67),
    "pulumi token": "pul" + "-" + hexes(40),
    "doppler token": "dp" + ".pt." + letters(43),
    "tailscale key": "tskey" + "-auth-" + letters(12) + "-" + letters(32),
    "cloudflare origin key": "v1.0" + "-" + hexes(24) + "-" + hexes(146),
    "grafana token": "glsa" + "_" + letters(32) + "_" + hexes(8),
    "new relic key": "NRAK" + "-" + capitals(27),
    "sentry token": "sntrys" + "_" + letters(80),
    "dynatrace token": "dt0c01" + "." + capitals(24) + "." + capitals(64),
    "atlassian token": "ATATT3" + letters(180),
    "bitbucket token": "ATBB" + letters(32),
    "linear key": "lin" + "_api_" + letters(40),
    "notion secret": "secret" + "_" + letters(43),
    "notion token": "ntn" + "_" + letters(46),
    "figma token": "figd" + "_" + letters(40),
    "airtable token": "pat" + letters(14) + "." + hexes(64),
    "postman key": "PMAK" + "-" + hexes(24) + "-" + hexes(34),
    "dropbox token": "sl" + "." + letters(140),
    "buildkite token": "bkua" + "_" + hexes(40),
    "circleci token": "CCIPAT" + "_" + letters(22) + "_" + hexes(40),
    "sourcegraph token": "sgp" + "_" + hexes(40),
    "1password token": "ops_eyJ" + letters(200),
    "age key": "AGE-SECRET-KEY" + "-1" + capitals(58),
    "json web token": "eyJ" + letters(30) + ".eyJ" + letters(90) + "." + letters(43),
}

# Kinds that are recognised by their label: the whole text, and the secret part.
SPOKEN = [
    ("bearer token", "Authorization: Bearer {}", letters(40)),
    ("bearer token", 'curl -H "authorization: bearer {}"', letters(20)),
    ("basic credentials", "Authorization: Basic {}", letters(24) + "=="),
    ("authorization token", "Authorization: token {}", letters(40)),
    ("password in an address", "postgresql://me:{}@db.example/shop", "p@ss:w0rd"),
    ("password in an address", "redis://:{}@cache:6379", "hunter2"),
    ("user and password", "curl -u me:{} https://example.com", "hunter2"),
    ("aws secret key", "aws_secret_access_key = {}", letters(20) + "/" + letters(19)),
    ("option", "mysql --password {} shop", "hunter22x"),
    ("option", "deploy --api-key={}", letters(20)),
    ("variable", "DB_PASSWORD={}", "hunter22x"),
    ("variable", "export API_KEY='{}'", letters(20)),
    ("field", '{{"client_secret": "{}"}}', letters(20)),
    ("setting", "password: {}", "hunter22x"),
    ("private key", "-----BEGIN PRIVATE KEY-----\\n{}\\n", letters(64)),
]

PRIVATE_KEY = "\n".join(
    [
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "Proc-Type: 4,ENCRYPTED",
        "",
        *(letters(64)[shift:] + letters(64)[:shift] for shift in range(12)),
        "Aw==",
        "-----END RSA " + "PRIVATE KEY-----",
    ]
)
