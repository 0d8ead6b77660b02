# Looks for a C++ compiler, for the C++ front end and for plug-ins that need foreign libraries. The
# library itself is C: without one CMAKE_CXX_COMPILER stays empty, and these are left out.
if(LEAT_FUZZ)
  return()
endif()
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  if(LEAT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
  endif()
  enable_language(CXX)
endif()
