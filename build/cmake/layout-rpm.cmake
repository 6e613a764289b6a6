# Where the RPM distributions' (Fedora's, RHEL's) own mariadb packages have their
# files: a CMake initial cache, on top of upstream's RPM layout.

set(INSTALL_LAYOUT RPM CACHE STRING "")
set(INSTALL_SBINDIR libexec CACHE STRING "")
set(INSTALL_LIBDIR lib64 CACHE STRING "")
# shared with mariadb-connector-c, which has the clients' plugins there
set(INSTALL_PLUGINDIR lib64/mariadb/plugin CACHE STRING "")
set(INSTALL_PLUGINDIR_CLIENT lib64/mariadb/plugin CACHE STRING "")
set(INSTALL_MYSQLSHAREDIR share/mariadb CACHE STRING "")
set(INSTALL_SUPPORTFILESDIR share/mariadb CACHE STRING "")
set(INSTALL_PAMDIR /usr/lib64/security CACHE STRING "")

# rpm's tools look for debug information and dependencies in executable files,
# which shared objects are on RPM distributions
set(CMAKE_INSTALL_SO_NO_EXE 0 CACHE INTERNAL "")
