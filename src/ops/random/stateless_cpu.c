// CPU kernels of the stateless random ops, which are functions of their inputs: the same seed gives
// the same numbers in every step, with any number of threads.
//
//   seed [2] ─scramble─▶ key, counter ─▶ generator ─▶ leat_random_fill ─▶ numbers
//
// The first version of an op takes a seed of two integers, which is scrambled into a key and a
// counter. Seeds that differ in one bit then lead to unrelated numbers. The second takes key,
// counter and algorithm, which StatelessRandomGetKeyCounterAlg makes of a seed, so that a graph can
// make them once and use them for several ops. Only the algorithm Philox is made here. The
// stateless kernels in other files of this folder get their generators from here (stateless_cpu.h).
#include "ops/random/stateless_cpu.h"

#include "ops/kernel_rows.h"
#include "ops/random/fill_cpu.h"

// ---- Generators ---------------------------------------------------------------------------------

// Makes a generator of a seed. The seed is the counter of a generator with a fixed key; the group
// that this generator makes becomes the key and the upper half of the counter. So seeds that differ
// in one bit lead to unrelated numbers.
static leat_philox_t scramble(uint64_t seed_a, uint64_t seed_b) {
  uint32_t mixed[4];
  leat_philox_t mixer = {.counter = {(uint32_t)seed_a, (uint32_t)(seed_a >> 32), (uint32_t)seed_b,
                                     (uint32_t)(seed_b >> 32)},
                         .key = {0x3ec8f720, 0x02461e29}};
  leat_philox_next(&mixer, mixed);
  return (leat_philox_t){.counter = {0, 0, mixed[2], mixed[3]}, .key = {mixed[0], mixed[1]}};
}

leat_status_t leat_stateless_from_seed(const leat_kernel_context_t* c, int index,
                                       leat_philox_t* out_philox) {
  const leat_tensor_t* seed = leat_kernel_input(c, index);
  if (seed->shape.rank != 1 || seed->shape.element_count != 2) {
    return leat_kernel_invalid(c, "seed has shape %s, must be [2]", LEAT_SHAPE_TEXT(&seed->shape));
  }
  if (seed->dtype != LEAT_DTYPE_INT32 && seed->dtype != LEAT_DTYPE_INT64) {
    return leat_kernel_invalid(c, "Invalid seed type: %s, must be int32 or int64",
                               leat_dtype_name(seed->dtype));
  }
  *out_philox = scramble((uint64_t)leat_tensor_index_at(seed, 0),
                         (uint64_t)leat_tensor_index_at(seed, 1));
  return leat_ok_status();
}

