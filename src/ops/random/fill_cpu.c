// Fills arrays with random numbers from a Philox generator, on the step's pool. The kernels of the
// stateful ops (distribution_cpu.c) and of the stateless ones (stateless_cpu.c) call
// leat_random_fill.
//
// A group is four 32-bit words, and Philox computes group g directly from the counter plus g. So
// any thread can make any part of an array, and the result does not depend on the number of
// threads. Work goes by blocks of 128 groups: the words of a block lie in the first-level cache
// when the distribution reads them.
//
//   counter ─philox, vectors─▶ words[512] ─distribution─▶ numbers of the block
//
// The numbers have TensorFlow's bits, as far as a vector library allows: uniform numbers are exact,
// and normal numbers (Box-Muller) may differ in the last bit of a float. A truncated normal number
// must be kept or dropped exactly where TensorFlow keeps or drops it, since all numbers after it in
// its group depend on that. Hence a number close to the bound is computed again with the C library.
#include "ops/random/fill_cpu.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "device/cpu/vector_math.h"
#include "ops/random/philox_vectors.h"

#define BLOCK_GROUPS 128
#define BLOCK_WORDS (BLOCK_GROUPS * 4)

// Writes the numbers of |groups| groups, at most BLOCK_GROUPS, to |out|. |philox| is at the first
// group.
typedef void (*block_fn_t)(const leat_random_fill_t* fill, const leat_philox_t* philox,
                           int64_t groups, void* out);

// ---- Numbers one at a time ----------------------------------------------------------------------

static float uniform_float(uint32_t word) { return (float)(word & 0x7fffff) * 0x1p-23f; }

double leat_random_uniform_double(uint32_t high, uint32_t low) {
  return (double)((uint64_t)(high & 0xfffff) << 32 | low) * 0x1p-52;
}

void leat_random_pair_float(const uint32_t words[2], float out_pair[2]) {
  float u = uniform_float(words[0]);
  float angle = (float)(2 * M_PI * (double)uniform_float(words[1]));
  float radius = sqrtf(-2.0f * logf(u < 1e-7f ? 1e-7f : u));
  out_pair[0] = sinf(angle) * radius;
  out_pair[1] = cosf(angle) * radius;
}

void leat_random_pair_double(const uint32_t words[4], double out_pair[2]) {
  double u = leat_random_uniform_double(words[0], words[1]);
  double angle = 2 * M_PI * leat_random_uniform_double(words[2], words[3]);
  double radius = sqrt(-2.0 * log(u < 1e-7 ? 1e-7 : u));
  out_pair[0] = sin(angle) * radius;
  out_pair[1] = cos(angle) * radius;
}

// ---- Uniform ------------------------------------------------------------------------------------

static void uniform_FLOAT(const leat_random_fill_t* fill, const leat_philox_t* philox,
                          int64_t groups, void* out) {
  uint32_t words[BLOCK_WORDS];
  leat_philox_vectors()->words(philox, 1, groups, words);
  leat_philox_vectors()->uniform_f32(words, out, groups * 4);
}

static void uniform_DOUBLE(const leat_random_fill_t* fill, const leat_philox_t* philox,
                           int64_t groups, void* out) {
  uint32_t words[BLOCK_WORDS];
  leat_philox_vectors()->words(philox, 1, groups, words);
  leat_philox_vectors()->uniform_f64(words, out, groups * 2);
}

static void uniform_HALF(const leat_random_fill_t* fill, const leat_philox_t* philox,
                         int64_t groups, void* out) {
  uint32_t words[BLOCK_WORDS];
  leat_philox_vectors()->words(philox, 1, groups, words);
  for (int64_t i = 0; i < groups * 4; ++i) {
    ((uint16_t*)out)[i] = leat_half_from_float((float)(words[i] & 0x3ff) * 0x1p-10f);
  }
}

static void uniform_BFLOAT16(const leat_random_fill_t* fill, const leat_philox_t* philox,
                             int64_t groups, void* out) {
  uint32_t words[BLOCK_WORDS];
  leat_philox_vectors()->words(philox, 1, groups, words);
  for (int64_t i = 0; i < groups * 4; ++i) {
    ((uint16_t*)out)[i] = leat_bfloat16_from_float((float)(words[i] & 0x7f) * 0x1p-7f);
  }
}

// ---- Integers -----------------------------------------------------------------------------------

