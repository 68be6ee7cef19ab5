# Programs linked to libcuda.so.1 like an application; each runs in one process and through a server, on both devices.
function(everywhere program)
  string(REPLACE _ - name ${program})
  foreach(device null cpu)
    if(device STREQUAL null)
      set(env env NO_RESULTS=1)
    else()
      set(env env)
    endif()
    add_test(NAME remote-here-${device}-${name} COMMAND ${env} GANGWAY_DEVICE=${device}
      $<TARGET_FILE:remote-${program}>)
    set_tests_properties(remote-here-${device}-${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
    foreach(transport unix tcp)
      add_test(NAME remote-${transport}-${device}-${name} COMMAND ${env} ${CMAKE_CURRENT_SOURCE_DIR}/through.sh
        ${CMAKE_BINARY_DIR} ${device} ${transport} $<TARGET_FILE:remote-${program}>)
      set_tests_properties(remote-${transport}-${device}-${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
    endforeach()
  endforeach()
endfunction()

foreach(program captures code endings enumerated events graphs graph_copies deferred_copies managed prints registered resets value_waits no_context)
  add_executable(remote-${program} ${program}.c)
  add_dependencies(remote-${program} gen)
  target_link_libraries(remote-${program} PRIVATE cuda)
  everywhere(${program})
endforeach()

add_test(NAME remote-tcp-deferred-copies-posts COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/deferred-copies.sh ${CMAKE_BINARY_DIR} null tcp
  $<TARGET_FILE:remote-deferred_copies>)
set_tests_properties(remote-tcp-deferred-copies-posts PROPERTIES TIMEOUT 300)

add_executable(remote-hash hash.c)
target_link_libraries(remote-hash PRIVATE util)
add_test(NAME remote-hash COMMAND remote-hash)

add_executable(remote-once once.c)
add_dependencies(remote-once gen)
target_link_libraries(remote-once PRIVATE cuda)
add_test(NAME remote-sent-once COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/sent-once.sh ${CMAKE_BINARY_DIR} $<TARGET_FILE:remote-once>)
set_tests_properties(remote-sent-once PROPERTIES TIMEOUT 300)

# A worker's functions, linked into the test; the test finds the device library relative to its own path.
add_executable(remote-shared shared.c)
target_link_libraries(remote-shared PRIVATE server ptx image image_libs backend backend_nvml names names_nvml protocol transport vendor util)
add_dependencies(remote-shared gen gangway-soft)
set_target_properties(remote-shared PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
add_test(NAME remote-shared COMMAND remote-shared)
set_tests_properties(remote-shared PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)

# The application goes on after its worker has died.
add_executable(remote-renew renew.c)
add_dependencies(remote-renew gen)
target_link_libraries(remote-renew PRIVATE cuda)
foreach(transport unix tcp)
  add_test(NAME remote-${transport}-renew COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/renew.sh ${CMAKE_BINARY_DIR} cpu ${transport}
    $<TARGET_FILE:remote-renew>)
  add_test(NAME remote-${transport}-renew-runtime COMMAND sh -c
    "'${CMAKE_SOURCE_DIR}/test/process/build.sh' renew '${CMAKE_CURRENT_BINARY_DIR}' || exit
    LD_LIBRARY_PATH='${CMAKE_BINARY_DIR}/lib/gangway' exec '${CMAKE_CURRENT_SOURCE_DIR}/renew.sh' '${CMAKE_BINARY_DIR}' cpu ${transport} '${CMAKE_CURRENT_BINARY_DIR}/renew'")
  set_tests_properties(remote-${transport}-renew PROPERTIES TIMEOUT 300)
  set_tests_properties(remote-${transport}-renew-runtime PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS nosan
    RESOURCE_LOCK remote-renew-runtime)
endforeach()
