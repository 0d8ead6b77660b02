# The Python package, in build/python/leat: the extension _leat from python/src/, links to the
# sources of python/leat/, and what python/make_package.py makes of them; beside it the stubs.
# `PYTHONPATH=build/python` uses it without an installation. Where Python's headers are missing the
# package is not built. With sanitizers only the target leat_python_package is there (make
# asan-python), since the interpreter has to load their runtime before all else.
option(LEAT_PYTHON "Build the Python package (needs Python.h of 3.11 or later)" ON)
if(LEAT_FUZZ)
  set(LEAT_PYTHON OFF)
endif()
if(LEAT_PYTHON)
  find_package(Python3 3.11 COMPONENTS Interpreter)
  if(Python3_FOUND)
    execute_process(OUTPUT_VARIABLE LEAT_PYTHON_INCLUDE OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND ${Python3_EXECUTABLE} -c "import sysconfig; print(sysconfig.get_path('include'))")
  endif()
  if(NOT Python3_FOUND OR NOT EXISTS "${LEAT_PYTHON_INCLUDE}/Python.h")
    message(STATUS "Leat: no Python.h of Python 3.11 or later, so the Python package is left out")
    set(LEAT_PYTHON OFF)
  endif()
endif()
if(LEAT_PYTHON)
  set(python ${Python3_EXECUTABLE})
  set(in_all ALL)
  set(kept)
  if(LEAT_SANITIZE)
    set(in_all)
    set(kept EXCLUDE_FROM_ALL)
    set(runtime libtsan.so)
    if(LEAT_SANITIZE MATCHES address)
      set(runtime libasan.so)
    endif()
    execute_process(OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND ${CMAKE_C_COMPILER} -print-file-name=${runtime})
    # A shell, which may be what is called Python, does not run with the runtime.
    execute_process(OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)")
    set(python ${CMAKE_COMMAND} -E env LD_PRELOAD=${runtime} ASAN_OPTIONS=detect_leaks=0 ${python})
  endif()
  set(package ${CMAKE_BINARY_DIR}/python/leat)
  leat_glob(sources python/src/*.c)
  add_library(leat_python MODULE ${kept} ${sources})
  target_link_libraries(leat_python PRIVATE leat_flags leat)
  target_include_directories(leat_python SYSTEM PRIVATE ${LEAT_PYTHON_INCLUDE})
  # Python's method tables ask for casts between functions of different types.
  target_compile_options(leat_python PRIVATE -Os -Wno-cast-function-type)
  target_link_options(leat_python PRIVATE -Wl,--gc-sections)
  set_target_properties(leat_python PROPERTIES PREFIX "" OUTPUT_NAME _leat SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${package} BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "\$ORIGIN/lib;\$ORIGIN/../../lib")
  file(GLOB_RECURSE python_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/leat/*.py
    ${CMAKE_SOURCE_DIR}/python/leat/py.typed)
  set(maker ${CMAKE_SOURCE_DIR}/python/make_package.py)
  add_custom_command(OUTPUT ${package}/_names.py
    COMMAND ${python} ${maker} ${CMAKE_SOURCE_DIR}/python ${package}
    DEPENDS leat_python ${maker} ${CMAKE_SOURCE_DIR}/python/make_stubs.py
      ${CMAKE_SOURCE_DIR}/python/stub_returns.py ${CMAKE_SOURCE_DIR}/python/endpoints.txt
      ${python_sources}
    COMMENT "Making the Python package" VERBATIM)
  add_custom_target(leat_python_package ${in_all} DEPENDS ${package}/_names.py)
  if(LEAT_MODULE_TARGETS)
    add_dependencies(leat_python_package ${LEAT_MODULE_TARGETS})
  endif()
  # ninja -C build docs-python: the reference of the API, pages of Markdown in build/docs/python.
  add_custom_target(docs-python DEPENDS leat_python_package
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/python/make_reference.py
      ${CMAKE_BINARY_DIR}/docs/python --package ${CMAKE_BINARY_DIR}/python
    VERBATIM)
endif()