// Any 32 or 64 bits are an integer.
static void bits(const leat_random_fill_t* fill, const leat_philox_t* philox, int64_t groups,
                 void* out) {
  leat_philox_vectors()->words(philox, 1, groups, out);
}

static void integer_32(const leat_random_fill_t* fill, const leat_philox_t* philox, int64_t groups,
                       void* out) {
  uint32_t words[BLOCK_WORDS];
  leat_philox_vectors()->words(philox, 1, groups, words);
  leat_philox_vectors()->integer_32(words, (int32_t)fill->low, (uint32_t)fill->range, out,
                                    groups * 4);
}

static void integer_64(const leat_random_fill_t* fill, const leat_philox_t* philox, int64_t groups,
                       void* out) {
  uint32_t words[BLOCK_WORDS];
  leat_philox_vectors()->words(philox, 1, groups, words);
  for (int64_t i = 0; i < groups * 2; ++i) {
    uint64_t word = (uint64_t)words[2 * i + 1] << 32 | words[2 * i];
    ((int64_t*)out)[i] = (int64_t)((uint64_t)fill->low + word % fill->range);
  }
}

// ---- Normal -------------------------------------------------------------------------------------

// Writes |count| normal numbers, which must be even, made from as many words (Box-Muller).
static void normal_floats(const uint32_t* words, float* out, int64_t count) {
  float radii[BLOCK_WORDS / 2], angles[BLOCK_WORDS / 2], cosines[BLOCK_WORDS / 2];
  const leat_vector_math_t* math = leat_vector_math();
  leat_philox_vectors()->polar_f32(words, radii, angles, count / 2);
  math->cos_f32(angles, cosines, count / 2);
  math->sin_f32(angles, angles, count / 2);
  leat_philox_vectors()->pairs_f32(radii, angles, cosines, out, count / 2);
}

static void normal_FLOAT(const leat_random_fill_t* fill, const leat_philox_t* philox,
                         int64_t groups, void* out) {
  uint32_t words[BLOCK_WORDS];
  leat_philox_vectors()->words(philox, 1, groups, words);
  normal_floats(words, out, groups * 4);
}

static void normal_DOUBLE(const leat_random_fill_t* fill, const leat_philox_t* philox,
                          int64_t groups, void* out) {
  uint32_t words[BLOCK_WORDS];
  leat_philox_vectors()->words(philox, 1, groups, words);
  for (int64_t i = 0; i < groups; ++i) {
    leat_random_pair_double(words + 4 * i, (double*)out + 2 * i);
  }
}

// ---- Truncated normal ---------------------------------------------------------------------------

// A number closer than MARGIN to the bound of two deviations is computed again with the functions
// of the C library, so that it is kept or dropped as TensorFlow does.
#define BOUND 2.0f
#define MARGIN 1e-5f

// Makes one group with the C library alone: draws until four numbers lie within the bound.
static void truncated_group_float(leat_philox_t philox, float out[4]) {
  int count = 0;
  while (true) {
    uint32_t words[4];
    leat_philox_next(&philox, words);
    for (int i = 0; i < 4; i += 2) {
      float pair[2];
      leat_random_pair_float(words + i, pair);
      for (int k = 0; k < 2; ++k) {
        if (!(fabsf(pair[k]) < BOUND)) continue;
        out[count++] = pair[k];
        if (count == 4) return;
      }
    }
  }
}

// Appends those of |tries| that lie within the bound to |out|, a group that has |count| numbers,
// and gives the new count; -1 when a number is too close to the bound for these float functions to
// tell.
static int keep_within(const float tries[4], int count, float out[4]) {
  for (int i = 0; i < 4 && count < 4; ++i) {
    float size = fabsf(tries[i]);
    if (LEAT_UNLIKELY(fabsf(size - BOUND) < MARGIN)) return -1;
    if (size < BOUND) out[count++] = tries[i];
  }
  return count;
}

