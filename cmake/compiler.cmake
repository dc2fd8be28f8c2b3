# SPDX-License-Identifier: Apache-2.0
# Warnings, hardening and sanitizers, for every target of the project.
add_library(varve_options INTERFACE)
target_compile_definitions(varve_options INTERFACE _GNU_SOURCE)
target_compile_options(varve_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wvla -Wformat=2 -fno-strict-aliasing -fno-omit-frame-pointer)
if(VARVE_WERROR)
  target_compile_options(varve_options INTERFACE -Werror)
endif()

if(VARVE_SANITIZE STREQUAL "address")
  target_compile_options(varve_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(varve_options INTERFACE -fsanitize=address,undefined)
elseif(VARVE_SANITIZE STREQUAL "thread")
  target_compile_options(varve_options INTERFACE -fsanitize=thread)
  target_link_options(varve_options INTERFACE -fsanitize=thread)
elseif(VARVE_SANITIZE)
  message(FATAL_ERROR "VARVE_SANITIZE must be address, thread or empty, not '${VARVE_SANITIZE}'")
else()
  target_compile_options(varve_options INTERFACE -fstack-protector-strong)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(varve_options INTERFACE _FORTIFY_SOURCE=2)
  endif()
endif()
if(VARVE_FUZZ)
  target_compile_options(varve_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
