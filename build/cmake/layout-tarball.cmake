# The generic binary tarball: a CMake initial cache, on top of upstream's layout
# for tarballs.  Everything lies below one directory, wherever that is.

set(INSTALL_LAYOUT STANDALONE CACHE STRING "")
set(INSTALL_SCRIPTDIR bin CACHE STRING "")
# bin/mariadbd (build/lib/tarball/mariadbd) finds the directory and starts this one
set(INSTALL_SBINDIR libexec CACHE STRING "")
