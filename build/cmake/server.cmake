# What every Millrace server is configured with, whatever the package format:
# a CMake initial cache, read with `cmake -C`.  The package formats add only
# their INSTALL_LAYOUT, so their objects are the same and ccache shares them.
#
# The build directory must lie inside the source directory, where ccache writes both
# as relative paths.  What is left of them is mapped: neither the path of the checkout
# nor the build directory's name is in the binaries.

# dpkg-buildpackage and rpmbuild export flags of their own, no two the same
foreach(variable CFLAGS CXXFLAGS CPPFLAGS LDFLAGS)
  unset(ENV{${variable}})
endforeach()

set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(BUILD_CONFIG mysql_release CACHE STRING "")
# These two say something else when a build directory is configured again (a patch
# touched a CMakeLists.txt): which plugins are static, and libmariadb's dynamic columns.
set(FEATURE_SET "" CACHE STRING "")
set(CONC_WITH_DYNCOL OFF CACHE BOOL "")

# The distribution's hardening (dpkg-buildflags, hardening=+all), written out so
# that DEB, RPM and tarball are compiled with the same words.  It stands with the
# build type's flags because upstream appends a weaker -fstack-protector to the
# general ones.  PIE, RELRO, BIND_NOW and fortify are upstream's SECURITY_HARDENED.
set(hardening "-fstack-protector-strong -fstack-clash-protection")
set(hardening "${hardening} -Wformat -Werror=format-security")
# gcc takes the last map that fits
set(maps "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=/usr/src/mariadb")
set(maps "${maps} -ffile-prefix-map=${CMAKE_BINARY_DIR}=/usr/src/mariadb/build")
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS "${maps}" CACHE STRING "")
  set(CMAKE_${language}_FLAGS_RELWITHDEBINFO
      "-O2 -g -DNDEBUG ${hardening}" CACHE STRING "")
endforeach()

# bison writes the full names of its files into the parser.  gcc knows a static function,
# whose counts a profile has, by its file's name too, so these are what build/compiler/profiled
# makes of the others, relative to the build directory.  The grammar's is sql_yacc.yy, as
# upstream says in myskel.m4, and bison takes the first map that fits.  bison before 3.7 has
# no maps: its parser is compiled as without a profile.
set(bison bison
  --file-prefix-map=${CMAKE_BINARY_DIR}/sql/yy_mariadb.yy=../sql/sql_yacc.yy
  --file-prefix-map=${CMAKE_BINARY_DIR}/sql/yy_oracle.yy=../sql/sql_yacc.yy
  --file-prefix-map=${CMAKE_BINARY_DIR}/=)
execute_process(COMMAND ${bison} --version RESULT_VARIABLE without_maps OUTPUT_QUIET ERROR_QUIET)
if(without_maps EQUAL 0)
  set(BISON_EXECUTABLE "${bison}" CACHE STRING "")
endif()

# Thin archives: the static libraries name the objects instead of copying them, which
# saves a third of a build directory.  None of them is in a package.
foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE
      "<CMAKE_AR> qcT <TARGET> <LINK_FLAGS> <OBJECTS>" CACHE STRING "")
  set(CMAKE_${language}_ARCHIVE_APPEND
      "<CMAKE_AR> qT <TARGET> <LINK_FLAGS> <OBJECTS>" CACHE STRING "")
endforeach()

# System libraries, as the distribution's own package has them.
set(WITH_SSL system CACHE STRING "")
set(WITH_ZLIB system CACHE STRING "")
set(WITH_PCRE system CACHE STRING "")
set(WITH_LIBFMT system CACHE STRING "")
set(WITH_SYSTEMD yes CACHE STRING "")
set(WITH_LIBAIO ON CACHE BOOL "")
set(WITH_URING ON CACHE BOOL "")
set(WITH_NUMA ON CACHE STRING "")
set(WITH_JEMALLOC no CACHE STRING "")
set(WITH_WSREP ON CACHE BOOL "")
set(WITH_INNODB_SNAPPY ON CACHE STRING "")
set(CONC_DEFAULT_CHARSET utf8mb4 CACHE STRING "")
set(SYSTEM_TYPE Linux CACHE STRING "")

# the packages strip, and keep what they strip as debug symbols
set(WITH_STRIPPED_CLIENT OFF CACHE BOOL "")
set(WITH_EMBEDDED_SERVER OFF CACHE BOOL "")
set(WITH_UNIT_TESTS OFF CACHE BOOL "")
# of 11.8: a list of libraries that upstream bundles, where ours are the system's
set(WITH_SBOM OFF CACHE BOOL "")

foreach(plugin AUTH_PAM AUTH_SOCKET)
  set(PLUGIN_${plugin} YES CACHE STRING "")
endforeach()
foreach(plugin AUTH_GSSAPI AWS_KEY_MANAGEMENT COLUMNSTORE CONNECT
        CRACKLIB_PASSWORD_CHECK HASHICORP_KEY_MANAGEMENT MROONGA OQGRAPH ROCKSDB
        S3 SPIDER)
  set(PLUGIN_${plugin} NO CACHE STRING "")
endforeach()
set(CLIENT_PLUGIN_AUTH_GSSAPI_CLIENT OFF CACHE STRING "")
# of 11.8; the client library of an older distribution has no parsec.so to load
set(CLIENT_PLUGIN_PARSEC STATIC CACHE STRING "")

# Found or not, by what else the machine has; a build must not depend on that.
foreach(plugin REMOTE_IO ZSTD)
  set(CLIENT_PLUGIN_${plugin} OFF CACHE STRING "")
endforeach()
set(HAVE_VALGRIND_MEMCHECK_H "" CACHE INTERNAL "")
