// CPU kernels that shuffle.
//
// RandomShuffle and StatelessShuffle put the rows of a tensor in random order: first an order of
// row numbers (the Fisher-Yates shuffle), then one copy of each row. Shuffling numbers instead of
// rows moves each row only once. The draws are TensorFlow's: word i of the generator decides which
// row comes to place i.
//
// RandomIndexShuffle tells where a random permutation of [0, max_index] puts an index. A table of
// the permutation would need memory for every index; here a block cipher is the permutation.
//
// The cipher is Simon (Beaulieu et al., "The Simon and Speck families of lightweight block
// ciphers", 2013) over blocks of as many bits as max_index needs, with few rounds, since the order
// need only look random. The block has an even number of bits, at least 16, so results may be
// larger than max_index. Such a result is encrypted again until one fits. This ends, because a
// permutation consists of cycles, and the cycle of an index that fits leads back to that index at
// the latest.
//
// All arithmetic of the cipher follows TensorFlow's, so that a seed gives the same permutation.
#include <math.h>
#include <string.h>

#include "ops/kernel_rows.h"
#include "ops/random/generator_cpu.h"
#include "ops/random/index_shuffle_cpu.h"
#include "ops/random/stateless_cpu.h"

// ---- All rows of a tensor -----------------------------------------------------------------------

// The number of rows between two looks whether the step is to end. Each row costs a cache miss.
#define ROWS_A_CHECK 8192

// Fills |order| with a random permutation of [0, count). Place i takes one of the rows that are
// left.
static leat_status_t draw_order(const leat_kernel_context_t* c, leat_philox_t philox,
                                int64_t* order, int64_t count) {
  uint32_t words[4];
  for (int64_t i = 0; i < count; ++i) order[i] = i;
  for (int64_t i = 0; i + 1 < count; ++i) {
    if (i % ROWS_A_CHECK == 0) LEAT_RETURN_IF_ERROR(leat_step_check(c->services, true));
    if (i % 4 == 0) leat_philox_next(&philox, words);
    // The number of rows that are left is cut to 32 bits, as in TensorFlow; where it then is 0, the
    // whole word is taken.
    uint32_t left = (uint32_t)(count - i);
    int64_t other = i + (left ? words[i % 4] % left : words[i % 4]);
    int64_t row = order[i];
    order[i] = order[other];
    order[other] = row;
  }
  return leat_ok_status();
}

static leat_status_t copy_rows(const leat_kernel_context_t* c, const leat_tensor_t* input,
                               const int64_t* order, leat_tensor_t* output) {
  int64_t count = leat_shape_dim(&input->shape, 0);
  int64_t row = input->shape.element_count / count;
  size_t bytes = (size_t)row * leat_dtype_size(input->dtype);
  bool is_plain = !leat_dtype_in(input->dtype, LEAT_DTYPES_OBJECT);
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* from = (const uint8_t*)input->data + (size_t)order[i] * bytes;
    uint8_t* to = (uint8_t*)output->data + (size_t)i * bytes;
    if (i % ROWS_A_CHECK == 0) LEAT_RETURN_IF_ERROR(leat_step_check(c->services, true));
    if (is_plain) {
      memcpy(to, from, bytes);
    } else {
      LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(input->dtype, from, to, row));
    }
  }
  return leat_ok_status();
}

static bool is_in_order(const leat_tensor_t* input) {
  return input->shape.element_count <= 1 || leat_shape_dim(&input->shape, 0) <= 1;
}

static leat_status_t shuffle(leat_kernel_context_t* c, leat_philox_t philox) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t order, *output;
  leat_shape_t rows = leat_shape_vector(leat_shape_dim(&input->shape, 0));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &rows, &order));
  leat_status_t status = draw_order(c, philox, order.data, rows.element_count);
  if (!status) status = copy_rows(c, input, order.data, output);
  leat_tensor_release(&order);
  return status;
}

static leat_status_t random_shuffle__cpu(leat_kernel_context_t* c) {
  const leat_generator_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  if (is_in_order(input)) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  uint64_t words = (uint64_t)leat_shape_dim(&input->shape, 0) - 1;
  leat_philox_t philox;
  LEAT_RETURN_IF_ERROR(leat_generator_reserve(c, state->generator, (words + 3) / 4, &philox));
  return shuffle(c, philox);
}

static leat_status_t stateless_shuffle__cpu(leat_kernel_context_t* c) {
  leat_philox_t philox;
  LEAT_RETURN_IF_ERROR(leat_stateless_from_key(c, 1, &philox));
  if (is_in_order(leat_kernel_input(c, 0))) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  return shuffle(c, philox);
}

