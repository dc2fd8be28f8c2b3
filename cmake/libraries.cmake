# SPDX-License-Identifier: Apache-2.0
# Every library Varve uses is a package of Debian 12; tools/install-packages.sh installs them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(VARVE_PKG REQUIRED IMPORTED_TARGET
  libmicrohttpd yaml-0.1 jansson zlib libzstd liblz4 libxxhash libcurl libuv openssl)

find_library(ROCKSDB_LIBRARY rocksdb REQUIRED)
find_path(ROCKSDB_INCLUDE rocksdb/c.h REQUIRED)
find_library(ROARING_LIBRARY roaring REQUIRED)
find_path(ROARING_INCLUDE roaring/roaring.h REQUIRED)

add_library(varve_libraries INTERFACE)
target_include_directories(varve_libraries SYSTEM INTERFACE ${ROCKSDB_INCLUDE} ${ROARING_INCLUDE})
target_link_libraries(varve_libraries INTERFACE
  PkgConfig::VARVE_PKG ${ROCKSDB_LIBRARY} ${ROARING_LIBRARY} Threads::Threads m)
