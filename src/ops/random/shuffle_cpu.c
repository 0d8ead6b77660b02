// CPU kernels of RandomShuffle and StatelessShuffle, which put the rows of a tensor in random
// order: first an order of row numbers (the Fisher-Yates shuffle), then one copy of each row.
// Shuffling numbers instead of rows moves each row only once. The draws are TensorFlow's: word i of
// the generator decides which row comes to place i. The table at the end also has
// RandomIndexShuffle.
#include <string.h>

#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/random/generator_cpu.h"
#include "ops/random/index_shuffle_cpu.h"
#include "ops/random/stateless_cpu.h"

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
  return shuffle(c, leat_generator_reserve(state->generator, (words + 3) / 4));
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
     .create = leat_index_shuffle_create,
     .state_bytes = sizeof(leat_index_shuffle_t),
     .compute = leat_index_shuffle__cpu},
    LEAT_KERNEL_ROWS_END,
};
