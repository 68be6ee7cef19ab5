# cpu_test(NAME [TIMEOUT S] [LOCK RESOURCE] [LABELS ...] [ENVIRONMENT ...] [OVER ...] [RARELY ...] COMMAND ...)
#
# A program on the CPU device, three times: here (NAME), and behind a gangway serve of its own, over shared memory
# (remote-unix-NAME) and over TCP (remote-tcp-NAME).  DEVICE and GANGWAY_DEVICE say where.  What works in one process
# works through two: a test that is not for one of them says OVER which it is, and why; what takes long is labelled
# exhaustive where it runs RARELY.
function(cpu_test name)
  cmake_parse_arguments(a "" "TIMEOUT;LOCK" "LABELS;ENVIRONMENT;OVER;RARELY;COMMAND" ${ARGN})
  if(NOT a_TIMEOUT)
    set(a_TIMEOUT 60)
  endif()
  if(NOT DEFINED a_OVER)
    set(a_OVER here unix tcp)
  endif()
  foreach(over ${a_OVER})
    set(labels ${a_LABELS})
    if(over IN_LIST a_RARELY)
      list(APPEND labels exhaustive)
    endif()
    if(over STREQUAL here)
      set(test ${name})
      add_test(NAME ${test} COMMAND ${a_COMMAND})
      set_property(TEST ${test} PROPERTY ENVIRONMENT DEVICE=cpu GANGWAY_DEVICE=cpu GANGWAY_USAGE=0 ${a_ENVIRONMENT})
    else()
      set(test remote-${over}-${name})
      add_test(NAME ${test} COMMAND ${CMAKE_SOURCE_DIR}/test/served.sh $<TARGET_FILE:gangway> cpu ${over} ${a_COMMAND})
      # TSAN_OPTIONS as in test/remote
      set_property(TEST ${test} PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0
        TSAN_OPTIONS=atexit_sleep_ms=0:report_thread_leaks=0 GANGWAY_USAGE=0 ${a_ENVIRONMENT})
    endif()
    set_property(TEST ${test} PROPERTY LABELS ${labels})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${a_TIMEOUT} SKIP_RETURN_CODE 77)
    if(a_LOCK)
      set_property(TEST ${test} PROPERTY RESOURCE_LOCK ${a_LOCK})
    endif()
  endforeach()
endfunction()
