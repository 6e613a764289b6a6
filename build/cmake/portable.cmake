# Names of libraries that RPM distributions have, for what is built on Debian for them, the RPM
# packages and the tarball: a CMake initial cache, beside one of a layout.  The linker looks into
# a directory of the build directory first, which has what stands below; the objects are the same
# as without it.  tests/packages/provides.txt says what other systems have.

set(portable "${CMAKE_BINARY_DIR}/portable")
# STATIC_LIBRARIES is a hash of the static libraries: all is linked again where the linker's
# arguments change, and nothing else tells ninja that one of these has.
set(linked "${portable}/${STATIC_LIBRARIES}")
file(MAKE_DIRECTORY "${linked}")

# static NAME LIBRARY...: -lNAME links these static libraries of Debian's.  A program does not
# export their symbols: a PAM module that the server loads gets the system's.
set(hidden)
function(static name)
  list(TRANSFORM ARGN REPLACE ".+" "lib\\0.a" OUTPUT_VARIABLE archives)
  list(TRANSFORM archives PREPEND "-l:" OUTPUT_VARIABLE input)
  list(JOIN input " " input)
  file(WRITE "${linked}/lib${name}.so" "INPUT(${input})\n")
  set(hidden ${hidden} ${archives} PARENT_SCOPE)
endfunction()

# libcrypt.so.2 elsewhere
static(crypt crypt)
# without symbol versions, NCURSES6_*, elsewhere
static(curses ncurses tinfo)
# libedit.so.0 elsewhere; the others are what Debian's needs
static(edit edit bsd md tinfo)

# Debian says libbz2.so.1.0, others libbz2.so.1, which Debian has too.  Its static library does
# not fit into a plugin: link with one of that name, which has the names of the functions alone.
execute_process(COMMAND sh -euc [[
    names=$(nm -D --defined-only "$(cc -print-file-name=libbz2.so)" | sed -n 's/.* T BZ2_/BZ2_/p')
    printf 'void %s(void) {}\n' $names \
        | cc -shared -nostdlib -Wl,-soname,libbz2.so.1 -o libbz2.so -x c -]]
  WORKING_DIRECTORY "${linked}" COMMAND_ERROR_IS_FATAL ANY)

# by name, where upstream would look for the file
set(CURSES_LIBRARY curses CACHE STRING "")
set(LIBEDIT_LIBRARY edit CACHE STRING "")
set(BZIP2_LIBRARIES bz2 CACHE STRING "")
list(REMOVE_DUPLICATES hidden)
list(JOIN hidden ":" hidden)
foreach(kind EXE MODULE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS "-L\"${linked}\" -Wl,--exclude-libs,${hidden}" CACHE STRING "")
endforeach()

# The licenses of the static libraries want their notices beside the programs.
execute_process(COMMAND sh -euc [[
    for package in libbsd libcrypt libedit libmd libncurses; do
        printf '%s, linked statically:\n\n' "$package"
        cat "/usr/share/doc/$package-dev/copyright"
        echo
    done > LICENSES]]
  WORKING_DIRECTORY "${portable}" COMMAND_ERROR_IS_FATAL ANY)
