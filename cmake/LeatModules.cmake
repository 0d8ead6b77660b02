# Modules: src/modules/<name>/*.c becomes lib/leat_module_<name>.so, opened by the library on
# first need. A module reaches the library only through the table that it is handed, and links
# none of it.
# leat_module(NAME HEADER LIBRARY PACKAGE) says which foreign library a module needs; LIBRARY may be
# "" where it needs none.
function(leat_module name header library package)
  leat_glob(sources src/modules/${name}/*.c)
  list(FILTER sources EXCLUDE REGEX "_test\\.c$")
  if(NOT sources)
    return()
  endif()
  if(library)
    find_path(LEAT_${name}_INCLUDE ${header})
    find_library(LEAT_${name}_LIBRARY ${library})
    if(NOT LEAT_${name}_INCLUDE OR NOT LEAT_${name}_LIBRARY)
      message(STATUS "Leat: module ${name} is left out: lib${library} is absent (apt: ${package})")
      return()
    endif()
  endif()
  add_library(leat_module_${name} MODULE ${sources})
  target_link_libraries(leat_module_${name} PRIVATE leat_flags ${LEAT_${name}_LIBRARY})
  target_include_directories(leat_module_${name} PRIVATE
    ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_include_directories(leat_module_${name} SYSTEM PRIVATE ${LEAT_${name}_INCLUDE})
  target_compile_definitions(leat_module_${name} PRIVATE LEAT_MODULE=1)
  set_target_properties(leat_module_${name} PROPERTIES PREFIX "")
  if(NOT LEAT_SANITIZE)
    target_link_options(leat_module_${name} PRIVATE -Wl,-z,defs)
  endif()
  set_property(GLOBAL APPEND PROPERTY LEAT_MODULE_TARGETS leat_module_${name})
endfunction()

if(LEAT_ONEDNN)
  leat_module(onednn dnnl.h dnnl libdnnl-dev)
  if(TARGET leat_module_onednn)
    target_link_options(leat_module_onednn PRIVATE -fopenmp)  # it sets OpenMP's number of threads
  endif()
endif()
leat_module(gif gif_lib.h gif libgif-dev)
leat_module(jpeg jpeglib.h jpeg libjpeg62-turbo-dev)
leat_module(png png.h png libpng-dev)
leat_module(sqlite sqlite3.h sqlite3 libsqlite3-dev)
leat_module(webp webp/demux.h webpdemux libwebp-dev)
if(TARGET leat_module_webp)
  target_link_libraries(leat_module_webp PRIVATE webp)  # the decoder itself, in the same package
endif()
leat_module(zlib zlib.h z zlib1g-dev)
leat_module(grpc grpc/grpc.h grpc libgrpc-dev)
if(TARGET leat_module_grpc)
  # The C core's own base, in the same package, and what it makes TLS with (a package it needs).
  target_link_libraries(leat_module_grpc PRIVATE gpr crypto)
endif()
leat_module(ucx ucp/api/ucp.h ucp libucx-dev)
if(TARGET leat_module_ucx)
  target_link_libraries(leat_module_ucx PRIVATE ucs)  # UCX's own base, in the same package
endif()
leat_module(cupti "" "" "")  # NVIDIA's library is found when it runs, by its name
leat_module(declared "" "" "")
get_property(LEAT_MODULE_TARGETS GLOBAL PROPERTY LEAT_MODULE_TARGETS)
