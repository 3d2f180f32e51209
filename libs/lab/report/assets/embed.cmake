# SPDX-License-Identifier: Apache-2.0
# cmake -DASSETS=folder -DOUT=file.cc -P embed.cmake: the report's styles and script as C++ raw strings.
file(READ "${ASSETS}/report.css" css)
file(READ "${ASSETS}/report.js" js)
file(SHA256 "${ASSETS}/report.js" hash)
foreach(text IN ITEMS "${css}" "${js}")
  if(text MATCHES "</(style|script)" OR text MATCHES "\\)merlon\"")
    message(FATAL_ERROR "an asset of the report would end its own element")
  endif()
endforeach()
file(WRITE "${OUT}" "// Made from ${ASSETS} by the build.
#include \"assets.h\"
namespace merlon::lab::report {
const std::string_view kReportCss = R\"merlon(${css})merlon\";
const std::string_view kReportJs = R\"merlon(${js})merlon\";
const std::string_view kReportJsSha256 = \"${hash}\";
}  // namespace merlon::lab::report
")
