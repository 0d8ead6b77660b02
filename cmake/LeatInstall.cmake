# make install: headers, libraries, modules, the tool, pkg-config and CMake package files.
include(CMakePackageConfigHelpers)
install(TARGETS leat leat_static EXPORT LeatTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(LEAT_CPP)  # the wrappers of ops, which the build made
  install(TARGETS leat_cpp EXPORT LeatTargets)
  install(DIRECTORY ${LEAT_CPP_INCLUDE}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
foreach(name ${LEAT_LINK_NAMES})
  install(FILES ${CMAKE_BINARY_DIR}/lib/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
if(LEAT_MODULE_TARGETS)
  install(TARGETS ${LEAT_MODULE_TARGETS} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET leat_tool)
  install(TARGETS leat_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# For pkg-config: leat, and tensorflow for bindings that ask for it (the Rust crate does). Both find
# what they name from their own place, so that an installed tree may be moved.
file(RELATIVE_PATH LEAT_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(LEAT_TENSORFLOW_VERSION 2.21.0)  # as TF_Version says
foreach(name leat tensorflow)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Leat)
install(EXPORT LeatTargets NAMESPACE Leat:: DESTINATION ${package_dir})
configure_package_config_file(cmake/LeatConfig.cmake.in LeatConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(LeatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/LeatConfig.cmake ${CMAKE_BINARY_DIR}/LeatConfigVersion.cmake
  DESTINATION ${package_dir})
