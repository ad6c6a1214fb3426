# Puts the kernels of this folder into llama.cpp's processor library. CMake reads this file after `project("ggml")` when
# it is named in CMAKE_PROJECT_ggml_INCLUDE; the sources of llama.cpp stay as they are.
#
# `mul_mat.cpp` takes the places of three functions of ggml-cpu/tiled/tiled.cpp; those get other names there, under
# which `mul_mat.cpp` calls them for what it leaves to them. It also decides whether weights are repacked at loading. The
# files `products_*.cpp` are the products of the formats: several, so that they can be compiled side by side.
# `attention.cpp` takes the place of flash attention of ggml-cpu/ops.cpp in the same way.

# llama.cpp's path for AMX dies of SIGILL in `tilezero` on processors that have it, and takes the weights that ours pack.
# The option stands behind -march=native and behind those of llama.cpp's own variants, so it has the last word.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mno-amx-tile OUTRIDER_KNOWS_AMX)
function(outrider_without_amx target)
    if (OUTRIDER_KNOWS_AMX)
        target_compile_options(${target} PRIVATE -mno-amx-tile -mno-amx-int8 -mno-amx-bf16)
    endif()
endfunction()

# Only where the calls of GNU's compiler go to GNU's OpenMP library, and Linux lets threads sleep (futex).
function(outrider_with_barrier target)
    get_target_property(definitions ${target} COMPILE_DEFINITIONS)
    if (CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND "GGML_USE_OPENMP" IN_LIST definitions)
        target_sources(${target} PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/barrier.cpp")
        target_link_options(${target} PRIVATE -Wl,--wrap=GOMP_parallel,--wrap=GOMP_barrier)
    endif()
endfunction()

function(outrider_add_kernels)
    set(source_dir "${PROJECT_SOURCE_DIR}/src")
    set(tiled "${source_dir}/ggml-cpu/tiled/tiled.cpp")
    if (NOT EXISTS "${tiled}")
        message(FATAL_ERROR "This llama.cpp has no ${tiled}: the kernels of Outrider do not fit it.")
    endif()
    set_property(SOURCE "${tiled}" DIRECTORY "${source_dir}" APPEND PROPERTY COMPILE_DEFINITIONS
        ggml_tiled_wdata_size=ggml_stock_tiled_wdata_size
        ggml_compute_forward_mul_mat_tiled=ggml_stock_mul_mat_tiled
        ggml_compute_forward_mul_mat_id_tiled=ggml_stock_mul_mat_id_tiled)
    set_property(SOURCE "${source_dir}/ggml-cpu/ggml-cpu.cpp" DIRECTORY "${source_dir}" APPEND PROPERTY COMPILE_DEFINITIONS
        ggml_backend_cpu_repack_buffer_type=ggml_offered_repack_buffer_type)
    set_property(SOURCE "${source_dir}/ggml-cpu/ops.cpp" DIRECTORY "${source_dir}" APPEND PROPERTY COMPILE_DEFINITIONS
        ggml_compute_forward_flash_attn_ext=ggml_stock_flash_attn_ext)
    get_property(targets DIRECTORY "${source_dir}" PROPERTY BUILDSYSTEM_TARGETS)
    set(found FALSE)
    foreach(target IN LISTS targets)
        get_target_property(sources ${target} SOURCES)
        if ("${sources}" MATCHES "ggml-cpu/tiled/tiled.cpp")
            # Those that take longest to compile come first.
            foreach(part IN ITEMS products_k_quants.cpp products_packed.cpp products_grids.cpp products_scaled_blocks.cpp
                                  products_eight_bits.cpp products_small_blocks.cpp products_floats.cpp
                                  attention.cpp mul_mat.cpp packing.cpp rows.cpp draw.cpp)
                target_sources(${target} PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${part}")
            endforeach()
            outrider_without_amx(${target})
            outrider_with_barrier(${target})
            set(found TRUE)
        endif()
    endforeach()
    if (NOT found)
        message(FATAL_ERROR "This llama.cpp has no processor library that the kernels of Outrider fit.")
    endif()
endfunction()

# At the end of ggml's own directory, when its targets are there.
cmake_language(DEFER CALL outrider_add_kernels)

# A library of its own, beside those of ggml and llama.cpp. Not for ggml alone, as tests/kernels builds it.
option(OUTRIDER_DOOR "Build the door to llama.cpp's parsers of replies" ON)
if (OUTRIDER_DOOR)
    include("${CMAKE_CURRENT_LIST_DIR}/../../../chat/door/door.cmake")
endif()
