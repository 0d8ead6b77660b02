# leat_isa_objects(OUT sources...): compiles each source once per instruction set, with LEAT_ISA
# naming it (base, avx2, avx512), and sets OUT to the objects. base/cpu.h makes the names and
# chooses at run time. Files *_isa_avx2.c have nothing to gain from AVX-512. Files *_amx.c are
# compiled once, for the matrix unit where the compiler knows it, else empty.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(LEAT_ISAS base avx2 avx512)
else()
  set(LEAT_ISAS base)
endif()
# Where better ones exist the baseline is the fallback of old processors, and kept small.
list(LENGTH LEAT_ISAS count)
if(count GREATER 1 AND NOT LEAT_SANITIZE)
  set(LEAT_ISA_FLAGS_base -fvect-cost-model=very-cheap)
endif()
set(LEAT_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(LEAT_ISA_FLAGS_avx512 -march=skylake-avx512 -mprefer-vector-width=512)
set(LEAT_AMX_FLAGS ${LEAT_ISA_FLAGS_avx512} -mamx-tile -mamx-bf16)
include(CheckCCompilerFlag)
if("avx512" IN_LIST LEAT_ISAS)
  check_c_compiler_flag("-mamx-tile -mamx-bf16" LEAT_KNOWS_AMX)
endif()

function(leat_amx_sources)
  if(LEAT_KNOWS_AMX)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${LEAT_AMX_FLAGS}")
  endif()
endfunction()

function(leat_isa_objects out)
  set(objects "")
  # Loops become vectors wherever that pays; what must also be written out in full says so
  # (LEAT_UNROLL), for -O3 writes out every loop's remainder.
  if(NOT LEAT_SANITIZE)
    set(optimize -O2 -fvect-cost-model=dynamic)
  elseif(LEAT_FUZZ)
    # clang checks each access of a tile that it writes out: gemm_isa.c takes it 49 s of processor
    # at -O1, 4 s at -O0. A fuzz target multiplies small matrices, if any.
    set(optimize -O0)
  endif()
  if(ARGN)
    foreach(isa ${LEAT_ISAS})
      set(sources ${ARGN})
      if(isa STREQUAL avx512)
        list(FILTER sources EXCLUDE REGEX "_avx2\\.c$")
      endif()
      add_library(leat_isa_${isa} OBJECT ${sources})
      target_link_libraries(leat_isa_${isa} PRIVATE leat_flags)
      target_include_directories(leat_isa_${isa} PRIVATE
        ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
      target_compile_definitions(leat_isa_${isa} PRIVATE LEAT_ISA=${isa})
      target_compile_options(leat_isa_${isa} PRIVATE ${optimize} ${LEAT_ISA_FLAGS_${isa}})
      set_target_properties(leat_isa_${isa} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      list(APPEND objects $<TARGET_OBJECTS:leat_isa_${isa}>)
    endforeach()
  endif()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
