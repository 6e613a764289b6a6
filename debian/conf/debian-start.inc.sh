# What /etc/mysql/debian-start does.  Messages go to syslog.  An edited
# debian-start of the distribution's package finds here the functions it calls, in
# /usr/share/mysql (Debian 12) or /usr/share/mariadb (Debian 13).

credentials=--defaults-extra-file=/etc/mysql/debian.cnf

# Brings the system tables to this server's version; does nothing where they are.
upgrade_system_tables_if_necessary() {
	LC_ALL=C mariadb-upgrade $credentials --version-check --silent 2>&1 |
		logger -p daemon.warning -i -t debian-start
}

# The server repairs a table as it opens it: aria_recover_options, myisam_recover_options.
check_for_crashed_tables() {
	:
}

check_root_accounts() {
	open=$(mariadb $credentials --skip-column-names --batch --execute "
		SELECT COUNT(*) FROM mysql.global_priv WHERE user = 'root'
		AND JSON_VALUE(priv, '$.plugin') IN ('mysql_native_password', 'mysql_old_password', 'parsec')
		AND JSON_VALUE(priv, '$.authentication_string') = ''
		AND JSON_VALUE(priv, '$.password_last_changed') != 0") || return 0
	[ "$open" = 0 ] ||
		logger -p daemon.warning -i -t debian-start "$open root accounts have no password"
}
