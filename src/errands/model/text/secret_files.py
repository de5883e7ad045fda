"""Secret files: the names under which people and programs keep secrets, wherever they are.

The judge asks before a command reads one; the built-in agent does not read them by itself.
"""

from __future__ import annotations

from errands.model.text.regex import is_wild, regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern


# Directories and files that hold secrets wherever they are; a slash separates consecutive names.
ANYWHERE = """
.ssh .aws .azure .gnupg .kube .password-store .mozilla .thunderbird .claude .codex .gemini .oci .chef .putty
.config/gh .config/glab-cli .config/gcloud .config/hub .config/op .config/doctl .config/rclone
.config/git/credentials .config/google-chrome .config/chromium .config/bravesoftware .config/microsoft-edge
.config/sops .config/age .config/containers/auth.json .config/configstore .config/errands .config/opencode
.config/heroku .config/netlify .config/fish/fish_variables .config/filezilla .config/1password
.config/bitwarden* .config/keepassxc .config/pypoetry .local/state/errands .local/share/keyrings
.local/share/kwalletd .local/share/opencode .local/share/fish .local/share/errands .docker/config.json
.docker/contexts .cargo/credentials* .gem/credentials .m2/settings*.xml .gradle/gradle.properties
.composer/auth.json .terraform.d/credentials* .subversion/auth .bundle/config .git/config .git/credentials*
.git/config.worktree .git-crypt library/keychains library/cookies library/safari library/messages
library/mail library/application?support/google library/application?support/firefox
library/application?support/bravesoftware snap/firefox .jupyter/runtime .databricks .snowflake .anthropic
.openai .copilot .continue .aider .cursor/mcp.json .vscode/mcp.json .config/claude .config/github-copilot
.config/pip .config/hcloud .config/scw .config/stripe .config/ngrok .config/.wrangler .config/turso .pulumi
.fly .vercel .netlify .wrangler .cloudflared .ngrok2 .kaggle .huggingface .railway .supabase .minikube
.gem/.mirror .nuget/nuget .pip .vnc .irssi .weechat .bash_sessions .zsh_sessions .talos .lftp .mc/config.json
library/application?support/claude .config/errands.toml app/etc/env.php sites/default/settings.php
.hg/hgrc .git/annex/creds appdata/roaming appdata/local .cache/huggingface/stored_tokens
.cache/*/history .cache/cliphist .cache/clipboard .cache/clipse .cache/gh .cache/google-chrome .cache/chromium
.cache/mozilla .cache/bravesoftware .cache/microsoft-edge .cache/claude-cli-nodejs .cache/keyring-*
""".split()

# Names of single files that hold secrets.
NAMES = """
.env .env.* *.env .envrc .envrc.* .env-* .env_* .env.local .env.production .env.prod .env.staging
.env.development .env.dev .env.test .netrc _netrc .authinfo .authinfo.* .pgpass .my.cnf .mylogin.cnf
.npmrc .pypirc .git-credentials .gitcookies .dockercfg .dockerconfigjson .vault-token .vault_pass*
.vault-pass* .boto .s3cfg .htpasswd htpasswd .databrickscfg .tfrc .terraformrc .flaskenv id_rsa id_dsa
id_ecdsa id_ed25519 id_rsa* id_dsa* id_ecdsa* id_ed25519* *_rsa *_dsa *_ecdsa *_ed25519 *.pem *.key *.p12
*.pfx *.p8 *.pkcs12 *.jks *.keystore *.kdb *.kdbx *.ppk *.gpg *.pgp *.agekey *.keytab *.ovpn *.keychain
*.keychain-db *.jceks *.bcfks *.der *.asc secring.* kubeconfig *.kubeconfig kubeconfig.* .credentials
.credentials.* *.credentials .secret .secrets .secret.* .secrets.* *.secret *.secrets .token .tokens *.token
.*_token authorized_keys known_hosts *.passwd .passwd .password shadow gshadow master.passwd sudoers
*.tfstate *.tfstate.* *.tfvars .*_history .*history *_history .history .lesshst .viminfo .xauthority
.iceauthority *.rdp .dev.vars .dev.vars.* .prod.vars .condarc .sentryclirc
.msmtprc .fetchmailrc .muttrc .mailrc .smbcredentials .hgrc .curlrc .wgetrc .lftprc
errands.db errands.db-wal errands.db-shm krb5cc_* *.ccache ssh_host_*_key deploy_key* *_deploy_key
private_key private-key private_key.* private-key.* privatekey privatekey.* *.privkey *.priv .creds .creds.*
.secret_key .renviron .passwd-s3fs .ftpconfig .erlang.cookie netrc .mbsyncrc
.offlineimaprc .getmailrc msmtprc .yarnrc s3cfg .s3cfg-* *.keyring *.psafe3 *.kwallet *.psk *.tfplan tfplan
*.htpasswd htpasswd.* *kubeconfig kubeconfig-* *.kubeconfig.* kube.config talosconfig vault_pass* vault-pass*
""".split()

