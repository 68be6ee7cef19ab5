# libgangway-jit.so: the compiler, with LLVM 19 linked statically and hidden.
#
# An application may bring an LLVM of its own (Triton, JAX, Mesa), of any version, into the same process. So the
# plug-in exports one symbol, refers to no symbol of another LLVM or of a C++ library, and is loaded with RTLD_LOCAL.
option(GANGWAY_JIT "Build the kernel compiler if LLVM 19 is installed; without it the CPU device interprets" ON)
find_program(LLVM_CONFIG NAMES llvm-config-19)
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libstdc++.a
  OUTPUT_VARIABLE STDCXX_ARCHIVE OUTPUT_STRIP_TRAILING_WHITESPACE)
find_library(Z_ARCHIVE NAMES libz.a)
find_library(ZSTD_ARCHIVE NAMES libzstd.a)

# Lists what the build of the compiler lacks.
function(jit_missing out)
  set(missing)
  if(NOT GANGWAY_JIT)
    list(APPEND missing "-DGANGWAY_JIT=ON")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    list(APPEND missing "an x86-64 processor")
  endif()
  if(NOT LLVM_CONFIG)
    list(APPEND missing llvm-19-dev)
  endif()
  if(NOT IS_ABSOLUTE "${STDCXX_ARCHIVE}") # gcc prints the bare name of a file that it does not have
    list(APPEND missing "libstdc++.a (package g++)")
  endif()
  if(NOT Z_ARCHIVE)
    list(APPEND missing zlib1g-dev)
  endif()
  if(NOT ZSTD_ARCHIVE)
    list(APPEND missing libzstd-dev)
  endif()
  list(JOIN missing ", " missing)
  set(${out} "${missing}" PARENT_SCOPE)
endfunction()

jit_missing(JIT_MISSING)
if(JIT_MISSING)
  message(STATUS "The CPU device interprets only: the kernel compiler needs ${JIT_MISSING}")
  return()
endif()

function(llvm_ask out)
  execute_process(COMMAND ${LLVM_CONFIG} ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${LLVM_CONFIG} ${ARGN} failed; -DGANGWAY_JIT=OFF builds without LLVM")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
llvm_ask(LLVM_VERSION --version)
llvm_ask(LLVM_INCLUDE --includedir)
llvm_ask(LLVM_ARCHIVES --link-static --libfiles x86codegen passes)
separate_arguments(LLVM_ARCHIVES)

add_library(gangway-jit MODULE plugin.c)
add_subdirectory(compile)
add_dependencies(gangway-jit gen)
target_include_directories(gangway-jit SYSTEM PRIVATE ${LLVM_INCLUDE})
target_compile_definitions(gangway-jit PRIVATE GANGWAY_LLVM_VERSION="${LLVM_VERSION}")
target_link_libraries(gangway-jit PRIVATE ptx util ${LLVM_ARCHIVES} ${STDCXX_ARCHIVE} ${Z_ARCHIVE} ${ZSTD_ARCHIVE} m)
target_link_options(gangway-jit PRIVATE -static-libgcc -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/plugin.map
  -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--gc-sections -Wl,-z,nodelete)
if(NOT GANGWAY_SANITIZE)
  target_link_options(gangway-jit PRIVATE -Wl,-z,defs)
endif()
set_target_properties(gangway-jit PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/plugin.map
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/gangway)
install(TARGETS gangway-jit LIBRARY DESTINATION lib/gangway)
