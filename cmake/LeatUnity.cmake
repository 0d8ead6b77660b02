# leat_unite(sources...): lets the compiler read several sources of one folder as one, which saves
# a sixth of a clean build: starting the compiler and reading a hundred headers takes a third of
# the time of a source of the mean (docs/decisions/0037).
#
# Sources that are read as one share their static names, and the house gives static names freely
# (`create` stands in forty sources). So a source joins the group before it only if no name that it
# defines is among the group's. The names are found by the layout that the house's style gives to a
# definition: it begins in the first column. One that is missed here is an error of the compiler,
# never another program.
#
# The build of `make asan` compiles each source alone: a missing include is an error there, which a
# group can hide.
option(LEAT_UNITY "Compile several sources of a folder as one, where they can be" ON)
if(LEAT_SANITIZE MATCHES "address" AND NOT LEAT_FUZZ)
  set(LEAT_UNITY OFF)
endif()
set(LEAT_UNITY_MAX_SOURCES 8)
# The first defines functions of TensorFlow's headers with types of its own, so it must not see
# these. Tests compile the others again, and must not take their neighbours with them.
set(LEAT_UNITY_ALONE capi/eager/monitoring.c base/crc32c.c base/status.c)
list(TRANSFORM LEAT_UNITY_ALONE PREPEND ${CMAKE_SOURCE_DIR}/src/)

# Sets OUT to the names which |source| defines for itself: functions, variables, types, macros and
# enumerators. A name of `_` stands for something that wants to be alone: a macro that changes what
# a header after it says, or <complex.h>, which takes the names `I` and `complex`.
function(leat_static_names out source)
  file(READ ${source} text)
  # CMake's lists take these characters for their own.
  string(REGEX REPLACE "[];[\\]" "=" text "\n${text}")
  string(REGEX MATCHALL "\n([A-Za-z}#]|  [A-Z][A-Z0-9_]+( =|,))[^\n]*" lines "${text}")
  set(names "")
  set(defined OFF)
  foreach(line IN LISTS lines)
    if(line MATCHES "^\n#define ([A-Za-z0-9_]*)")
      list(APPEND names ${CMAKE_MATCH_1})
      set(defined ON)
    elseif(line MATCHES "^\n#include <complex" OR
           (defined AND line MATCHES "^\n#include .*\\.h[>\"]"))
      list(APPEND names _)
    elseif(line MATCHES "^\n#include \"(.*\\.inc)\"")
      list(APPEND names ${CMAKE_MATCH_1})
    elseif(line MATCHES "^\n#")
      continue()
    elseif(line MATCHES "^\n(enum|struct|union) ([A-Za-z0-9_]+) {" OR
           line MATCHES "^\n(enum) { ([A-Z0-9_]+)" OR
           line MATCHES "^\n(} ?)([A-Za-z0-9_]+) ?=" OR
           line MATCHES "^\n(  )([A-Z][A-Z0-9_]+)" OR
           line MATCHES "^(\n[^(=]*[ *])([A-Za-z0-9_]+) ?[=(]")
      list(APPEND names ${CMAKE_MATCH_2})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# Puts each of the sources, which are listed folder by folder, into the first group of its folder
# that it fits into.
function(leat_unite)
  set(folder "")
  set(last 0)
  list(REMOVE_ITEM ARGN ${LEAT_UNITY_ALONE})
  foreach(source IN LISTS ARGN)
    get_filename_component(here ${source} DIRECTORY)
    if(NOT here STREQUAL folder)
      set(folder ${here})
      math(EXPR first "${last} + 1")
    endif()
    leat_static_names(names ${source})
    set(group ${first})
    while(group LESS_EQUAL last)
      list(LENGTH members_${group} size)
      set(both ${names} ${names_${group}})
      list(LENGTH both count)
      list(REMOVE_DUPLICATES both)
      list(LENGTH both distinct)
      if(distinct EQUAL count AND size LESS LEAT_UNITY_MAX_SOURCES AND
         NOT "_" IN_LIST both)
        break()
      endif()
      math(EXPR group "${group} + 1")
    endwhile()
    if(group GREATER last)
      set(last ${group})
    endif()
    list(APPEND names_${group} ${names})
    list(APPEND members_${group} ${source})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()
