# Shared by the scripts beside it: what a bare Debian machine needs, and private
# PostgreSQL servers. Sourced, not run; the caller has set -eu.

say() { printf '%s\n' "$*"; }
die() {
	printf '%s: %s\n' "$(basename "$0")" "$1" >&2
	[ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
	exit 1
}

# need_packages installs the Debian packages whose command is missing.
# Each argument is package=command; a command with a slash is a file pattern.
need_packages() {
	missing=
	for pair in "$@"; do
		want=${pair#*=}
		case $want in
		/*) ls $want >/dev/null 2>&1 || missing="$missing ${pair%%=*}" ;;
		*) command -v "$want" >/dev/null 2>&1 || missing="$missing ${pair%%=*}" ;;
		esac
	done
	[ -n "$missing" ] || return 0
	root=
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null 2>&1 || die "missing packages:$missing" "as root: apt-get install$missing"
		root=sudo
	fi
	command -v apt-get >/dev/null 2>&1 || die "missing packages:$missing" "install them with this system's package manager"
	say "installing$missing"
	$root apt-get update -q >/dev/null
	# The postgresql package would start a cluster of its own, which nobody here uses.
	$root mkdir -p /etc/postgresql-common
	[ -e /etc/postgresql-common/createcluster.conf ] ||
		echo 'create_main_cluster = false' | $root tee /etc/postgresql-common/createcluster.conf >/dev/null
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >/dev/null
}

# need_go finds the go command, also where it is installed but not on the PATH.
need_go() {
	command -v go >/dev/null 2>&1 || PATH=$PATH:/usr/local/go/bin
	command -v go >/dev/null 2>&1 || die "go is not on the PATH" "install Go from go.dev, or add its bin folder to PATH"
}

# pg_bin prints the folder of the newest PostgreSQL server binaries.
pg_bin() {
	newest=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -t/ -k5 -n | tail -n 1)
	[ -n "$newest" ] || newest=$(command -v postgres) || die "no PostgreSQL server is installed" "apt-get install postgresql"
	dirname "$newest"
}

# as_pg runs a command as a user that PostgreSQL agrees to run as.
as_pg() {
	if [ "$(id -u)" = 0 ]; then
		(cd / && setpriv --reuid=postgres --regid=postgres --init-groups -- env HOME=/tmp "$@")
	else
		"$@"
	fi
}

# pg_start FOLDER SOCKETS PORT: a private server on a Unix socket, made when it is not there.
pg_start() {
	[ -d "$1" ] || {
		mkdir -p "$1"
		[ "$(id -u)" != 0 ] || chown postgres: "$1"
		chmod 700 "$1"
	}
	[ -e "$1/PG_VERSION" ] ||
		as_pg "$(pg_bin)/initdb" -D "$1" -U postgres -A trust -E UTF8 --locale=C.UTF-8 >/dev/null
	as_pg "$(pg_bin)/pg_ctl" -D "$1" status >/dev/null 2>&1 ||
		as_pg "$(pg_bin)/pg_ctl" -D "$1" -w -t 60 -l "$1/server.log" \
			-o "-c listen_addresses= -k '$2' -p $3" start >/dev/null ||
		die "the server in $1 did not start" "read $1/server.log"
}

# pg_stop FOLDER
pg_stop() {
	[ ! -e "$1/postmaster.pid" ] || as_pg "$(pg_bin)/pg_ctl" -D "$1" -m fast -w stop >/dev/null 2>&1 || true
}