# Names with a telling word. A wildcard at the beginning (`*.json`) is not counted as a match.
TELLING = """
identity env.local credentials credentials.json credentials.toml credentials.y*ml credentials.ini
credentials.xml credentials.csv credentials.db credentials.txt credentials.env credential.json
*_credentials.json *-credentials.json application_default_credentials.json client_secret*.json
service?account*.json serviceaccount*.json *service?account.json *-sa.json sa.json secrets secrets.json
secrets.toml secrets.y*ml secrets.ini secrets.xml secrets.txt secrets.env secrets.enc* secret.json
secret.toml secret.y*ml secret.ini secret.txt *.secrets.* token token.json token.txt tokens.json auth.json
password password.txt passwords.txt passwords.csv passwd.txt wp-config.php local_settings.py vault.yml
vault.yaml cookies.txt cookies.db cookies login?data web?data local?state admin.conf cookies.sqlite
logins.json key4.db key3.db signons.sqlite .claude.json wallet.dat pgpass.conf .rclone.conf rclone.conf
*.tfvars.json .mcp.json mcp.json .yarnrc.yml .mongorc.js database.yml
database.yaml appsettings.json appsettings.*.json local.settings.json
parameters.yml mongoid.yml pip.conf nuget.config nuget.config.* claude_desktop_config.json
google-services.json googleservice-info.plist *firebase-adminsdk*.json *-key.json *_key.json kaggle.json
api?key api?key.txt api?key.json api?keys.txt api?keys.json api?keys.y*ml api?keys.toml apikey apikey.txt
apikey.json apikeys.txt apikeys.json creds creds.txt creds.json creds.y*ml creds.toml creds.ini secret?key
secret?key.txt secret_key_base passwords passwords.json passwords.y*ml passwords.xlsx access?token
access?token.txt access?token.json refresh?token refresh?token.txt refresh?token.json github?token
github?token.txt token.pickle tokens.txt cookies.json cookie.txt oauth_creds.json oauth.json oauth2.json
mnemonic.txt mnemonic *recovery?codes*.txt env.production env.prod env.staging env.development env.dev
localsettings.php config.inc.php
settings.local.json credentials.y*ml.enc connectionstrings.config *.publishsettings sftp.json
sftp-config.json filezilla.xml sitemanager.xml recentservers.xml tomcat-users.xml datasources.local.xml
secret_token.rb wallet.json keypair.json *-keypair.json mcp_config.json *mcp_settings.json access_tokens.db
azureauth.json docker-config.json dockerconfig.json auth.toml k3s.yaml vault-init.json userlist.txt pass.txt
pw.txt pwd.txt seed?phrase seed?phrase.txt *backup?codes*.txt odbc.ini .odbc.ini .coveralls.yml .clasprc.json
.aider.conf.yml sentry.properties keystore.properties key.properties signing.properties nslcd.conf boto.cfg
""".split()

# Published on purpose, although those names would match.
PUBLIC = """
.env.example .env.sample .env.template .envrc.example .envrc.sample .envrc.template .env.dist
.env.defaults .env.schema example.env sample.env template.env .dev.vars.example .mcp.json.example
mcp.json.example database.yml.example appsettings.example.json
""".split()

