# Sets page_shell to the source file that holds the page without data. Without node and npm the tool is built all the
# same, and its command html says what was missing.
find_program(NODE NAMES node nodejs)
find_program(NPM npm)
if(NODE AND NPM)
  file(GLOB_RECURSE page_inputs CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/src/*)
  set(page_shell ${CMAKE_CURRENT_BINARY_DIR}/page_shell.cpp)
  add_custom_command(OUTPUT ${page_shell} ${page_shell}.done
    COMMAND ${NODE} ${CMAKE_CURRENT_LIST_DIR}/build.mjs --npm ${NPM} --out ${page_shell}
    DEPENDS ${page_inputs} ${CMAKE_CURRENT_LIST_DIR}/build.mjs ${CMAKE_CURRENT_LIST_DIR}/package-lock.json
    COMMENT "Bundling the page" VERBATIM)
else()
  message(STATUS "node or npm is missing: heapledger html will say so (scripts/setup installs them)")
  set(page_shell ${CMAKE_CURRENT_LIST_DIR}/no_page_shell.cpp)
endif()