// Makes the first tries of all groups at once. Groups that lack numbers after that (one in six) get
// a second try, all at once again. What is still not complete then goes one group at a time.
static void truncated_FLOAT(const leat_random_fill_t* fill, const leat_philox_t* philox,
                            int64_t groups, void* out) {
  uint32_t words[BLOCK_WORDS];
  float tries[BLOCK_WORDS];
  uint8_t lacking[BLOCK_GROUPS];
  int8_t kept[BLOCK_GROUPS];
  int lacking_count = 0;
  leat_philox_vectors()->words(philox, LEAT_RANDOM_RESERVED, groups, words);
  normal_floats(words, tries, groups * 4);
  for (int i = 0; i < groups; ++i) {
    kept[i] = (int8_t)keep_within(tries + 4 * i, 0, (float*)out + 4 * i);
    if (kept[i] == 4) continue;
    leat_philox_t second = *philox;
    leat_philox_skip(&second, (uint64_t)i * LEAT_RANDOM_RESERVED + 1);
    leat_philox_next(&second, words + 4 * lacking_count);
    lacking[lacking_count++] = (uint8_t)i;
  }
  normal_floats(words, tries, lacking_count * 4);
  for (int k = 0; k < lacking_count; ++k) {
    int i = lacking[k];
    float* group = (float*)out + 4 * i;
    if (kept[i] >= 0 && keep_within(tries + 4 * k, kept[i], group) == 4) continue;
    leat_philox_t own = *philox;
    leat_philox_skip(&own, (uint64_t)i * LEAT_RANDOM_RESERVED);
    truncated_group_float(own, group);
  }
}

// Each group of two numbers has LEAT_RANDOM_RESERVED / 2 generator groups to itself.
static void truncated_DOUBLE(const leat_random_fill_t* fill, const leat_philox_t* philox,
                             int64_t groups, void* out) {
  for (int64_t i = 0; i < groups; ++i) {
    leat_philox_t own = *philox;
    leat_philox_skip(&own, (uint64_t)i * (LEAT_RANDOM_RESERVED / 2));
    for (int count = 0; count < 2;) {
      uint32_t words[4];
      double pair[2];
      leat_philox_next(&own, words);
      leat_random_pair_double(words, pair);
      for (int k = 0; k < 2 && count < 2; ++k) {
        if (fabs(pair[k]) < 2.0) ((double*)out)[2 * i + count++] = pair[k];
      }
    }
  }
}

// ---- Narrow types: float, rounded ---------------------------------------------------------------

// Half and bfloat16 are float numbers, rounded.
#define NARROW(kind, NAME, convert)                                                             \
  static void kind##_##NAME(const leat_random_fill_t* fill, const leat_philox_t* philox,        \
                            int64_t groups, void* out) {                                        \
    float values[BLOCK_WORDS];                                                                  \
    kind##_FLOAT(fill, philox, groups, values);                                                 \
    leat_vector_math()->convert(values, out, groups * 4);                                       \
  }
NARROW(normal, HALF, half_from_float)
NARROW(normal, BFLOAT16, bfloat16_from_float)
NARROW(truncated, HALF, half_from_float)
NARROW(truncated, BFLOAT16, bfloat16_from_float)

// ---- The whole ----------------------------------------------------------------------------------

typedef struct job_s {
  const leat_random_fill_t* fill;
  block_fn_t block;
  uint8_t* data;
  int64_t count;       // of numbers
  int group_size;      // numbers that one output group has
  size_t item_bytes;
  uint64_t stride;     // generator groups that one output group has to itself
} job_t;

