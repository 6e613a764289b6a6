# Where Debian's own mariadb packages have their files: a CMake initial cache.
#
# Upstream's DEB layout cannot be generated for Ninja (libmariadb.a is linked to
# itself), so the values stand here, on top of its RPM layout.

execute_process(COMMAND dpkg-architecture -qDEB_HOST_MULTIARCH
                OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)

set(INSTALL_LAYOUT RPM CACHE STRING "")
set(INSTALL_LIBDIR "lib/${multiarch}" CACHE STRING "")
set(INSTALL_PCDIR "lib/${multiarch}/pkgconfig" CACHE STRING "")
set(INSTALL_PLUGINDIR lib/mysql/plugin CACHE STRING "")
# the distribution's libmariadb3 has the client's plugins
set(INSTALL_PLUGINDIR_CLIENT "lib/${multiarch}/libmariadb3/plugin" CACHE STRING "")
set(INSTALL_INCLUDEDIR include/mariadb CACHE STRING "")
# share/mysql/mysql-test, from 11 on share/mariadb/mariadb-test: as upstream's DEB layout
file(STRINGS "${CMAKE_SOURCE_DIR}/cmake/install_layout.cmake" layout
     REGEX "INSTALL_MYSQLTESTDIR_DEB ")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" layout "${layout}")
set(INSTALL_MYSQLTESTDIR "${layout}" CACHE STRING "")
# not /etc, which would be the only place then: the server and the clients read
# /etc/my.cnf and /etc/mysql/my.cnf
set(INSTALL_SYSCONFDIR "" CACHE STRING "")
set(INSTALL_SYSCONF2DIR /etc/mysql/mariadb.conf.d CACHE STRING "")
set(INSTALL_RUNDATADIR /run/mysqld CACHE STRING "")
set(INSTALL_UNIX_ADDRDIR /run/mysqld/mysqld.sock CACHE STRING "")
# /lib or /usr/lib, see debian/rules
set(INSTALL_SYSTEMD_UNITDIR "/$ENV{SYSTEM_LIB}/systemd/system" CACHE STRING "")
set(INSTALL_PAMDIR "/$ENV{SYSTEM_LIB}/${multiarch}/security" CACHE STRING "")

# the upgrade of the system tables, which the units of a DEB build run as root
set(SYSTEMD_EXECSTARTPOST "ExecStartPost=-!/etc/mysql/debian-start" CACHE STRING "")
