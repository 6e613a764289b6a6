#!/usr/bin/env bash
# Usage: tests/packages/deb-install.sh DIST_DIR
#
# Installs the Debian packages of DIST_DIR with apt into clean roots of this
# machine's Debian release, and works with the server there:
#
#   fresh      install from the repository that `make repo` makes of them, over HTTP;
#              write, read, restart, plugins, TLS, PAM, backup, the test suite,
#              remove, purge
#   exchange   the distribution's mariadb-server with data and an edited
#              configuration file, then ours, then the distribution's again, each
#              time also purging what the other one left
#   upgrade    instead of exchange, where the distribution's is of an earlier line:
#              ours takes the data over, and there is no way back
#   downgrade  where it is of a later line: ours refuses, and leaves the data alone
#
# One line PASS or FAIL for each check; exit status 1 if one failed.  Run as root,
# with mmdebstrap and a Debian mirror in this machine's apt sources.  The base
# system and downloads are kept in $MILLRACE_CACHE (default: work/), so that later
# runs take two to three minutes.  Servers run in namespaces of their own: no
# port, process or file of this machine is touched.

. "$(dirname -- "$(readlink -f -- "$0")")/checks.sh" || exit
compgen -G "$dist/millrace-server_*.deb" >/dev/null ||
	die "there is no millrace-server_*.deb in $dist" "make deb"
for program in aptly createrepo_c rpmsign; do
	command -v $program >/dev/null || die "$program is missing" "build/setup tests"
done
for_roots
base=$cache/$suite.tar
archives=$cache/$suite.archives
roots=()
web=
# what the command line of an exchange has to name
meant=()

