// How the processor's floating-point unit behaves while kernels run: rounds to the nearest, traps
// nothing, and takes and gives numbers that are too small for the usual form (denormals) as zeros.
// TensorFlow's kernels run so, and arithmetic on denormals takes up to a hundred times as long.
// LEAT_GRADUAL_UNDERFLOW=1 in the environment keeps denormals.
//
// The mode belongs to a thread. The library sets it where a thread begins to work for a step, and
// puts back what it found when that thread returns to its caller, so that a program never sees a
// change of its rounding, its traps or its exception flags:
//
//   leat_float_mode_t before = leat_float_mode_enter();
//   run_kernels();
//   leat_float_mode_leave(before);
//
// On processors that are not listed below nothing is changed.
#ifndef LEAT_BASE_FLOAT_MODE_H_
#define LEAT_BASE_FLOAT_MODE_H_

#include <stdint.h>

// The control word of the thread's floating-point unit.
typedef struct leat_float_mode_s {
  uint64_t word;
} leat_float_mode_t;

// The word with which kernels run. The environment is read once.
uint64_t leat_float_mode_of_kernels(void);

#if defined(__x86_64__)
static inline uint64_t leat_float_mode_read(void) { return __builtin_ia32_stmxcsr(); }
static inline void leat_float_mode_write(uint64_t word) {
  __builtin_ia32_ldmxcsr((unsigned int)word);
}
#elif defined(__aarch64__)
static inline uint64_t leat_float_mode_read(void) {
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return word;
}
static inline void leat_float_mode_write(uint64_t word) {
  __asm__ volatile("msr fpcr, %0" : : "r"(word));
}
#else
static inline uint64_t leat_float_mode_read(void) { return 0; }
static inline void leat_float_mode_write(uint64_t word) {}
#endif

// Sets the mode of kernels and returns the one before.
static inline leat_float_mode_t leat_float_mode_enter(void) {
  const leat_float_mode_t before = {leat_float_mode_read()};
  leat_float_mode_write(leat_float_mode_of_kernels());
  return before;
}

static inline void leat_float_mode_leave(leat_float_mode_t before) {
  leat_float_mode_write(before.word);
}

#endif  // LEAT_BASE_FLOAT_MODE_H_
