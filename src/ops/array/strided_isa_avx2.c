// The inner loops of strided copies (strided_isa.h): runs of bytes, single elements, transposed
// planes. The file is compiled for the base instruction set and for AVX2 only, because the loops
// wait for memory and wider vectors would gain nothing.
//
// A transposition works on square blocks as wide as a cache line, so that every line that is read
// or written is used whole while it is in the cache. Element by element, a stride of a power of two
// would let the lines of one column fall on few sets of the cache, and evict them before they are
// used. A block consists of smaller ones that fit the registers, and these are transposed by
// log2(n) rounds that interleave pairs of vectors:
//
//   a0 a1        a0 b0      One round of two 2-vectors: the low halves are interleaved into the
//   b0 b1   ->   a1 b1      first result, the high halves into the second.
#include "ops/array/strided_isa.h"

#include <string.h>

typedef uint64_t wide_t __attribute__((vector_size(16)));

// ---- Runs ---------------------------------------------------------------------------------------

// One case of runs(): with a constant number of bytes the compiler makes a move or two of memcpy.
#define COPY_FIXED(bytes)                                                      \
  case bytes:                                                                  \
    for (int64_t i = 0; i < p->count; ++i) {                                   \
      memcpy(to + i * p->to_step, from + i * p->from_step, bytes);             \
    }                                                                          \
    return

// Copies a run of more than 16 and at most 64 bytes in two moves that may overlap. All is read
// before anything is written.
static inline void copy_medium(char* to, const char* from, int64_t bytes) {
  if (bytes <= 32) {
    char head[16], tail[16];
    memcpy(head, from, 16);
    memcpy(tail, from + bytes - 16, 16);
    memcpy(to, head, 16);
    memcpy(to + bytes - 16, tail, 16);
    return;
  }
  char head[32], tail[32];
  memcpy(head, from, 32);
  memcpy(tail, from + bytes - 32, 32);
  memcpy(to, head, 32);
  memcpy(to + bytes - 32, tail, 32);
}

static void runs(const leat_strided_plane_t* p, const char* from, char* to) {
  switch (p->inner) {
    COPY_FIXED(1);
    COPY_FIXED(2);
    COPY_FIXED(3);
    COPY_FIXED(4);
    COPY_FIXED(6);
    COPY_FIXED(8);
    COPY_FIXED(12);
    COPY_FIXED(16);
    COPY_FIXED(32);
    COPY_FIXED(64);
    default: break;
  }
  if (p->inner > 16 && p->inner < 64) {
    for (int64_t i = 0; i < p->count; ++i) {
      copy_medium(to + i * p->to_step, from + i * p->from_step, p->inner);
    }
    return;
  }
  for (int64_t i = 0; i < p->count; ++i) {
    memcpy(to + i * p->to_step, from + i * p->from_step, (size_t)p->inner);
  }
}

// ---- Elements -----------------------------------------------------------------------------------

// Elements of each size as they lie in memory, at any address.
typedef uint8_t unaligned_1_t __attribute__((aligned(1), may_alias));
typedef uint16_t unaligned_2_t __attribute__((aligned(1), may_alias));
typedef uint32_t unaligned_4_t __attribute__((aligned(1), may_alias));
typedef uint64_t unaligned_8_t __attribute__((aligned(1), may_alias));
typedef wide_t unaligned_16_t __attribute__((aligned(1), may_alias));

#define T unaligned_1_t
#define NUMBER uint8_t
#define FN(name) name##_1
#include "ops/array/strided_elements.inc"

#define T unaligned_2_t
#define NUMBER uint16_t
#define FN(name) name##_2
#include "ops/array/strided_elements.inc"

#define T unaligned_4_t
#define NUMBER uint32_t
#define FN(name) name##_4
#include "ops/array/strided_elements.inc"

#define T unaligned_8_t
#define NUMBER uint64_t
#define FN(name) name##_8
#include "ops/array/strided_elements.inc"

#define T unaligned_16_t
#define NUMBER wide_t
#define FN(name) name##_16
#include "ops/array/strided_elements.inc"

// ---- Transposition in registers -----------------------------------------------------------------

typedef uint8_t bytes16_t __attribute__((vector_size(16)));
typedef uint16_t halves8_t __attribute__((vector_size(16)));
typedef uint32_t words8_t __attribute__((vector_size(32)));
typedef uint64_t longs4_t __attribute__((vector_size(32)));

#define LOAD(vector, at) \
  ({                     \
    vector v_;           \
    memcpy(&v_, (at), sizeof v_); \
    v_;                  \
  })
#define STORE(at, v) memcpy((at), &(v), sizeof(v))