// ---- One index ----------------------------------------------------------------------------------

#define MIN_BLOCK_BITS 16
#define MAX_ROUNDS 1024
#define COST_OF_ROUND 4.0  // nanoseconds

typedef struct index_shuffle_s {
  int64_t rounds;
} index_shuffle_t;

typedef struct cipher_s {
  int width;  // bits of a word, half a block
  uint64_t mask;
  int rounds;
  uint64_t keys[MAX_ROUNDS];
} cipher_t;

// Rotates the word |x| to the left by |bits|.
static uint64_t rotate(const cipher_t* cipher, uint64_t x, int bits) {
  return (x << bits | x >> (cipher->width - bits)) & cipher->mask;
}

// The key schedule of Simon with a key of three words.
static void make_keys(cipher_t* cipher, const uint32_t seed[3]) {
  const uint64_t c = 0xfffffffcu & cipher->mask;
  uint64_t z = 0x7369f885192c0ef5u & cipher->mask;
  uint64_t* k = cipher->keys;
  for (int i = 0; i < 3; ++i) k[i] = seed[i] & cipher->mask;
  for (int i = 3; i < cipher->rounds; ++i, z >>= 1) {
    int w = cipher->width;
    k[i] = c ^ (z & 1) ^ k[i - 3] ^ rotate(cipher, k[i - 1], w - 3) ^
           rotate(cipher, k[i - 1], w - 4);
  }
}

// The round function of Simon: (x <<< 1 & x <<< 8) ^ x <<< 2.
static uint64_t mix(const cipher_t* cipher, uint64_t x) {
  return (rotate(cipher, x, 1) & rotate(cipher, x, 8 % cipher->width)) ^ rotate(cipher, x, 2);
}

// Two rounds a turn, so that the halves of the block need not be exchanged.
static uint64_t encrypt(const cipher_t* cipher, uint64_t value) {
  uint64_t left = value >> cipher->width & cipher->mask, right = value & cipher->mask;
  for (int i = 0; i < cipher->rounds; i += 2) {
    left ^= mix(cipher, right) ^ cipher->keys[i];
    right ^= mix(cipher, left) ^ cipher->keys[i + 1];
  }
  return left << cipher->width | right;
}

// A block may have far more values than there are indices, so the walk through it may be long.
leat_status_t leat_index_shuffle(leat_step_pace_t* pace, const uint32_t seed[3],
                                 uint64_t max_index, int rounds, uint64_t* inout_index) {
  uint64_t index = *inout_index;
  LEAT_DCHECK(index <= max_index && rounds <= MAX_ROUNDS);
  *inout_index = 0;
  if (max_index == 0) return leat_ok_status();
  // The number of bits is TensorFlow's. A max_index that is a power of four does not fit in a block
  // of so many bits; from 2^16 on, where a block has no bits to spare, it is encrypted like 0.
  int bits = (int)ceil(log2((double)max_index));
  bits += bits % 2;
  if (bits < MIN_BLOCK_BITS) bits = MIN_BLOCK_BITS;
  if (bits > 64) bits = 64;
  cipher_t cipher = {.width = bits / 2, .rounds = rounds};
  cipher.mask = ((uint64_t)1 << cipher.width) - 1;
  make_keys(&cipher, seed);
  do {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(pace, COST_OF_ROUND * rounds));
    index = encrypt(&cipher, index);
  } while (index > max_index);
  *inout_index = index;
  return leat_ok_status();
}

static leat_status_t index_shuffle_create(leat_kernel_creation_t* c, void* state) {
  index_shuffle_t* own = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "rounds", &own->rounds));
  if (own->rounds >= 4 && own->rounds % 2 == 0 && own->rounds <= MAX_ROUNDS) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (RandomIndexShuffle): rounds is %lld, "
                          "must be even and in [4, %d]",
                          LEAT_SV_ARG(c->kernel->node_name), (long long)own->rounds, MAX_ROUNDS);
}

// The number of items: the largest of what the three inputs say.
static int64_t count_of(const leat_kernel_context_t* c) {
  int64_t count = leat_kernel_input(c, 0)->shape.element_count;
  int64_t limits = leat_kernel_input(c, 2)->shape.element_count;
  int64_t seeds = leat_kernel_input(c, 1)->shape.element_count / 3;
  if (limits > count) count = limits;
  return seeds > count ? seeds : count;
}

static bool is_one_or_each(const leat_shape_t* shape, int64_t count) {
  return shape->rank == 0 || (shape->rank == 1 && leat_shape_dim(shape, 0) == count);
}

