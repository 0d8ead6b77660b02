// What this processor can do, and how kernels for several instruction sets are compiled and chosen.
// Kernels are chosen at run time, so that one library serves every machine of an architecture. A
// file `x_isa.c` is compiled once per LEAT_ISA and names its symbols with LEAT_ISA_NAME(x);
// LEAT_ISA_SELECT(x) is the pointer to the best of them on this machine:
//
//   x_isa.c   const kernels_t LEAT_ISA_NAME(kernels) = {...};   // kernels_base, kernels_avx2, ...
//   x.c       LEAT_ISA_DECLARE(kernels_t, kernels);
//             LEAT_ISA_SELECT(kernels)->run(...);
//
// Loops that wait for memory stand in files `x_isa_avx2.c` and are chosen with
// LEAT_ISA_SELECT_AVX2(x), since AVX-512 would add nothing to them. Files `x_amx.c` use a unit that
// comes on top of AVX-512.
//
// The environment variable LEAT_ISA=base|avx2|avx512 lowers the choice, and tests run all of them.
// Any thread may call the functions; except for the name they cost a load after the first call.
#ifndef LEAT_BASE_CPU_H_
#define LEAT_BASE_CPU_H_

#include <stdbool.h>
#include <stddef.h>

// In rising order, so that `>=` means "at least". On other architectures than x86-64 there is only
// LEAT_ISA_BASE.
typedef enum leat_isa_e { LEAT_ISA_BASE = 0, LEAT_ISA_AVX2 = 1, LEAT_ISA_AVX512 = 2 } leat_isa_t;

// The best set that the processor and the system support and LEAT_ISA allows.
leat_isa_t leat_cpu_isa(void);
// Whether there is a unit that multiplies tiles of bfloat16 (AMX) and the system lets this process
// use it; never where LEAT_ISA lowers the choice. The first call asks the system. Cached.
bool leat_cpu_has_matrix_unit(void);
// CPUs that the process may use, by its affinity and its control group's quota; at least 1.
int leat_cpu_count(void);
// Sizes of a core's data caches, for reports; 32 KiB and 256 KiB where the system does not say.
size_t leat_cpu_l1_bytes(void);
size_t leat_cpu_l2_bytes(void);
// "base", "avx2" or "avx512"; static.
const char* leat_isa_name(leat_isa_t isa);
// What the maker calls it, NUL-terminated and cut off at |size| (> 0); "unknown" where it does not
// say.
void leat_cpu_name(char* buffer, size_t size);

#define LEAT_ISA_JOIN_(x, isa) x##_##isa
#define LEAT_ISA_JOIN(x, isa) LEAT_ISA_JOIN_(x, isa)
// Inside a *_isa.c file: x_base, x_avx2 or x_avx512.
#define LEAT_ISA_NAME(x) LEAT_ISA_JOIN(x, LEAT_ISA)

// Before a loop over lanes or registers, of a constant number of turns: it is written out in full,
// but where the code is the fallback of old processors and kept small.
#if defined(__x86_64__) && !defined(__AVX2__)
#define LEAT_UNROLL
#else
#define LEAT_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__x86_64__)
#define LEAT_ISA_DECLARE(type, x) extern const type x##_base, x##_avx2, x##_avx512
#define LEAT_ISA_SELECT(x)                            \
  (leat_cpu_isa() == LEAT_ISA_AVX512 ? &x##_avx512    \
   : leat_cpu_isa() == LEAT_ISA_AVX2 ? &x##_avx2      \
                                     : &x##_base)
#define LEAT_ISA_SELECT_AVX2(x) (leat_cpu_isa() >= LEAT_ISA_AVX2 ? &x##_avx2 : &x##_base)
#else
#define LEAT_ISA_DECLARE(type, x) extern const type x##_base
#define LEAT_ISA_SELECT(x) (&x##_base)
#define LEAT_ISA_SELECT_AVX2(x) (&x##_base)
#endif

#endif  // LEAT_BASE_CPU_H_
