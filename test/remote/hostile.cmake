# A hostile client, which writes the frames itself.
add_executable(remote-hostile hostile.c)
add_dependencies(remote-hostile gen)
target_link_libraries(remote-hostile PRIVATE call protocol transport util)
foreach(transport unix tcp)
  add_test(NAME remote-${transport}-hostile COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/through.sh
    ${CMAKE_BINARY_DIR} null ${transport} $<TARGET_FILE:remote-hostile>)
  set_tests_properties(remote-${transport}-hostile PROPERTIES TIMEOUT 300)
endforeach()

# A hostile server for libcuda.so.1.
add_executable(remote-liar liar.c)
add_dependencies(remote-liar gen)
target_link_libraries(remote-liar PRIVATE cuda protocol transport util)
add_test(NAME remote-liar COMMAND remote-liar)
# ThreadSanitizer forbids mappings at the addresses that this server names.
set_tests_properties(remote-liar PROPERTIES TIMEOUT 300 LABELS notsan)