static leat_status_t check_shapes(const leat_kernel_context_t* c, int64_t count) {
  const leat_shape_t* index = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* seed = &leat_kernel_input(c, 1)->shape;
  const leat_shape_t* limit = &leat_kernel_input(c, 2)->shape;
  bool one_seed = seed->rank == 1 && leat_shape_dim(seed, 0) == 3;
  bool seeds = seed->rank == 2 && leat_shape_dim(seed, 0) == count && leat_shape_dim(seed, 1) == 3;
  if (is_one_or_each(index, count) && is_one_or_each(limit, count) && (one_seed || seeds)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "index, seed and max_index have shapes %s, %s and %s, must be [], "
                             "[3] and [], or with %lld items each",
                             LEAT_SHAPE_TEXT(index), LEAT_SHAPE_TEXT(seed), LEAT_SHAPE_TEXT(limit),
                             (long long)count);
}

// Reads element |index| of an integer tensor; |out_negative| says that a signed one is negative.
static uint64_t read_integer(const leat_tensor_t* tensor, int64_t index, bool* out_negative) {
  *out_negative = false;
  switch (tensor->dtype) {
    case LEAT_DTYPE_UINT32: return leat_tensor_data(tensor, const uint32_t)[index];
    case LEAT_DTYPE_UINT64: return leat_tensor_data(tensor, const uint64_t)[index];
    default: break;
  }
  int64_t value = leat_tensor_index_at(tensor, index);
  *out_negative = value < 0;
  return (uint64_t)value;
}

static leat_status_t shuffle_item(leat_kernel_context_t* c, leat_step_pace_t* pace, int64_t i,
                                  leat_tensor_t* output) {
  const index_shuffle_t* own = leat_kernel_state(c);
  const leat_tensor_t *index = leat_kernel_input(c, 0), *limit = leat_kernel_input(c, 2);
  const leat_tensor_t* seeds = leat_kernel_input(c, 1);
  bool is_negative, limit_is_negative, unused;
  uint32_t seed[3];
  uint64_t value = read_integer(index, index->shape.rank ? i : 0, &is_negative);
  uint64_t max = read_integer(limit, limit->shape.rank ? i : 0, &limit_is_negative);
  if (is_negative || limit_is_negative || value > max) {
    return leat_kernel_invalid(c, "index is %lld, must be in [0, max_index], which is %lld",
                               (long long)value, (long long)max);
  }
  for (int k = 0; k < 3; ++k) {
    seed[k] = (uint32_t)read_integer(seeds, (seeds->shape.rank == 2 ? 3 * i : 0) + k, &unused);
  }
  LEAT_RETURN_IF_ERROR(leat_index_shuffle(pace, seed, max, (int)own->rounds, &value));
  if (leat_dtype_size(output->dtype) == 4) {
    leat_tensor_data(output, uint32_t)[i] = (uint32_t)value;
  } else {
    leat_tensor_data(output, uint64_t)[i] = value;
  }
  return leat_ok_status();
}

static leat_status_t index_shuffle__cpu(leat_kernel_context_t* c) {
  int64_t count = count_of(c);
  LEAT_RETURN_IF_ERROR(check_shapes(c, count));
  bool is_scalar = leat_kernel_input(c, 0)->shape.rank == 0 &&
                   leat_kernel_input(c, 1)->shape.rank == 1 &&
                   leat_kernel_input(c, 2)->shape.rank == 0;
  leat_shape_t shape = is_scalar ? leat_shape_scalar() : leat_shape_vector(count);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(shuffle_item(c, &pace, i, output));
  return leat_ok_status();
}

// ---- Kernels ------------------------------------------------------------------------------------

#define ALL                                                                                 \
  "T: float, double, int32, int64, half, bfloat16, int8, int16, uint8, uint16, uint32, "    \
  "uint64, complex64, complex128, bool, string, resource, variant"

const leat_kernel_row_t leat_shuffle_kernels_cpu[] = {
    LEAT_GENERATOR_KERNEL("RandomShuffle", ALL, random_shuffle__cpu),
    {.op = "StatelessShuffle",
     .device_type = "CPU",
     .constraints = ALL,
     .compute = stateless_shuffle__cpu},
    {.op = "RandomIndexShuffle",
     .device_type = "CPU",
     .constraints = "dtype: int32, int64, uint32, uint64",
     .create = index_shuffle_create,
     .state_bytes = sizeof(index_shuffle_t),
     .compute = index_shuffle__cpu},
    LEAT_KERNEL_ROWS_END,
};