# Mounts and processes of a root are in namespaces that end with their command.
scratch=$(mktemp -d)
leave() {
	[ -z "$web" ] || kill "$web" || true
	[ ! -d "$scratch/gnupg" ] || GNUPGHOME=$scratch/gnupg gpgconf --kill gpg-agent || true
	[ ${#roots[@]} -eq 0 ] || rm -rf --one-file-system "${roots[@]}"
	rm -rf "$scratch"
}
trap leave EXIT

# enter ROOT [--alone] COMMAND...: --alone is without network but for its own lo
enter() {
	local root=$1 net=
	shift
	if [ "$1" = --alone ]; then
		net=--net
		shift
	fi
	unshare --mount --pid --fork --kill-child $net sh -euc '
		root=$1 dist=$2 archives=$3 net=$4
		shift 4
		[ -z "$net" ] || ip link set lo up
		mount -t proc proc "$root/proc"
		mount --bind "$archives" "$root/var/cache/apt/archives"
		mount --bind -o ro "$dist" "$root/mnt"
		export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root
		export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
		exec env -u TMPDIR chroot "$root" "$@"
	' sh "$root" "$dist" "$archives" "$net" "$@"
}

# make_root NAME: a clean root in $root
make_root() {
	root=$(mktemp -d "$run/$1.XXXXXX")
	roots+=("$root")
	tar -C "$root" -xpf "$base"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	# installing starts nothing, as in an image build
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	# read by their init script and by ours: on a busy machine a start takes its time
	echo MYSQLD_STARTUP_TIMEOUT=300 >"$root/etc/default/mariadb"
	# the roots are thrown away: no fsync after each file
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
}

# apt ARGUMENT...: in $root; its output only where it fails
apt() {
	enter "$root" apt-get -qy --no-install-recommends -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 \
		"$@" </dev/null >"$scratch/apt.log" 2>&1 || {
		tail -n 25 "$scratch/apt.log" | sed 's/^/  | /'
		return 1
	}
}

not() {
	! "$@"
}

# with_server [OPTION...] <SCRIPT: the server of $root started, the script run as
# root beside it with the functions below, the server stopped.
with_server() {
	{
		cat <<-'EOF'
			sql() { mariadb --batch --skip-column-names -e "$*"; }
			# is VALUE QUERY
			is() {
				got=$(sql "$2")
				[ "$got" = "$1" ] || { echo "$2: $got, not $1"; exit 1; }
			}
			refused() { if "$@"; then echo "not refused: $*"; exit 1; fi; }
			service mariadb start || { tail -n 30 /var/lib/mysql/error.log; exit 1; }
		EOF
		cat
		echo 'service mariadb stop'
	} >"$root/tmp/script"
	enter "$root" --alone sh -eu /tmp/script </dev/null
}

# install NAME...: our packages of these names, the check of an exchange first and alone
install() {
	local name files=()
	for name; do
		files+=(/mnt/"$(cd "$dist" && echo "millrace-${name}"_*.deb)")
	done
	apt install /mnt/"$(cd "$dist" && echo millrace-common_*.deb)" &&
		apt install "${files[@]}" "${meant[@]}"
}

# publish: a repository of the packages with a key of its own, beside the maintainer's; at $base.
# The packages were built on this release of Debian, whatever the tree is published for.
publish() {
	local tree=${dist##*/}
	shop=$(mktemp -d "$run/repo.XXXXXX")
	roots+=("$shop")
	mkdir "$shop/dist" "$shop/debian"
	cp -r "$top/scripts" "$top/trees" "$shop/"
	cp "$top/debian/control" "$shop/debian/"
	# the packages may have no publisher yet
	sed -i 's/invalid/unpublished/' "$shop/scripts/millrace/publisher.py"
	ln -s "$dist" "$shop/dist/$tree"
	/usr/bin/python3 -u -m http.server --bind 127.0.0.1 --directory "$shop/dist" 0 \
		>"$scratch/web.log" 2>&1 &
	web=$!
	for _ in $(seq 100); do
		port=$(sed -n 's/^Serving HTTP on .* port \([0-9]*\) .*/\1/p' "$scratch/web.log")
		[ -z "$port" ] || break
		sleep 0.1
	done
	repository=http://127.0.0.1:$port/repo
	sources=$repository/apt/millrace-$tree-$suite.sources
	mkdir -m 700 "$scratch/gnupg"
	export GNUPGHOME=$scratch/gnupg
	gpg --batch --quiet --pinentry-mode loopback --passphrase '' \
		--quick-generate-key 'A Test <test@example.org>' rsa2048 sign 2>/dev/null
	key=$(gpg --with-colons --list-keys | sed -n 's/^fpr:*\([0-9A-F]*\):$/\1/p')
	"$shop/scripts/repo" --key "$key" --base "$repository" --debian "$suite" "$tree" &&
		"$shop/scripts/repo" --promote '' "$tree" || return 1
	unset GNUPGHOME
}

# add_repository: what the README says, in $root
add_repository() {
	local fetch='/usr/lib/apt/apt-helper download-file'
	echo 'Acquire::http::Proxy::127.0.0.1 "DIRECT";' >"$root/etc/apt/apt.conf.d/90direct"
	# apt takes what has the right size from its archives; these may be of an earlier build
	rm -f "$archives"/millrace*
	enter "$root" $fetch "$repository/apt/millrace-archive-keyring.deb" /tmp/key.deb &&
		enter "$root" $fetch "$sources" /etc/apt/sources.list.d/millrace.sources &&
		apt install /tmp/key.deb && apt update &&
		enter "$root" apt-cache policy millrace-server | grep -F "$repository/apt $suite/"
}

# from_repository NAME...: our packages of these names, by name alone; they are those of $dist
from_repository() {
	local name
	apt install "${@/#/millrace-}" || return
	for name; do
		cmp "$archives/millrace-${name}"_*.deb \
			"$(find "$dist" -name "millrace-${name}_*.deb")" || return
	done
	rm -f "$archives"/millrace*
}

installed() {
	[ "$(enter "$root" dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

enabled() {
	[ -L "$root/etc/systemd/system/multi-user.target.wants/mariadb.service" ]
}

mkdir -p "$archives/partial"
# apt ends where another one is in its archives: the other tree's test waits here
exec 9> "$cache/lock"
flock 9
[ -f "$base" ] || make_base "$base" ca-certificates,openssl

#
# fresh
#
make_root fresh
conf=$root/etc/mysql/mariadb.conf.d
apt update || die "apt-get update failed in the clean root" "is there a network?"
check "fresh: make repo publishes the packages" publish
check "fresh: apt takes the repository's key and its list" add_repository
check "fresh: apt installs all packages by their names, noninteractively" \
	from_repository server client common backup test
check "fresh: the unit is enabled" enabled
line=$(enter "$root" dpkg-query -W -f '${Version}' millrace-server \
	| sed 's/^[0-9]*:\([0-9]*\.[0-9]*\).*/\1/')

fresh_server() {
	with_server <<-'EOF'
		sql "SELECT @@version_comment" | grep -q ^Millrace
		is 1 "SELECT COUNT(*) FROM information_schema.engines
			WHERE engine = 'InnoDB' AND support = 'DEFAULT'"
		is root@localhost "SELECT USER()"
		is 127.0.0.1 "SELECT @@bind_address"
		is utf8mb4 "SELECT @@character_set_server"
		is ON "SELECT IF(@@innodb_use_native_aio, 'ON', 'OFF')"
		is 0 "SELECT COUNT(*) FROM mysql.global_priv WHERE user = ''"
		sql "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(20));
			INSERT INTO d.t VALUES (1, 'first')"
		# another user of the machine is not root of the databases
		refused su -s /bin/sh nobody -c "mariadb -u root -e 'SELECT 1'"
	EOF
}
check "fresh: default configuration, write, root by socket only" fresh_server

# what a full server is asked for, with a log that can be read here
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -quiet \
	-keyout "$root/etc/mysql/key.pem" -out "$root/etc/mysql/cert.pem" 2>/dev/null ||
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
		-keyout "$root/etc/mysql/key.pem" -out "$root/etc/mysql/cert.pem" 2>/dev/null
chmod 644 "$root/etc/mysql/key.pem"
cat >"$conf/90-test.cnf" <<-'EOF'
	[mysqld]
	ssl_cert = /etc/mysql/cert.pem
	ssl_key = /etc/mysql/key.pem
	performance_schema = ON
	[mysqld_safe]
	skip-syslog
	log_error = /var/lib/mysql/error.log
EOF
full_server() {
	with_server <<-'EOF'
		is first "SELECT b FROM d.t WHERE a = 1"
		is YES "SELECT @@have_ssl"
		is 1 "SELECT COUNT(*) > 100 FROM performance_schema.setup_instruments"
		grep -E "Using (io_uring|liburing|Linux native AIO)" /var/lib/mysql/error.log
		# compression providers
		is 5 "SELECT COUNT(*) FROM information_schema.plugins
			WHERE plugin_name LIKE 'provider%' AND plugin_status = 'ACTIVE'"
		for algorithm in zlib lz4 lzo lzma bzip2 snappy; do
			sql "SET GLOBAL innodb_compression_algorithm = $algorithm;
				CREATE TABLE d.$algorithm (a TEXT) page_compressed = 1;
				INSERT INTO d.$algorithm SELECT REPEAT('a', 1000) FROM mysql.help_topic;
				FLUSH TABLES d.$algorithm FOR EXPORT"
		done
		for engine in archive blackhole federatedx sphinx; do
			sql "INSTALL SONAME 'ha_$engine'"
		done
		# TLS and a password
		sql "CREATE USER tls@'%' IDENTIFIED BY 'secret' REQUIRE SSL"
		mariadb -h 127.0.0.1 -u tls -psecret --ssl -e "SHOW STATUS LIKE 'Ssl_cipher'" \
			| grep -E 'Ssl_cipher.*(TLS|AES)'
		# PAM, through the setuid helper and the client's plugin "dialog"
		useradd --password "$(openssl passwd -6 word)" pamuser
		printf 'auth required pam_unix.so\naccount required pam_unix.so\n' >/etc/pam.d/mariadb
		sql "INSTALL SONAME 'auth_pam'; CREATE USER pamuser@localhost IDENTIFIED VIA pam USING 'mariadb'"
		mariadb -u pamuser -pword -e "SELECT USER()" | grep pamuser@localhost
		refused mariadb -u pamuser -pwrong -e "SELECT 1"
		# what the unit runs after a start
		/etc/mysql/debian-start
		# backup, and what it copied
		mariadb-backup --backup --target-dir=/tmp/backup 2>&1
		mariadb-backup --prepare --target-dir=/tmp/backup 2>&1
		[ -s /tmp/backup/d/t.ibd ]
	EOF
}
check "fresh: restart, AIO, TLS, PAM, providers, engines, performance_schema, backup" full_server

# parsec is of 11.6; the distribution's libmariadb3 may be older and not know it
parsec() {
	with_server <<-'EOF'
		sql "INSTALL SONAME 'auth_parsec';
			CREATE USER p@localhost IDENTIFIED VIA parsec USING PASSWORD('secret')"
		mariadb -u p -psecret -e "SELECT USER()" | grep p@localhost
		refused mariadb -u p -pwrong -e "SELECT 1"
	EOF
}
! dpkg --compare-versions "$line" ge 11.6 ||
	check "fresh: a user with the authentication plugin parsec" parsec

mtr() {
	enter "$root" --alone su -s /bin/sh mysql -c \
		'cd /usr/share/m*/m*-test && ./mtr --vardir=/tmp/mtr --suite=innodb innodb_bug30423 main.1st'
}
check "fresh: the test suite runs from its package" mtr

check "fresh: apt removes the server" apt remove millrace-server
check "fresh: data and configuration stay, the program is gone" \
	test -d "$root/var/lib/mysql/d" -a -f "$conf/50-server.cnf" -a ! -e "$root/usr/sbin/mariadbd"
rm -f "$root/etc/apt/sources.list.d/millrace.sources"
check "fresh: apt purges everything" apt purge 'millrace-*'
check "fresh: the databases are still there" test -f "$root/var/lib/mysql/d/t.ibd"
left=$(cd "$root" && find etc usr var/lib -path var/lib/mysql -prune \
	-o -path var/lib/dpkg -prune -o \( -iname '*millrace*' -o -name '50-*.cnf' \
	-o -name 'provider_*' -o -name debian-start -o -name 'mariadb*.service*' \) -print)
check "fresh: nothing else is left" test -z "$left"
[ -z "$left" ] || echo "$left"

#
# exchange
#
make_root exchange
conf=$root/etc/mysql/mariadb.conf.d
apt update
apt install mariadb-server mariadb-backup mariadb-plugin-provider-lz4 ||
	die "the distribution's mariadb-server cannot be installed in the clean root"
theirs=$(enter "$root" dpkg-query -W -f '${Version}' mariadb-server)
theirs_line=$(sed 's/^[0-9]*:\([0-9]*\.[0-9]*\).*/\1/' <<<"$theirs")
echo "exchanged with: mariadb-server $theirs"
release=${theirs#*:}
release=${release%%[-+~]*}
ours_release=$(cd "$dist" && echo millrace-common_*.deb)
ours_release=${ours_release#*_}
ours_release=${ours_release#*%3a}
! dpkg --compare-versions "$release" gt "${ours_release%%[-+~]*}" || meant=(mariadb-server-)

# the last group of the file is not the server's, so [mysqld] again
printf '\n[mysqld]\nmax_connections = 77\n' >>"$conf/50-server.cnf"
cp "$conf/50-server.cnf" "$scratch/edited.cnf"
theirs_write() {
	with_server <<-'EOF'
		is 77 "SELECT @@max_connections"
		sql "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(20));
			INSERT INTO d.t VALUES (1, 'theirs')"
	EOF
}
check "exchange: the distribution's server writes" theirs_write

ours() {
	with_server <<-'EOF'
		sql "SELECT @@version_comment" | grep -q ^Millrace
		is 77 "SELECT @@max_connections"
		is theirs "SELECT b FROM d.t WHERE a = 1"
		sql "REPLACE INTO d.t VALUES (2, 'ours')"
		is 5 "SELECT COUNT(*) FROM information_schema.plugins
			WHERE plugin_name LIKE 'provider%' AND plugin_status = 'ACTIVE'"
	EOF
}
exchanged() {
	installed millrace-server && ! installed mariadb-server && ! installed mariadb-server-core &&
		installed millrace-client && ! installed mariadb-client \
			&& ! installed mariadb-plugin-provider-lz4
}
kept() {
	cmp "$conf/50-server.cnf" "$scratch/edited.cnf" && ! compgen -G "$conf/*.kept-by-*" >&2
}
back() {
	installed mariadb-server && ! installed millrace-server && ! installed millrace-client
}
theirs_still() {
	with_server <<-'EOF'
		is 77 "SELECT @@max_connections"
		is theirs "SELECT b FROM d.t WHERE a = 1"
	EOF
}
# debian-start runs mariadb-upgrade in the background
upgraded() {
	with_server <<-EOF
		for second in \$(seq 300); do
			! grep -sq '^$line' /var/lib/mysql/mariadb_upgrade_info || break
			sleep 1
		done
		grep '^$line' /var/lib/mysql/mariadb_upgrade_info
		mariadb-check --check-upgrade --all-databases
	EOF
}
theirs_again() {
	with_server <<-'EOF'
		is 0 "SELECT @@version_comment LIKE 'Millrace%'"
		is 77 "SELECT @@max_connections"
		is ours "SELECT b FROM d.t WHERE a = 2"
		# no variable of ours, with loose_, is a beginning of one of theirs
		is 56 "SELECT @@innodb_read_ahead_threshold"
	EOF
}

data_sums() {
	(cd "$root/var/lib/mysql" && find . -type f -exec sha256sum {} + | sort)
}
refused() {
	! install server client && ! installed millrace-server &&
		grep "/var/lib/mysql is of MariaDB $theirs_line, this is MariaDB $line" "$scratch/apt.log" &&
		cmp <(data_sums) "$scratch/data"
}
if dpkg --compare-versions "$line" lt "$theirs_line"; then
	data_sums >"$scratch/data"
	check "downgrade: ours is refused, with the reason, and the data are as they were" refused
	check "downgrade: theirs was not removed" back
	check "downgrade: the edited 50-server.cnf is as it was" kept
	check "downgrade: data and settings are there" theirs_still
	finish
fi

told() {
	! install server client && installed mariadb-server && installed mariadb-backup &&
		grep 'ours is millrace-backup' "$scratch/apt.log"
}
check "exchange: apt does not remove mariadb-backup without a word" told
check "exchange: apt installs ours for theirs, noninteractively" \
	install server client backup
check "exchange: ours for theirs, package by package" exchanged
check "exchange: the edited 50-server.cnf is as it was" kept
check "exchange: an unedited file is now ours" \
	not grep -q 'mysql client library' "$conf/50-client.cnf"
check "exchange: the unit is enabled" enabled
check "exchange: data and settings are there, and it writes" ours

if [ "$line" != "$theirs_line" ]; then
	check "upgrade: the system tables are of $line" upgraded
	check "upgrade: apt purges what is left of theirs" apt purge mariadb-server mariadb-client
	check "upgrade: our unit is still enabled" enabled
	check "upgrade: the edited 50-server.cnf is as it was" kept
	check "upgrade: data and settings are still there" ours
	finish
fi

stays() {
	! apt install mariadb-client-core && installed millrace-server &&
		grep 'apt would remove millrace-server' "$scratch/apt.log"
}
check "exchange: a package of theirs does not take the server away" stays

# an edited file that changes with the package is dpkg's question then; see README.Debian
printf '%s\n' '[mysqld]' 'innodb_max_merged_io = 64' innodb_readahead=both >"$conf/90-local.cnf"
check "back: apt installs theirs for ours" \
	apt -o Dpkg::Options::=--force-confold install mariadb-server mariadb-client \
	mariadb-backup mariadb-plugin-provider-lz4
check "back: loose_ is before a variable of ours" \
	grep -x 'loose_innodb_max_merged_io = 64' "$conf/90-local.cnf"
check "back: theirs for ours" back
check "back: the edited 50-server.cnf is as it was" kept
check "back: data and settings are there" theirs_again
check "back: apt purges what is left of ours" apt purge 'millrace-*'
check "back: their unit is still enabled" enabled
check "back: the edited 50-server.cnf is as it was" kept
check "back: data and settings are still there" theirs_again

check "again: apt installs ours for theirs" install server client backup
check "again: apt purges what is left of theirs" apt purge mariadb-server mariadb-client
check "again: our unit is still enabled" enabled
check "again: the edited 50-server.cnf is as it was" kept
check "again: data and settings are still there" ours

finish
