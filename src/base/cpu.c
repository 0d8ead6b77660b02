// Which vector instructions this CPU has. Kernels are compiled several times, for the baseline of
// the architecture, for AVX2 and for AVX-512 (files named x_isa.c), and look here once to choose
// one.
//
// A set counts as present only if two things hold: CPUID reports each extension that the compiler
// may use under the flags of that set, and the operating system saves the registers on a context
// switch, which the XCR0 register tells. A CPU with AVX-512 under a kernel that does not save its
// registers would otherwise compute with another process's values.
//
// The environment variable LEAT_ISA ("base" or "avx2") lowers the answer, so that tests can run
// every version on one machine; it also turns the matrix unit (AMX) off. Answers are computed at
// the first call and kept. The number of CPUs and the sizes of caches are asked of the operating
// system, in posix/cpu_posix.c.
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

#if defined(__x86_64__)
#define CPUID_1_ECX (1u << 12 | 1u << 27 | 1u << 28 | 1u << 29)  // FMA, OSXSAVE, AVX, F16C
#define CPUID_7_EBX_AVX2 (1u << 3 | 1u << 5 | 1u << 8)             // BMI1, AVX2, BMI2
// F, DQ, CD, BW, VL
#define CPUID_7_EBX_AVX512 (1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31)
#define CPUID_7_EDX_AMX (1u << 22 | 1u << 24)  // products of bfloat16, tiles
#define XCR0_AMX 0x60000u                       // the layout of tiles, and their data
#define XCR0_AVX 0x6u      // SSE and AVX state
#define XCR0_AVX512 0xe6u  // and the mask, upper and high registers

static bool has_all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

static uint32_t read_xcr0(void) {
  uint32_t low, high;
  __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

typedef struct cpuid_s {
  uint32_t eax, ebx, ecx, edx;
} cpuid_t;

static cpuid_t read_cpuid(uint32_t leaf) {
  cpuid_t r;
  __asm__ __volatile__("cpuid"
                       : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
                       : "a"(leaf), "c"(0));
  return r;
}

static leat_isa_t detect_isa(void) {
  if (read_cpuid(0).eax < 7) return LEAT_ISA_BASE;
  if (!has_all(read_cpuid(1).ecx, CPUID_1_ECX)) return LEAT_ISA_BASE;
  uint32_t xcr0 = read_xcr0();
  if (!has_all(xcr0, XCR0_AVX)) return LEAT_ISA_BASE;
  uint32_t ebx = read_cpuid(7).ebx;
  if (!has_all(ebx, CPUID_7_EBX_AVX2)) return LEAT_ISA_BASE;
  bool avx512 = has_all(xcr0, XCR0_AVX512) && has_all(ebx, CPUID_7_EBX_AVX512);
  return avx512 ? LEAT_ISA_AVX512 : LEAT_ISA_AVX2;
}

static bool detect_matrix_unit(void) {
  return leat_cpu_isa() == LEAT_ISA_AVX512 && has_all(read_xcr0(), XCR0_AMX) &&
         has_all(read_cpuid(7).edx, CPUID_7_EDX_AMX);
}

// Leaves 0x80000002 to 4 hold the name, 16 bytes each.
static void read_name(char name[49]) {
  if (read_cpuid(0x80000000u).eax < 0x80000004u) return;
  for (uint32_t i = 0; i < 3; ++i) {
    cpuid_t r = read_cpuid(0x80000002u + i);
    memcpy(name + 16 * i, &(uint32_t[]){r.eax, r.ebx, r.ecx, r.edx}, 16);
  }
}
#else
static leat_isa_t detect_isa(void) { return LEAT_ISA_BASE; }
static bool detect_matrix_unit(void) { return false; }
static void read_name(char name[49]) {}
#endif

static leat_isa_t allowed_isa(void) {
  const char* wanted = getenv("LEAT_ISA");
  if (!wanted) return LEAT_ISA_AVX512;
  if (!strcmp(wanted, "base")) return LEAT_ISA_BASE;
  if (!strcmp(wanted, "avx2")) return LEAT_ISA_AVX2;
  return LEAT_ISA_AVX512;
}

leat_isa_t leat_cpu_isa(void) {
  static _Atomic int cached;  // the instruction set + 1; 0: not yet detected
  int isa = atomic_load_explicit(&cached, memory_order_relaxed);
  if (isa) return (leat_isa_t)(isa - 1);
  leat_isa_t supported = detect_isa();
  leat_isa_t allowed = allowed_isa();
  isa = (int)(supported < allowed ? supported : allowed);
  atomic_store_explicit(&cached, isa + 1, memory_order_relaxed);
  return (leat_isa_t)isa;
}

// Linux lets a process use the tile registers only after it has asked for them, since they add 8
// KiB to each thread's saved state; leat_host_permits_tiles() asks.
bool leat_cpu_has_matrix_unit(void) {
  static _Atomic int cached;  // 2: it has, 1: it has not, 0: not yet detected
  int found = atomic_load_explicit(&cached, memory_order_relaxed);
  if (found) return found > 1;
  bool has = !getenv("LEAT_ISA") && detect_matrix_unit() && leat_host_permits_tiles();
  atomic_store_explicit(&cached, 1 + has, memory_order_relaxed);
  return has;
}

const char* leat_isa_name(leat_isa_t isa) {
  return isa == LEAT_ISA_AVX512 ? "avx512" : isa == LEAT_ISA_AVX2 ? "avx2" : "base";
}

void leat_cpu_name(char* buffer, size_t size) {
  char name[49] = {0};
  read_name(name);
  size_t length = strlen(name);
  while (length > 0 && name[length - 1] == ' ') name[--length] = 0;
  const char* begin = name + strspn(name, " ");
  snprintf(buffer, size, "%s", *begin ? begin : "unknown");
}
