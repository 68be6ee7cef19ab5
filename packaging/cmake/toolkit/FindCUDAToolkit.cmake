# CMake's own FindCUDAToolkit, with the driver's libraries from Gangway: CUDA::cuda_driver is there on a
# machine without a driver, and links everywhere. Point CMake here:
#
#	cmake -DCMAKE_MODULE_PATH=$(gangway config --cmake) ...
include("${CMAKE_CURRENT_LIST_DIR}/../GangwayConfig.cmake")

# A runtime or a cuBLAS is no part of the driver: those stay the toolkit's.
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

# It leaves targets alone that are there already; their headers are the toolkit's all the same.
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