# What is added to the name of a copy, packed or encoded ones included.
_BACKUP = regex(
    r"(~|#|\.(bak|bkp|backup|orig|old|prev|save|copy|tmp|rej|sw[nop]|\d[\d-]*|(dpkg|ucf)-\w+|rpm(save|new|orig)"
    r"|gz|bz2|xz|zst|lz4|zip|tgz|tar|7z|b64|base64|hex|enc))+$"
)
_EDITED = regex(r"\.?#")
# Names that say what is in them, with the ending of a file of data or without one: `db-password.txt`,
# `app-secrets.yml`, `jwt_secret`. What seals a secret, or is about changing one, holds none.
_SAYING = regex(r"pass|secret|cred|token|key")
_DATA = r"(\.(json|toml|ya?ml|ini|xml|txt|csv|conf|cfg|config|properties|db|sqlite3?|sql|dat|bin))?"
_SECRET = r"(passwords?|passwd|passphrase|secrets?|credentials?|creds)"
_STAGE = r"([._-](prod\w*|dev\w*|stag\w*|live|local))?"
_NAMED = regex(
    rf"(?!(.*[._-])?(sealed|external|reset|forgot\w*|change|update|rotate|create)[._-])"
    rf"((.*[._-])?{_SECRET}{_STAGE}{_DATA}|{_SECRET}\.(sh|bash|zsh|fish|env)"
    r"|(.*[._-])?(api|access|auth|refresh|bot|slack|git(hub|lab)|gh|npm|pypi|vault|bearer|session|deploy|discord"
    r"|telegram|jwt)[_-]?tokens?(\.(txt|json|db))?"
    r"|(.*[._-])?(ssh|deploy|signing|private|encryption|master|secret|api|access|age|unseal|vault|init|root)[_-]?"
    r"keys?(\.(txt|json|csv|ya?ml))?)"
)
_public = frozenset(PUBLIC)
# The same names, grouped by the cheapest test that finds them.
_all = (*NAMES, *TELLING)
_exact = frozenset(name for name in _all if not is_wild(name))
_endings = tuple(name[1:] for name in _all if name[0] == "*" and not is_wild(name[1:]))
_beginnings = tuple(name[:-1] for name in _all if name[-1] == "*" and not is_wild(name[:-1]))
_rest = tuple(name for name in _all if is_wild(name[1:-1]) or (name[0] == "*" == name[-1]))
_compiled: list[Pattern[str]] = []  # those, as one expression
_places = tuple(tuple(place.split("/")) for place in ANYWHERE)


def is_secret_name(name: str) -> bool:
    """Return whether a file of this name, without its case, usually holds secrets."""
    # The backup of a secret is a secret, too.
    kept = _BACKUP.sub("", name)
    if edited := _EDITED.match(kept):
        kept = kept[edited.end() :]
    return _holds_secret(name) or (kept != name and _holds_secret(kept))


def _holds_secret(name: str) -> bool:
    if name in _public:
        return False
    return (
        name in _exact
        or name.endswith(_endings)
        or name.startswith(_beginnings)
        or _is_one_of_the_rest(name)
        or (_SAYING.search(name) is not None and _NAMED.fullmatch(name) is not None)
    )


def _is_one_of_the_rest(name: str) -> bool:
    if not _compiled:
        import re
        from fnmatch import translate

        _compiled.append(re.compile("|".join(map(translate, _rest))))
    return _compiled[0].match(name) is not None


def is_secret_path(path: str) -> bool:
    """Return whether a path leads to a file that usually holds secrets, or into a directory of them."""
    from fnmatch import fnmatchcase

    parts = [part for part in path.casefold().split("/") if part]
    if not parts:
        return False
    for start in range(len(parts)):
        for place in _places:
            below = parts[start : start + len(place)]
            if len(below) == len(place) and all(map(fnmatchcase, below, place)):
                return True
    return is_secret_name(parts[-1])
