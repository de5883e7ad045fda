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
windows/system32/config .idea/webservers.xml .idea/deployment.xml app/etc/local.xml .acme.sh .jupyter
.neptune .purple .dbt .mutt .age .prefect/profiles.toml .ipython/profile_default/history.sqlite .hex .wandb
.ssh .aws .azure .gnupg .kube .password-store .mozilla .thunderbird .claude .codex .gemini .oci .chef .putty
.config/gh .config/glab-cli .config/gcloud .config/hub .config/op .config/doctl .config/rclone
.config/git/credentials .config/google-chrome .config/chromium .config/bravesoftware .config/microsoft-edge
.config/sops .config/age .config/containers/auth.json .config/configstore .config/errands .config/opencode
.config/heroku .config/netlify .config/fish/fish_variables .config/filezilla .config/1password
.config/bitwarden* .config/keepassxc .config/pypoetry .local/state/errands .local/share/keyrings
.local/share/kwalletd .local/share/opencode .local/share/fish .local/share/errands .docker/config.json*
.docker/contexts .cargo/credentials* .gem/credentials .m2/settings*.xml .gradle/gradle.properties
.composer/auth.json .terraform.d/credentials* .subversion/auth .bundle/config .git/config .git/credentials*
.git/config.worktree .git-crypt library/keychains library/cookies library/safari library/messages
library/mail library/application?support/google library/application?support/firefox
library/application?support/bravesoftware snap/firefox .databricks .snowflake .anthropic
.openai .copilot .continue .aider .cursor/mcp.json .vscode/mcp.json .config/claude .config/github-copilot
.config/pip .config/hcloud .config/scw .config/stripe .config/ngrok .config/.wrangler .config/turso .pulumi
.fly .vercel .netlify .wrangler .cloudflared .ngrok2 .kaggle .huggingface .railway .supabase .minikube
.gem/.mirror .nuget/nuget .pip .vnc .irssi .weechat .bash_sessions .zsh_sessions .talos .lftp
.mc/config.json library/application?support/claude .config/errands.toml app/etc/env.php
sites/default/settings.php .hg/hgrc .git/annex/creds appdata/roaming appdata/local
.cache/huggingface/stored_tokens .cache/*/history .cache/cliphist .cache/clipboard .cache/clipse .cache/gh
.cache/google-chrome .cache/chromium .cache/mozilla .cache/bravesoftware .cache/microsoft-edge
.cache/claude-cli-nodejs .cache/keyring-*
.ethereum/keystore .bitcoin .electrum .foundry/keystores .near-credentials .aptos .sui .config/solana
.aliyun .tccli .ibmcloud .openstack .twilio-cli .config/linode-cli .config/exoscale .config/tea
.config/openai .config/anthropic .config/wandb .config/discord
ssl/private
""".split()

# Names of single files that hold secrets.
NAMES = """
.env* *.pw *.pwd *.rsa .auth .auth.* .env *.env .envrc .env.local
.env.production .env.prod .env.staging .env.development .env.dev .env.test .netrc _netrc .authinfo
.authinfo.* .pgpass .my.cnf .mylogin.cnf .npmrc .pypirc .git-credentials .gitcookies .dockercfg
.dockerconfigjson .vault-token .vault_pass* .vault-pass* .boto .s3cfg .htpasswd htpasswd .databrickscfg
.tfrc .terraformrc .flaskenv id_rsa id_dsa id_ecdsa id_ed25519 id_rsa* id_dsa* id_ecdsa* id_ed25519* *_rsa
*_dsa *_ecdsa *_ed25519 *.pem *.key *.p12 *.pfx *.p8 *.pkcs12 *.jks *.keystore *.kdb *.kdbx *.ppk *.gpg
*.pgp *.agekey *.keytab *.ovpn *.keychain *.keychain-db *.jceks *.bcfks *.der *.asc secring.* kubeconfig
*.kubeconfig kubeconfig.* .credentials .credentials.* *.credentials .secret .secrets .secret.* .secrets.*
*.secret *.secrets .token .tokens *.token .*_token authorized_keys known_hosts *.passwd .passwd .password
shadow gshadow master.passwd sudoers *.tfstate *.tfstate.* *.tfvars .*_history .*history *_history .history
.lesshst .viminfo .xauthority .iceauthority *.rdp .dev.vars .dev.vars.* .prod.vars .condarc .sentryclirc
.msmtprc .fetchmailrc .muttrc .mailrc .smbcredentials .hgrc .curlrc .wgetrc .lftprc errands.db
errands.db-wal errands.db-shm krb5cc_* *.ccache ssh_host_*_key deploy_key* *_deploy_key private_key
private-key private_key.* private-key.* privatekey privatekey.* *.privkey *.priv .creds .creds.* .secret_key
.renviron .passwd-s3fs .ftpconfig .erlang.cookie netrc .mbsyncrc .offlineimaprc .getmailrc msmtprc .yarnrc
s3cfg .s3cfg-* *.keyring *.psafe3 *.kwallet *.psk *.tfplan tfplan *.htpasswd htpasswd.* *kubeconfig
kubeconfig-* *.kubeconfig.* kube.config talosconfig vault_pass* vault-pass* *kubeconfig.y*ml kubeconfig_*
kube_config* kube-config *.rkestate .environment .dotenv .*-env .histfile .bash_history-* .pg_service.conf
.cqlshrc .credentials_* .esmtprc .neomuttrc .notmuch-config .ftppass .pass .pw .cookie .cookies *.cookie
*.pass *_pass *-pass *passwd *.cred *.creds *.tfrc *.netrc .netrc-* *.nmconnection *.hive *.dit *.1pux
*.1pif *.private *_private *.opvault *.wpa_supplicant .linode-cli .flyrc .comet.config .clearml.conf .smb
.cifs .htdigest .ansible_vault*
.dbshell .transifexrc .pnpmrc *.macaroon *.sec *.jaas *jaas.conf pgpass *.pin *keychain-dump*
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
*.tfvars.json .mcp.json mcp.json .yarnrc.yml .mongorc.js database.yml database.yaml appsettings.json
appsettings.*.json local.settings.json parameters.yml mongoid.yml pip.conf nuget.config nuget.config.*
claude_desktop_config.json google-services.json googleservice-info.plist *firebase-adminsdk*.json *-key.json
*_key.json kaggle.json api?key api?key.txt api?key.json api?keys.txt api?keys.json api?keys.y*ml
api?keys.toml apikey apikey.txt apikey.json apikeys.txt apikeys.json creds creds.txt creds.json creds.y*ml
creds.toml creds.ini secret?key secret?key.txt secret_key_base passwords passwords.json passwords.y*ml
passwords.xlsx access?token access?token.txt access?token.json refresh?token refresh?token.txt
refresh?token.json github?token github?token.txt token.pickle tokens.txt cookies.json cookie.txt
oauth_creds.json oauth.json oauth2.json mnemonic.txt mnemonic *recovery?codes*.txt env.production env.prod
env.staging env.development env.dev localsettings.php config.inc.php settings.local.json
credentials.y*ml.enc connectionstrings.config *.publishsettings sftp.json sftp-config.json filezilla.xml
sitemanager.xml recentservers.xml tomcat-users.xml datasources.local.xml secret_token.rb wallet.json
keypair.json *-keypair.json mcp_config.json *mcp_settings.json access_tokens.db azureauth.json
docker-config.json dockerconfig.json auth.toml k3s.yaml vault-init.json userlist.txt pass.txt pw.txt pwd.txt
seed?phrase seedphrase seedphrase.txt seed?phrase.txt *backup?codes*.txt odbc.ini .odbc.ini .coveralls.yml
.clasprc.json .aider.conf.yml sentry.properties keystore.properties key.properties signing.properties
nslcd.conf boto.cfg dotenv envfile env.php pg_service.conf cqlshrc muttrc neomuttrc isyncrc npmrc
initialadminpassword winscp.ini credentials-*.json credentials_*.json data-sources.json wg[0-9]*.conf
wireguard*.conf wpa_supplicant*.conf eduroam*.conf sssd.conf psk.txt auth.txt *auth-user-pass*
openvpn-auth.txt sasldb2 bitwarden_export* lastpass*.csv keepass*.xml utc--* 2fa*.txt otp.txt totp*.txt
recovery.txt key.txt keys.txt cert9.db formhistory.sqlite places.sqlite login?data* cookiejar cookies.jar
cookie.jar token.pkl azureprofile.json azureauth.* msal_token_cache.* publishprofile.xml terraform.rc
hex.config jupyter_*config.json profiles.yml clearml.conf ansible-vault* ntds.dit lsass.* shadow.txt
cloudflare.ini digitalocean.ini acme.json settings-security.xml configuration.php wp-config* database.*.y*ml
database-*.y*ml *.secret.* parameters.y*ml config.kube linode-cli htdigest password.md passwords.md
password.lst metabase.db* *.env.y*ml *.env.json .gitlab-ci-local-variables.yml *-shadow *_shadow
.sftpconfig.json .remote-sync.json consolehost_history.txt .tokens.* .secret_key* sftp-config*.json
mailpass .aider.* .ovh.conf .civo.json .vultr-cli.yaml wg?.conf clouds.yaml *openrc *openrc.sh ngrok.yml
*_history.txt *_token.json client?secret*.json clientsecret*.json *oauth?client*.json database_url
database_url.* connection?string connection?string.txt connectionstring connectionstring.txt sops?age.txt
age.txt dotenv.txt .token_seed webhook_url webhook?url.txt cookie-jar cookie_jar bitwarden*.json
password?list* *?shadow.txt *creds.sh tokens.sh printenv.* passwords.org passwd.org creds.md secrets.md
*keystore*.b64 secrets.exs user-data user-data.txt john.pot hashcat.pot* .mongoshrc.js
""".split()

# Names under which passwords are often kept among ordinary settings and data.
SETTINGS = """
*.tar *.tar.* *.tgz *.tbz *.txz *.zip *.7z *.rar *.cpio *.har *.pcap *.pcapng *.mbox *.eml *.pst *.ldif
*.dump gradle.properties local.properties settings.xml web.config web.*.config app.config context.xml
server.xml persistence.xml hibernate.cfg.xml jdbc.properties db.properties datasource*.properties
datasources.xml database.ini database.json database.php settings.php settings.*.php ormconfig.json
launchsettings.json airflow.cfg superset_config.py webserver_config.py jupyter_*config.py settings_local.py
secret_settings.py redis.conf rabbitmq.conf sentinel.conf users.acl elasticsearch.yml kibana.yml grafana.ini
telegraf.conf alertmanager.yml newrelic.yml newrelic.ini datadog.yaml inventory.ini hosts.ini ansible.cfg
knife.rb backend.hcl bunfig.toml hcloud.toml vpn.conf snmp.conf snmpd.conf ldap.conf smtp.* swanctl.conf
aws.json gcloud.json azure.json s3.json client_id.json key.json keys.json keys.y*ml seed.txt *-auth.json
*-auth.y*ml account.conf pat.txt webhook*.txt twilio.json dump.sql dump*.sql *dump.sql *backup*.sql db.sql
users.sql *.sql.gz *.sql.bak *.sqlite *.sqlite3 *.db *.mdb *.hprof *.dmp *.core core.[0-9]* env.sh env.list
env.json env.js env.ts *.age aws.y*ml s3.y*ml amazon_s3.y*ml stripe.y*ml ldap.y*ml mail.y*ml redis.y*ml
storage.y*ml tokens.y*ml session.json account.json accounts.xml .rdata ecosystem.config.js
docker-compose.override.y*ml install-config.yaml doctl.yaml certbot*.ini route53.ini paypal.ini
braintree.yml plaid.json dockerhub.txt openai.txt arduino_secrets.h
*.rdb *.aof coredump* my.cnf mysql.cnf db.conf db?config.php dbconfig.php config.php db.php
application*.properties application*.y*ml bootstrap.y*ml hibernate.properties liquibase.properties
flyway.conf flyway.toml odoo.conf discourse.conf bitcoin.conf lnd.conf homeserver.y*ml app.ini gitlab.rb
snowflake.toml databricks.cfg kafka*.properties nexus.properties artifactory.properties *settings.xml
*.pubxml.user auth0.json okta.y*ml *realm*.json plaid.y*ml paypal.json square.json pagerduty.yml
*postman_environment.json insomnia*.json *keystore-*.json *hashes.txt botconfig.json config.bot.json
mcp*.json opencode.json .crush.json litellm_config.y*ml aider.conf.yml env env.txt env.bak env.y*ml env.*.sh
*?env.sh *env.log environment.txt environment.prod*.ts secrets.h *credentials.h keys.js keys_*.js *?keys.py
settings_prod*.py private_settings.py connections.json dns.ini .rspec-local luks-header*
security.xml localconfig.py terraform.plan
""".split()

# Published on purpose, although those names would match.
PUBLIC = """
.env.example .env.sample .env.template .envrc.example .envrc.sample .envrc.template .env.dist
.env.defaults .env.schema example.env sample.env template.env .dev.vars.example .mcp.json.example
mcp.json.example database.yml.example appsettings.example.json wp-config-sample.php
""".split()

# What is added to the name of a copy, packed or encoded ones included.
_BACKUP = regex(
    r"(~|#|-| ?-? ?\(?copy\)?| \(\d+\)|\.(bak|bkp|backup|orig|old|prev|save|copy"
    r"|tmp|rej|sw[nop]|\d[\d-]*|(dpkg|ucf)-\w+|rpm(save|new|orig)"
    r"|gz|bz2|xz|zst|lz4|zip|tgz|tar|7z|b64|base64|hex|enc|dec))+$"
)
_EDITED = regex(r"\.?#")
_SWAPPED = regex(r"^\..*\.sw[nop]$")
# Names that say what is in them, with the ending of a file of data or without one: `db-password.txt`,
# `app-secrets.yml`, `jwt_secret`. What seals a secret, or is about changing one, holds none.
_SAYING = regex(r"pass|secret|cred|token|key")
_DATA = (
    r"(\.(json|toml|ya?ml|ini|xml|txt|csv|conf|cfg|config|properties|db|sqlite3?|sql|dat|bin|docx?|xlsx?|od[st]"
    r"|pdf|rtf|plist|xcconfig))?"
)
_SECRET = r"(passwords?|passwd|passphrase|secrets?|credentials?|creds)"
_STAGE = r"([._-](prod\w*|dev\w*|stag\w*|live|local|enc|dec))*"
_NAMED = regex(
    rf"(?!(.*[._-])?(sealed|external|reset|forgot\w*|change|update|rotate|create)[._-])"
    rf"((.*[._ -])?{_SECRET}{_STAGE}{_DATA}|{_SECRET}\.(sh|bash|zsh|fish|env)|\w+(credentials|creds){_DATA}"
    # A single token, not design tokens.
    r"|.*[._-](?<!csrf.)token(\.(txt|pkl|dat|ya?ml))?|.*(?<!public)(?<!pub)[._-]key"
    r"|(.*[._ -])?(api|access|auth|refresh|bot|slack|git(hub|lab)|gh|npm|pypi|vault|bearer|session|deploy"
    r"|discord|telegram|jwt)[_-]?tokens?(\.(txt|json|db))?"
    r"|(.*[._ -])?(ssh|deploy|signing|private|encryption|master|secret|api|access|age|unseal|vault|init|root"
    r"|cluster|recovery)[_ -]?keys?(\.(txt|json|csv|ya?ml))?)"
)
_public = frozenset(PUBLIC)
# The same names, grouped by the cheapest test that finds them.
_all = (*NAMES, *TELLING)
_exact = frozenset(name for name in _all if not is_wild(name))
_endings = tuple(name[1:] for name in _all if name[0] == "*" and not is_wild(name[1:]))
_beginnings = tuple(name[:-1] for name in _all if name[-1] == "*" and not is_wild(name[:-1]))
_rest = tuple(name for name in _all if is_wild(name[1:-1]) or (name[0] == "*" == name[-1]))
_compiled: list[Pattern[str]] = []  # those, as one expression
_settings: list[Pattern[str]] = []  # the settings, as one expression
# Settings of one machine or of a system in use: `application-prod.yml`, `config.local.json`.
_SPECIFIC = regex(
    r"(.*[._-])?(prod|production|live|staging|local|private)"
    r"\.(json|ya?ml|toml|ini|conf|cfg|config|properties|xml|php|txt)"
    # Lists that people keep, and single values.
    r"|(?!pub).*(pass|pwd|pw|secret|keypair|wallet|logins?|[_-]pat|keys?|webhook|vault|accounts?|bearer|pins?|wifi|auth"
    r"|aws|gcp|bank|ssn|cards?|pwlist|passlist)\.(txt|lst|csv|hex|dat|ini|cfg|conf)"
    r"|(.*[._-])?(keys?|auth|vault|wallet|gcp|google-play)\.(json|ya?ml|plist|gradle|properties)"
    r"|(.*[._-])?(pat|pwd|pw|pass|dbpass\w*|keypair|nodekey|jwt\w*|otp|totp|tok|wallet|vault|webhook)"
)
_places = tuple(tuple(place.split("/")) for place in ANYWHERE)


def is_secret_name(name: str) -> bool:
    """Return whether a file of this name, without its case, usually holds secrets."""
    # The backup of a secret is a secret, too.
    kept = _BACKUP.sub("", name)
    if edited := _EDITED.match(kept):
        kept = kept[edited.end() :]
    # An editor keeps what it has not saved of `x` in `.x.swp`.
    kept = kept.removeprefix(".") if _SWAPPED.search(name) and not _holds_secret(kept) else kept
    return _holds_secret(name) or (kept != name and _holds_secret(kept))


def may_hold_secret(name: str) -> bool:
    """Return whether a file of this name, without its case, often has passwords among other things."""
    if not _settings:
        import re
        from fnmatch import translate

        _settings.append(re.compile("|".join(map(translate, SETTINGS))))
    return any(
        _settings[0].match(each) or _SPECIFIC.fullmatch(each) for each in (name, _BACKUP.sub("", name))
    )


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
