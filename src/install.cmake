# include/vostok, lib, bin/vostok, share/vostok (shipped caches) and the package for find_package(vostok).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/vostok)

install(TARGETS vostok EXPORT vostokTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET vostok_tool)
  install(TARGETS vostok_tool)
endif()
# enums.hpp is a link into templates/ in the source tree: the file itself is installed.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/vostok DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.hpp PATTERN enums.hpp EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/templates/abi/enums.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vostok RENAME enums.hpp)
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_DATADIR}/vostok)
if(TARGET vostok_shipped)
  install(FILES ${shipped_database} ${shipped_kernels} DESTINATION ${CMAKE_INSTALL_DATADIR}/vostok)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT vostokTargets NAMESPACE vostok:: DESTINATION ${package_folder})
configure_package_config_file(vostokConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/vostokConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/vostokConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vostokConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/vostokConfigVersion.cmake DESTINATION ${package_folder})
