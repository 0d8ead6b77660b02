// Instruction sets by CPUID, and only those whose registers the operating system saves (XCR0).
// Counting CPUs and cache sizes is the operating system's business: posix/cpu_posix.c.
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

#define XCR0_AVX 0x6u      // SSE and AVX state
#define XCR0_AVX512 0xe6u  // and the mask, upper and high registers

static bool has_all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

static uint32_t read_xcr0(void) {
  uint32_t low, high;
  __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static leat_isa_t detect_isa(void) {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return LEAT_ISA_BASE;
  if (!has_all(c, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C)) return LEAT_ISA_BASE;
  uint32_t xcr0 = read_xcr0();
  if (!has_all(xcr0, XCR0_AVX)) return LEAT_ISA_BASE;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return LEAT_ISA_BASE;
  if (!has_all(b, bit_AVX2 | bit_BMI | bit_BMI2)) return LEAT_ISA_BASE;
  uint32_t avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_AVX512CD;
  return has_all(xcr0, XCR0_AVX512) && has_all(b, avx512) ? LEAT_ISA_AVX512 : LEAT_ISA_AVX2;
}
#else
static leat_isa_t detect_isa(void) { return LEAT_ISA_BASE; }
#endif

static leat_isa_t allowed_isa(void) {
  const char* wanted = getenv("LEAT_ISA");
  if (!wanted) return LEAT_ISA_AVX512;
  if (!strcmp(wanted, "base")) return LEAT_ISA_BASE;
  if (!strcmp(wanted, "avx2")) return LEAT_ISA_AVX2;
  return LEAT_ISA_AVX512;
}

leat_isa_t leat_cpu_isa(void) {
  static _Atomic int cached;  // the set + 1
  int isa = atomic_load_explicit(&cached, memory_order_relaxed);
  if (isa) return (leat_isa_t)(isa - 1);
  leat_isa_t supported = detect_isa();
  leat_isa_t allowed = allowed_isa();
  isa = (int)(supported < allowed ? supported : allowed);
  atomic_store_explicit(&cached, isa + 1, memory_order_relaxed);
  return (leat_isa_t)isa;
}
