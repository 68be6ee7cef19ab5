# Programs linked to libcuda.so.1 like an application: here, and through a server, on both devices.
function(everywhere program)
  foreach(device null cpu)
    if(device STREQUAL null)
      set(env env NO_RESULTS=1)
    else()
      set(env env)
    endif()
    add_test(NAME remote-here-${device}-${program} COMMAND ${env} GANGWAY_DEVICE=${device}
      $<TARGET_FILE:remote-${program}>)
    set_tests_properties(remote-here-${device}-${program} PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77)
    foreach(transport unix tcp)
      add_test(NAME remote-${transport}-${device}-${program} COMMAND ${env} ${CMAKE_CURRENT_SOURCE_DIR}/through.sh
        ${CMAKE_BINARY_DIR} ${device} ${transport} $<TARGET_FILE:remote-${program}>)
      set_tests_properties(remote-${transport}-${device}-${program} PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77)
    endforeach()
  endforeach()
endfunction()

foreach(program code events graphs prints)
  add_executable(remote-${program} ${program}.c)
  add_dependencies(remote-${program} gen)
  target_link_libraries(remote-${program} PRIVATE cuda)
  everywhere(${program})
endforeach()

add_executable(remote-hash hash.c)
target_link_libraries(remote-hash PRIVATE util)
add_test(NAME remote-hash COMMAND remote-hash)
