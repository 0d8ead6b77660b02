// What one core of this machine can do, the limit that kernels are measured against: fp32 fused
// multiply-adds in registers, and bytes read from and copied in memory larger than any cache.
// Kernels are judged as a share of these figures, because times of different machines cannot be
// compared. The multiply-adds are compiled for each vector width and the widest that the processor
// has is run. Each figure is the best of several tries, since everything else on the machine can
// only make it worse. Prints one line: gflops N read_gbs N copy_gbs N.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHAINS = 10, ROUNDS = 2000000, TRIES = 5 };
static const size_t BUFFER_BYTES = (size_t)256 << 20;

typedef uint64_t words_t __attribute__((vector_size(64)));

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Ten independent chains hide the latency of the multiply-add. They are named variables, because an
// array of vectors goes through memory.
#define STEP(s)  \
  s = s * a + b; \
  __asm__ volatile("" : "+v"(s))
#define DEFINE_FMA(name, target_options, lane_count)                                           \
  __attribute__((target_options)) static double name(void) {                                   \
    typedef float v_t __attribute__((vector_size((lane_count) * sizeof(float))));              \
    v_t a = (v_t){0} + 0.999f, b = (v_t){0} + 1e-3f;                                           \
    v_t s0 = a, s1 = a, s2 = a, s3 = a, s4 = a, s5 = a, s6 = a, s7 = a, s8 = a, s9 = a;        \
    double start = now_s();                                                                    \
    for (int r = 0; r < ROUNDS; r++) {                                                         \
      STEP(s0); STEP(s1); STEP(s2); STEP(s3); STEP(s4);                                        \
      STEP(s5); STEP(s6); STEP(s7); STEP(s8); STEP(s9);                                        \
    }                                                                                          \
    return 2.0 * (lane_count) * CHAINS * (double)ROUNDS / (now_s() - start) * 1e-9;            \
  }

#if defined(__x86_64__)
DEFINE_FMA(fma_avx512, target("avx512f,fma,prefer-vector-width=512"), 16)
DEFINE_FMA(fma_avx2, target("avx2,fma"), 8)
DEFINE_FMA(fma_base, target("sse2"), 4)
static double fma_gflops(void) {
  if (__builtin_cpu_supports("avx512f")) return fma_avx512();
  return __builtin_cpu_supports("fma") ? fma_avx2() : fma_base();
}
#else
static double fma_gflops(void) {
  float sum[CHAINS * 4] = {0};
  double start = now_s();
  for (int r = 0; r < ROUNDS; r++) {
    for (int c = 0; c < CHAINS * 4; c++) sum[c] = __builtin_fmaf(sum[c], 0.999f, 1e-3f);
    __asm__ volatile("" : : "r"(sum) : "memory");
  }
  return 2.0 * CHAINS * 4 * (double)ROUNDS / (now_s() - start) * 1e-9;
}
#endif

static double read_gbs(const words_t* data) {
  words_t sum[4] = {{0}};
  size_t count = BUFFER_BYTES / sizeof(words_t);
  double start = now_s();
  for (size_t i = 0; i < count; i += 4) {
    for (int k = 0; k < 4; k++) sum[k] += data[i + (size_t)k];
  }
  double seconds = now_s() - start;
  volatile uint64_t sink = (sum[0] + sum[1] + sum[2] + sum[3])[0];
  (void)sink;
  return (double)BUFFER_BYTES / seconds * 1e-9;
}

static double copy_gbs(char* to, const char* from) {
  double start = now_s();
  memcpy(to, from, BUFFER_BYTES);
  return 2.0 * (double)BUFFER_BYTES / (now_s() - start) * 1e-9;
}

int main(void) {
  char* from = aligned_alloc(64, BUFFER_BYTES);
  char* to = aligned_alloc(64, BUFFER_BYTES);
  if (!from || !to) return 1;
  memset(from, 1, BUFFER_BYTES);
  memset(to, 2, BUFFER_BYTES);
  double best[3] = {0, 0, 0};
  for (int i = 0; i < TRIES; i++) {
    double found[3] = {fma_gflops(), read_gbs((const words_t*)from), copy_gbs(to, from)};
    for (int k = 0; k < 3; k++) best[k] = found[k] > best[k] ? found[k] : best[k];
  }
  printf("gflops %.1f read_gbs %.1f copy_gbs %.1f\n", best[0], best[1], best[2]);
  free(from);
  free(to);
  return 0;
}
