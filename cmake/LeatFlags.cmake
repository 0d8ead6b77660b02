# Compiler flags shared by all of our code, as the interface target `leat_flags`.
find_program(LEAT_CCACHE ccache)
if(LEAT_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  # Paths below the source folder are hashed as relative ones: checkouts share one cache.
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 ${LEAT_CCACHE})
endif()

find_package(Threads REQUIRED)
add_library(leat_flags INTERFACE)
target_compile_options(leat_flags INTERFACE
  -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-psabi -Wstrict-prototypes
  # What GCC only guesses, it guesses otherwise at -O3: an embedder's build does not end over it.
  $<$<BOOL:${LEAT_WERROR}>:-Werror>
  $<$<BOOL:${LEAT_WERROR}>:-Wno-error=maybe-uninitialized>
  -fno-math-errno -fno-trapping-math -ffp-contract=off
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
target_compile_definitions(leat_flags INTERFACE
  LEAT_VERSION="${PROJECT_VERSION}" $<$<BOOL:${LEAT_DEBUG}>:LEAT_DEBUG=1>)
target_link_libraries(leat_flags INTERFACE Threads::Threads m ${CMAKE_DL_LIBS})

# Whoever needs the library's internals (tests, the board) links this target. It is the static
# library, whose hidden symbols a program reaches that holds a copy of it. Under a sanitizer such a
# copy takes 30 MB and more, in each of hundreds of tests: there the shared library shows all of its
# symbols, and the tests share it.
if(LEAT_SANITIZE AND NOT LEAT_FUZZ)
  set(LEAT_INTERNALS leat)
  target_compile_options(leat_flags INTERFACE -fno-semantic-interposition)
else()
  set(LEAT_INTERNALS leat_static)
  target_compile_options(leat_flags INTERFACE -fvisibility=hidden)
endif()

if(LEAT_SANITIZE)
  target_compile_options(leat_flags INTERFACE
    -fsanitize=${LEAT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(leat_flags INTERFACE -fsanitize=${LEAT_SANITIZE})
else()
  # Nothing unwinds through C: debuggers read .debug_frame, which stripping removes. Loops are
  # aligned, what is merely jumped to is not.
  target_compile_options(leat_flags INTERFACE -fno-asynchronous-unwind-tables -fno-unwind-tables
    $<$<C_COMPILER_ID:GNU>:-fno-align-jumps -fno-align-labels>)
endif()

include(CheckCCompilerFlag)
include(CheckLinkerFlag)
# GCC sets structs of 64 bytes and more to zero by `rep stos`, whose start takes as long as all the
# stores: five of them stood in the way of a step.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT LEAT_SANITIZE AND NOT LEAT_FUZZ)
  set(strategy -mmemset-strategy=vector_loop:1024:noalign,libcall:-1:noalign)
  check_c_compiler_flag(${strategy} LEAT_KNOWS_MEMSET_STRATEGY)
  if(LEAT_KNOWS_MEMSET_STRATEGY)
    target_compile_options(leat_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:${strategy}>)
  endif()
endif()

# Hardening: what a bug in our own code would let an attacker do with a file or a graph is made
# harder, as distributions build what reads other people's data. Sanitizers and libFuzzer check more
# and do not mix with it. Each option is taken only where the compiler or linker knows it, so that
# other processors and linkers still build.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(LEAT_BIND_NOW "")
if(NOT LEAT_SANITIZE AND NOT LEAT_FUZZ)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "LEAT_KNOWS${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      target_compile_options(leat_flags INTERFACE ${flag})
    endif()
  endforeach()
  # The C library refuses the macro without optimisation; a compiler may define it by itself.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(leat_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  endif()
  # What the loader relocated once is read-only afterwards.
  check_linker_flag(C -Wl,-z,relro LEAT_KNOWS_RELRO)
  if(LEAT_KNOWS_RELRO)
    target_link_options(leat_flags INTERFACE -Wl,-z,relro)
  endif()
  # Programs, and the library (LeatLibrary.cmake), bind every function when they are loaded, so that
  # their whole tables are read-only too. Modules leave that to LD_BIND_NOW.
  check_linker_flag(C -Wl,-z,now LEAT_KNOWS_BIND_NOW)
  if(LEAT_KNOWS_BIND_NOW)
    set(LEAT_BIND_NOW -Wl,-z,now)
  endif()
endif()

# leat_glob(OUT patterns...): sources below the root, an empty list where there is none.
function(leat_glob out)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${ARGN})
  set(${out} ${found} PARENT_SCOPE)
endfunction()
