#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: header.sh INCLUDE-DIR. The public header compiles alone, as C and as C++.
. "$(dirname "$0")/../lib/cases.sh"
strict=(-I"$1" -Wall -Wextra -Werror -pedantic -fsyntax-only -include mapwright/mapwright.h)
check_with gcc the_header_compiles_alone_as_c99_with_gcc gcc "${strict[@]}" -std=c99 -x c /dev/null
check_with clang the_header_compiles_alone_as_c99_with_clang clang "${strict[@]}" -std=c99 -x c /dev/null
check_with g++ the_header_compiles_alone_as_cpp11_with_gcc g++ "${strict[@]}" -std=c++11 -x c++ /dev/null
check_with clang++ the_header_compiles_alone_as_cpp11_with_clang clang++ "${strict[@]}" -std=c++11 -x c++ /dev/null
finish
