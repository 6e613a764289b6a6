# A server with upstream's assertions, injection points and checked mutexes: a CMake initial
# cache, read after server.cmake.

set(CMAKE_BUILD_TYPE Debug CACHE STRING "" FORCE)
set(MYSQL_MAINTAINER_MODE OFF CACHE STRING "")
# Less than a debugger wants: compiled in half the time, and the tests run faster.
# Upstream adds -ggdb3 where the compiler has it: macros, in much larger objects.
foreach(language C CXX)
  set(have_${language}__ggdb3 OFF CACHE INTERNAL "")
  set(CMAKE_${language}_FLAGS_DEBUG "-O1 -g1" CACHE STRING "")
endforeach()
