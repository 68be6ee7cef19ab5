# CMake's own FindCUDAToolkit, with the driver libraries of Gangway: CUDA::cuda_driver exists on a machine without a
# driver, and programs linked with it run on any machine. Usage:
#
#	cmake -DCMAKE_MODULE_PATH=$(gangway config --cmake) ...
include("${CMAKE_CURRENT_LIST_DIR}/../GangwayConfig.cmake")

# The runtime and cuBLAS are not part of the driver: these targets remain the toolkit's.
set(_gangway_cuda CUDA::cuda_driver)
set(_gangway_nvml CUDA::nvml)
set(_gangway_targets "")
foreach(_gangway_library ${Gangway_LIBRARIES})
  if(_gangway_${_gangway_library})
    _gangway_target(${_gangway_${_gangway_library}} ${Gangway_${_gangway_library}_SONAME} "${Gangway_LIBRARY_DIR}"
      "${Gangway_STUBS_DIR}")
    list(APPEND _gangway_targets ${_gangway_${_gangway_library}})
  endif()
endforeach()

include("${CMAKE_ROOT}/Modules/FindCUDAToolkit.cmake")

# CMake's module does not change existing targets; their headers are still the toolkit's.
foreach(_gangway_target ${_gangway_targets})
  set_target_properties(${_gangway_target} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CUDAToolkit_INCLUDE_DIRS}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CUDAToolkit_INCLUDE_DIRS}")
endforeach()
unset(_gangway_cuda)
unset(_gangway_nvml)
unset(_gangway_library)
unset(_gangway_target)
unset(_gangway_targets)