// Transposes 16 rows of 16 bytes: |from| rows are |from_step| elements apart, |to| rows |to_step|.
// The functions turn_2 to turn_16 do the same for larger elements and fewer rows.
static inline void turn_1(const char* from, int64_t from_step, char* to, int64_t to_step) {
  bytes16_t a[16], b[16];
  LEAT_UNROLL for (int i = 0; i < 16; ++i) a[i] = LOAD(bytes16_t, from + i * from_step);
  LEAT_UNROLL for (int round = 0; round < 4; ++round) {
    LEAT_UNROLL for (int i = 0; i < 8; ++i) {
      b[2 * i] = __builtin_shufflevector(a[i], a[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                         6, 22, 7, 23);
      b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                             13, 29, 14, 30, 15, 31);
    }
    memcpy(a, b, sizeof a);
  }
  LEAT_UNROLL for (int i = 0; i < 16; ++i) STORE(to + i * to_step, a[i]);
}

static inline void turn_2(const char* from, int64_t from_step, char* to, int64_t to_step) {
  halves8_t a[8], b[8];
  LEAT_UNROLL for (int i = 0; i < 8; ++i) a[i] = LOAD(halves8_t, from + 2 * i * from_step);
  LEAT_UNROLL for (int round = 0; round < 3; ++round) {
    LEAT_UNROLL for (int i = 0; i < 4; ++i) {
      b[2 * i] = __builtin_shufflevector(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    memcpy(a, b, sizeof a);
  }
  LEAT_UNROLL for (int i = 0; i < 8; ++i) STORE(to + 2 * i * to_step, a[i]);
}

// Transposes 8 rows of 8 elements. AVX2 shuffles within 128-bit halves cheaply, so that the first
// two rounds do that, and the last one lets the halves change places.
static inline void turn_4(const char* from, int64_t from_step, char* to, int64_t to_step) {
  words8_t a[8], b[8];
  LEAT_UNROLL for (int i = 0; i < 8; ++i) a[i] = LOAD(words8_t, from + 4 * i * from_step);
  LEAT_UNROLL for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  LEAT_UNROLL for (int i = 0; i < 8; i += 4) {
    a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    a[i + 2] = __builtin_shufflevector(b[i + 1], b[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 3] = __builtin_shufflevector(b[i + 1], b[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  LEAT_UNROLL for (int i = 0; i < 4; ++i) {
    b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  LEAT_UNROLL for (int i = 0; i < 8; ++i) STORE(to + 4 * i * to_step, b[i]);
}

static inline void turn_8(const char* from, int64_t from_step, char* to, int64_t to_step) {
  longs4_t a[4], b[4];
  LEAT_UNROLL for (int i = 0; i < 4; ++i) a[i] = LOAD(longs4_t, from + 8 * i * from_step);
  LEAT_UNROLL for (int i = 0; i < 4; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 2, 6);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 5, 3, 7);
  }
  LEAT_UNROLL for (int i = 0; i < 2; ++i) {
    a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 4, 5);
    a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 6, 7);
  }
  LEAT_UNROLL for (int i = 0; i < 4; ++i) STORE(to + 8 * i * to_step, a[i]);
}

static inline void turn_16(const char* from, int64_t from_step, char* to, int64_t to_step) {
  LEAT_UNROLL for (int i = 0; i < 4; ++i) {
    LEAT_UNROLL for (int k = 0; k < 4; ++k) {
      memcpy(to + 16 * (k * to_step + i), from + 16 * (i * from_step + k), 16);
    }
  }
}

// ---- Transposition of a plane -------------------------------------------------------------------

// How many columns of the target are done before its next rows are begun. The source lines that so
// many columns touch fit the cache, and rows of the target are still written in long pieces.
#define BAND_COLUMNS 256

#define T unaligned_1_t
#define FN(name) name##_1
#define SIDE 16
#define LINE 64
#include "ops/array/strided_transposed.inc"

#define T unaligned_2_t
#define FN(name) name##_2
#define SIDE 8
#define LINE 32
#include "ops/array/strided_transposed.inc"

#define T unaligned_4_t
#define FN(name) name##_4
#define SIDE 8
#define LINE 16
#include "ops/array/strided_transposed.inc"

#define T unaligned_8_t
#define FN(name) name##_8
#define SIDE 4
#define LINE 8
#include "ops/array/strided_transposed.inc"

#define T unaligned_16_t
#define FN(name) name##_16
#define SIDE 4
#define LINE 4
#include "ops/array/strided_transposed.inc"

const leat_strided_loops_t LEAT_ISA_NAME(leat_strided_loops) = {
    .runs = runs,
    .elements = {elements_1, elements_2, elements_4, elements_8, elements_16},
    .transposed = {transposed_1, transposed_2, transposed_4, transposed_8, transposed_16},
};
