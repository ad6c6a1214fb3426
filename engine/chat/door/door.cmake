# Builds the door to llama.cpp's parsers of replies: a small library of its own beside libllama, from the objects that
# llama.cpp compiles of its folder `common` in any case and does not install. `ggml.cmake` of the kernels includes this
# file; the target is made at the end of the outermost folder, when all others are there.

function(outrider_add_door)
    if (NOT TARGET llama-common)
        message(FATAL_ERROR "This llama.cpp has no target llama-common: the door of Outrider does not fit it.")
    endif()
    # From an archive the linker takes the objects that the door needs, and of those only the functions: nothing that
    # downloads, and nothing that computes.
    if (NOT MSVC)
        target_compile_options(llama-common PRIVATE -ffunction-sections -fdata-sections)
    endif()
    add_library(outrider_common STATIC $<TARGET_OBJECTS:llama-common>)
    add_library(outrider_chat MODULE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/door.cpp")
    target_include_directories(outrider_chat PRIVATE $<TARGET_PROPERTY:llama-common,INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_features(outrider_chat PRIVATE cxx_std_17)
    target_link_libraries(outrider_chat PRIVATE outrider_common llama-common-base cpp-httplib llama ggml-base)
    if (APPLE)
        target_link_options(outrider_chat PRIVATE -Wl,-dead_strip -Wl,-dead_strip_dylibs)
    elseif (NOT MSVC)
        target_link_options(outrider_chat PRIVATE -Wl,--gc-sections -Wl,--as-needed -Wl,--exclude-libs,ALL)
    endif()
    set_target_properties(outrider_chat PROPERTIES
        CXX_VISIBILITY_PRESET hidden
        BUILD_WITH_INSTALL_RPATH TRUE
        INSTALL_RPATH "$<IF:$<BOOL:${APPLE}>,@loader_path,$ORIGIN>")
    install(TARGETS outrider_chat LIBRARY DESTINATION "${SKBUILD_PLATLIB_DIR}/llama_cpp/lib")
endfunction()

cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL outrider_add_door)
