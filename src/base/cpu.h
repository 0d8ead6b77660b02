// What this processor can do. Kernels are compiled for several instruction sets and chosen here,
// at run time: a file `x_isa.c` is compiled once per LEAT_ISA and names its symbols with
// LEAT_ISA_NAME(x); LEAT_ISA_SELECT(x) is the pointer to the best of them on this machine. Loops
// that wait for memory stand in files `x_isa_avx2.c` and are chosen with LEAT_ISA_SELECT_AVX2(x):
// AVX-512 would add nothing.
// The environment variable LEAT_ISA=base|avx2|avx512 lowers the choice (tests run all of them);
// files `x_amx.c` use a unit that comes on top of AVX-512.
#ifndef LEAT_BASE_CPU_H_
#define LEAT_BASE_CPU_H_

#include <stdbool.h>
#include <stddef.h>

typedef enum leat_isa_e { LEAT_ISA_BASE = 0, LEAT_ISA_AVX2 = 1, LEAT_ISA_AVX512 = 2 } leat_isa_t;

leat_isa_t leat_cpu_isa(void);        // best allowed and supported; cached
// Whether there is a unit that multiplies tiles of bfloat16 (AMX) and the system lets this process
// use it; never where LEAT_ISA lowers the choice. The first call asks the system. Cached.
bool leat_cpu_has_matrix_unit(void);
int leat_cpu_count(void);             // CPUs that the process may use (affinity, cgroup); >= 1
size_t leat_cpu_l1_bytes(void);       // data cache, per core
size_t leat_cpu_l2_bytes(void);
const char* leat_isa_name(leat_isa_t isa);  // "base", "avx2", "avx512"
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