static block_fn_t choose_block(const leat_random_fill_t* fill) {
  static const block_fn_t kFloating[3][LEAT_DTYPE_COUNT] = {
#define TYPES(kind)                                                                      \
  {[LEAT_DTYPE_HALF] = kind##_HALF, [LEAT_DTYPE_BFLOAT16] = kind##_BFLOAT16,              \
   [LEAT_DTYPE_FLOAT] = kind##_FLOAT, [LEAT_DTYPE_DOUBLE] = kind##_DOUBLE}
      [LEAT_RANDOM_UNIFORM] = TYPES(uniform),
      [LEAT_RANDOM_NORMAL] = TYPES(normal),
      [LEAT_RANDOM_TRUNCATED] = TYPES(truncated),
#undef TYPES
  };
  if (fill->kind == LEAT_RANDOM_BITS) return bits;
  if (fill->kind == LEAT_RANDOM_INTEGER) {
    return leat_dtype_size(fill->dtype) == 8 ? integer_64 : integer_32;
  }
  return kFloating[fill->kind][fill->dtype];
}

// Fills blocks [begin, end). The last block of an array may be incomplete; it is made on the stack
// and copied in part.
static void run_blocks(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  int64_t groups = (job->count + job->group_size - 1) / job->group_size;
  for (int64_t b = begin; b < end; ++b) {
    int64_t first = b * BLOCK_GROUPS;
    int64_t count = LEAT_MIN(groups - first, BLOCK_GROUPS);
    int64_t items = LEAT_MIN(job->count - first * job->group_size, count * job->group_size);
    uint8_t* target = job->data + (size_t)(first * job->group_size) * job->item_bytes;
    leat_philox_t philox = job->fill->philox;
    leat_philox_skip(&philox, (uint64_t)first * job->stride);
    if (items == count * job->group_size) {
      job->block(job->fill, &philox, count, target);
    } else {
      _Alignas(16) uint8_t whole[BLOCK_WORDS * 4];
      job->block(job->fill, &philox, count, whole);
      memcpy(target, whole, (size_t)items * job->item_bytes);
    }
  }
}

// A rough cost, for sharing work among threads.
static double group_cost_ns(const leat_random_fill_t* fill) {
  switch (fill->kind) {
    case LEAT_RANDOM_NORMAL: return fill->dtype == LEAT_DTYPE_DOUBLE ? 60 : 8;
    case LEAT_RANDOM_TRUNCATED: return fill->dtype == LEAT_DTYPE_DOUBLE ? 80 : 40;
    case LEAT_RANDOM_INTEGER: return 6;
    default: return 2;
  }
}

void leat_random_fill(const leat_kernel_context_t* c, const leat_random_fill_t* fill, void* data,
                      int64_t count) {
  if (count == 0) return;
  size_t item_bytes = leat_dtype_size(fill->dtype);
  job_t job = {.fill = fill,
               .block = choose_block(fill),
               .data = data,
               .count = count,
               .group_size = item_bytes == 8 ? 2 : 4,
               .item_bytes = item_bytes,
               .stride = 1};
  if (fill->kind == LEAT_RANDOM_TRUNCATED) {
    job.stride = (uint64_t)job.group_size * LEAT_RANDOM_RESERVED / 4;
  }
  int64_t numbers_a_block = (int64_t)BLOCK_GROUPS * job.group_size;
  int64_t blocks = count / numbers_a_block + (count % numbers_a_block != 0);
  leat_kernel_parallel_for(c, blocks, group_cost_ns(fill) * BLOCK_GROUPS, run_blocks, &job);
}

// ---- What the kernels' inputs say ---------------------------------------------------------------

leat_status_t leat_random_shape(const leat_kernel_context_t* c, int index,
                                leat_shape_t* out_shape) {
  const leat_tensor_t* sizes = leat_kernel_input(c, index);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  if (sizes->shape.rank != 1 || sizes->shape.element_count > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "shape must be a vector of at most %d sizes, got shape %s",
                               LEAT_SHAPE_MAX_RANK, LEAT_SHAPE_TEXT(&sizes->shape));
  }
  int rank = (int)sizes->shape.element_count;
  for (int d = 0; d < rank; ++d) dims[d] = leat_tensor_index_at(sizes, d);
  return leat_shape_create(rank, dims, out_shape);
}

leat_status_t leat_random_output(leat_kernel_context_t* c, int shape_index,
                                 leat_tensor_t** out_tensor) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_random_shape(c, shape_index, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, out_tensor);
  leat_shape_release(&shape);
  return status;
}

leat_status_t leat_random_bounds(const leat_kernel_context_t* c, int index,
                                 leat_random_fill_t* fill) {
  const leat_tensor_t* low = leat_kernel_input(c, index);
  const leat_tensor_t* high = leat_kernel_input(c, index + 1);
  if (low->shape.rank != 0 || high->shape.rank != 0) {
    return leat_kernel_invalid(c, "minval and maxval have shapes %s and %s, must be scalars",
                               LEAT_SHAPE_TEXT(&low->shape), LEAT_SHAPE_TEXT(&high->shape));
  }
  int64_t a = leat_tensor_index_at(low, 0), b = leat_tensor_index_at(high, 0);
  if (a >= b) {
    return leat_kernel_invalid(c, "minval is %lld, must be below maxval, %lld", (long long)a,
                               (long long)b);
  }
  fill->low = a;
  fill->range = (uint64_t)b - (uint64_t)a;
  return leat_ok_status();
}