leat_status_t leat_stateless_check_key(const leat_kernel_context_t* c, int index, int least) {
  const leat_tensor_t* key = leat_kernel_input(c, index);
  const leat_tensor_t* counter = leat_kernel_input(c, index + 1);
  const leat_tensor_t* algorithm = leat_kernel_input(c, index + 2);
  if (algorithm->shape.rank != 0) {
    return leat_kernel_invalid(c, "alg has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&algorithm->shape));
  }
  int32_t id = *leat_tensor_data(algorithm, int32_t);
  if (id != LEAT_STATELESS_PHILOX && id != LEAT_STATELESS_AUTO_SELECT) {
    return leat_kernel_invalid(c, "Unsupported algorithm id: %d, must be 1 (Philox) or 3 "
                               "(automatic)", id);
  }
  if (key->shape.rank != 1 || key->shape.element_count != 1 || counter->shape.rank != 1 ||
      counter->shape.element_count < least) {
    return leat_kernel_invalid(c, "key and counter have shapes %s and %s, must be [1] and [%d]",
                               LEAT_SHAPE_TEXT(&key->shape), LEAT_SHAPE_TEXT(&counter->shape),
                               least);
  }
  return leat_ok_status();
}

leat_status_t leat_stateless_from_key(const leat_kernel_context_t* c, int index,
                                      leat_philox_t* out_philox) {
  const leat_tensor_t* key = leat_kernel_input(c, index);
  const leat_tensor_t* counter = leat_kernel_input(c, index + 1);
  LEAT_RETURN_IF_ERROR(leat_stateless_check_key(c, index, 2));
  const uint64_t* words = counter->data;
  uint64_t secret = *leat_tensor_data(key, uint64_t);
  *out_philox = (leat_philox_t){
      .counter = {(uint32_t)words[0], (uint32_t)(words[0] >> 32), (uint32_t)words[1],
                  (uint32_t)(words[1] >> 32)},
      .key = {(uint32_t)secret, (uint32_t)(secret >> 32)}};
  return leat_ok_status();
}

// ---- Kernels ------------------------------------------------------------------------------------

// Fills output 0 with numbers of |kind|; |has_key| says that this is the second version of the op.
static leat_status_t run(leat_kernel_context_t* c, leat_random_kind_t kind, bool has_key) {
  leat_random_fill_t fill = {.kind = kind};
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(has_key ? leat_stateless_from_key(c, 1, &fill.philox)
                               : leat_stateless_from_seed(c, 1, &fill.philox));
  LEAT_RETURN_IF_ERROR(leat_random_output(c, 0, &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  if (kind == LEAT_RANDOM_INTEGER) {
    LEAT_RETURN_IF_ERROR(leat_random_bounds(c, has_key ? 4 : 2, &fill));
  }
  fill.dtype = output->dtype;
  leat_random_fill(c, &fill, output->data, output->shape.element_count);
  return leat_ok_status();
}

#define KIND(name, kind)                                                              \
  static leat_status_t name##_seed__cpu(leat_kernel_context_t* c) { return run(c, kind, false); } \
  static leat_status_t name##_key__cpu(leat_kernel_context_t* c) { return run(c, kind, true); }
KIND(uniform, LEAT_RANDOM_UNIFORM)
KIND(normal, LEAT_RANDOM_NORMAL)
KIND(truncated, LEAT_RANDOM_TRUNCATED)
KIND(integer, LEAT_RANDOM_INTEGER)
KIND(full_integer, LEAT_RANDOM_BITS)

static leat_status_t get_algorithm(leat_kernel_context_t* c, int index) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, index, &scalar, &output));
  *leat_tensor_data(output, int32_t) = LEAT_STATELESS_PHILOX;
  return leat_ok_status();
}

static leat_status_t get_algorithm__cpu(leat_kernel_context_t* c) { return get_algorithm(c, 0); }

static leat_status_t get_key_counter__cpu(leat_kernel_context_t* c) {
  leat_philox_t philox;
  leat_shape_t one = leat_shape_vector(1), two = leat_shape_vector(2);
  leat_tensor_t *key, *counter;
  LEAT_RETURN_IF_ERROR(leat_stateless_from_seed(c, 0, &philox));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &one, &key));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &two, &counter));
  *leat_tensor_data(key, uint64_t) = (uint64_t)philox.key[1] << 32 | philox.key[0];
  for (int i = 0; i < 2; ++i) {
    leat_tensor_data(counter, uint64_t)[i] =
        (uint64_t)philox.counter[2 * i + 1] << 32 | philox.counter[2 * i];
  }
  return c->kernel->output_count > 2 ? get_algorithm(c, 2) : leat_ok_status();
}

#define FLOATING "dtype: bfloat16, double, float, half"
#define SIGNED "dtype: int32, int64"
#define INTEGERS "dtype: int32, int64, uint32, uint64"
#define KERNEL(op_name, types, function) \
  {.op = op_name,                        \
   .device_type = "CPU",                 \
   .constraints = types,                 \
   .compute = function,                  \
   .expensive = true}
#define KERNELS(op_name, types, name)           \
  KERNEL(op_name, types, name##_seed__cpu),     \
      KERNEL(op_name "V2", types, name##_key__cpu)

const leat_kernel_row_t leat_stateless_kernels_cpu[] = {
    KERNELS("StatelessRandomUniform", FLOATING, uniform),
    KERNELS("StatelessRandomNormal", FLOATING, normal),
    KERNELS("StatelessTruncatedNormal", FLOATING, truncated),
    KERNELS("StatelessRandomUniformInt", SIGNED, integer),
    KERNELS("StatelessRandomUniformFullInt", INTEGERS, full_integer),
    {.op = "StatelessRandomGetKeyCounter", .device_type = "CPU", .compute = get_key_counter__cpu},
    {.op = "StatelessRandomGetKeyCounterAlg",
     .device_type = "CPU",
     .compute = get_key_counter__cpu},
    {.op = "StatelessRandomGetAlg", .device_type = "CPU", .compute = get_algorithm__cpu},
    LEAT_KERNEL_ROWS_END,
};
