// CPU kernels of the random ops whose generator lies in a variable (variable_generator.c has the
// definitions). The lock of the variable is held while the state is read and moved on, never while
// numbers are made, so that steps that run at once get different numbers. The numbers are those of
// the stateless ops for the same key and counter.
//
//   variable  [ counter, low | counter, high | key ]      int64, further elements are left alone
//
// StatefulStandardNormal, which is older, finds the algorithm in the variable, in front of the
// counter; the others have it as an input. Each number moves the counter by LEAT_RANDOM_RESERVED
// groups, whether it needs them or not, so the state after a step follows from the number of
// elements alone. Before the write the variable becomes the only owner of its buffer, so that a
// tensor that was read from it earlier does not change. NonDeterministicInts has no variable and
// takes a new seed from the system each time. poisson_cpu.c takes its generator for
// StatefulRandomBinomial by leat_variable_generator_take too.
#include "ops/random/variable_generator_cpu.h"

#include "kernel/resource.h"
#include "ops/kernel_rows.h"
#include "ops/random/fill_cpu.h"
#include "ops/random/stateless_cpu.h"

#define STATE_SIZE 3

static leat_status_t check_algorithm(const leat_kernel_context_t* c, int64_t algorithm) {
  if (algorithm == LEAT_STATELESS_PHILOX || algorithm == LEAT_STATELESS_AUTO_SELECT) {
    return leat_ok_status();
  }
  if (algorithm == LEAT_STATELESS_THREEFRY) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                             "Non-XLA devices don't support the ThreeFry algorithm.");
  }
  return leat_kernel_invalid(c, "Unsupported algorithm id: %lld", (long long)algorithm);
}

static leat_status_t check_algorithm_input(const leat_kernel_context_t* c, int index) {
  const leat_tensor_t* input = leat_kernel_input(c, index);
  if (input->shape.rank == 0) return check_algorithm(c, leat_tensor_index_at(input, 0));
  return leat_kernel_invalid(c, "algorithm must be of shape [], not %s",
                             LEAT_SHAPE_TEXT(&input->shape));
}

// Checks that |value| holds a state from element |first| on.
static leat_status_t check_state(const leat_kernel_context_t* c, const leat_tensor_t* value,
                                 int64_t first) {
  if (value->dtype != LEAT_DTYPE_INT64) {
    return leat_kernel_invalid(c, "dtype of RNG state variable must be int64, not %s",
                               leat_dtype_name(value->dtype));
  }
  if (value->shape.rank != 1) {
    return leat_kernel_invalid(c, "RNG state must have one and only one dimension, not %d",
                               value->shape.rank);
  }
  if (value->shape.element_count < first + STATE_SIZE) {
    return leat_kernel_invalid(
        c, "For the Philox algorithm, the size of state must be at least %lld; got %lld",
        (long long)(first + STATE_SIZE), (long long)value->shape.element_count);
  }
  return leat_ok_status();
}

static leat_philox_t philox_of(const uint64_t state[STATE_SIZE]) {
  return (leat_philox_t){.counter = {(uint32_t)state[0], (uint32_t)(state[0] >> 32),
                                     (uint32_t)state[1], (uint32_t)(state[1] >> 32)},
                         .key = {(uint32_t)state[2], (uint32_t)(state[2] >> 32)}};
}

// Reads the generator and moves it on. The cell is locked.
static leat_status_t take_locked(leat_kernel_context_t* c, leat_cell_t* cell, int algorithm,
                                 uint64_t numbers, leat_philox_t* out_philox) {
  const int64_t first = algorithm == 0;
  if (cell->tensor.dtype == 0) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Attempting to use uninitialized value %s", cell->name);
  }
  LEAT_RETURN_IF_ERROR(check_state(c, &cell->tensor, first));
  if (first) LEAT_RETURN_IF_ERROR(check_algorithm(c, leat_tensor_index_at(&cell->tensor, 0)));
  LEAT_RETURN_IF_ERROR(leat_cell_make_exclusive(cell, c->services->memory));
  uint64_t* state = leat_tensor_data(&cell->tensor, uint64_t) + first;
  leat_philox_t philox = *out_philox = philox_of(state);
  leat_philox_skip(&philox, numbers * LEAT_RANDOM_RESERVED);
  for (int i = 0; i < 2; ++i) {
    state[i] = (uint64_t)philox.counter[2 * i + 1] << 32 | philox.counter[2 * i];
  }
  return leat_ok_status();
}

leat_status_t leat_variable_generator_take(leat_kernel_context_t* c, int algorithm,
                                           uint64_t numbers, leat_philox_t* out_philox) {
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(
      leat_cell_of_handle(c->services->resources, leat_kernel_input(c, 0), &cell));
  leat_status_t status = algorithm > 0 ? check_algorithm_input(c, algorithm) : leat_ok_status();
  leat_mutex_lock(&cell->mutex);
  if (!status) status = take_locked(c, cell, algorithm, numbers, out_philox);
  leat_mutex_unlock(&cell->mutex);
  leat_cell_release(cell);
  return status;
}

// ---- Numbers ------------------------------------------------------------------------------------

// Allocates output 0 with the shape that input |index| holds.
static leat_status_t allocate_stated(leat_kernel_context_t* c, int index,
                                     leat_tensor_t** out_output) {
  const int dtype = leat_kernel_input(c, index)->dtype;
  if (dtype != LEAT_DTYPE_INT32 && dtype != LEAT_DTYPE_INT64) {
    return leat_kernel_invalid(c, "shape must be a vector of {int32,int64}, is of %s",
                               leat_dtype_name(dtype));
  }
  return leat_random_output(c, index, out_output);
}

// Fills output 0 with numbers of |kind|. Inputs are the variable, the algorithm unless |algorithm|
// is 0, the shape, and the bounds of integers.
static leat_status_t run(leat_kernel_context_t* c, leat_random_kind_t kind, int algorithm) {
  leat_random_fill_t fill = {.kind = kind};
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(allocate_stated(c, algorithm + 1, &output));
  if (kind == LEAT_RANDOM_INTEGER) LEAT_RETURN_IF_ERROR(leat_random_bounds(c, 3, &fill));
  LEAT_RETURN_IF_ERROR(leat_variable_generator_take(
      c, algorithm, (uint64_t)output->shape.element_count, &fill.philox));
  fill.dtype = output->dtype;
  leat_random_fill(c, &fill, output->data, output->shape.element_count);
  return leat_ok_status();
}

static leat_status_t uniform__cpu(leat_kernel_context_t* c) {
  return run(c, LEAT_RANDOM_UNIFORM, 1);
}
static leat_status_t normal__cpu(leat_kernel_context_t* c) { return run(c, LEAT_RANDOM_NORMAL, 1); }
static leat_status_t normal_v1__cpu(leat_kernel_context_t* c) {
  return run(c, LEAT_RANDOM_NORMAL, 0);
}
static leat_status_t truncated__cpu(leat_kernel_context_t* c) {
  return run(c, LEAT_RANDOM_TRUNCATED, 1);
}
static leat_status_t integer__cpu(leat_kernel_context_t* c) {
  return run(c, LEAT_RANDOM_INTEGER, 1);
}
static leat_status_t bits__cpu(leat_kernel_context_t* c) { return run(c, LEAT_RANDOM_BITS, 1); }

static leat_status_t system_bits__cpu(leat_kernel_context_t* c) {
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(allocate_stated(c, 0, &output));
  const leat_random_fill_t fill = {
      .philox = leat_philox_make(leat_random_seed(), leat_random_seed()),
      .kind = LEAT_RANDOM_BITS,
      .dtype = output->dtype};
  leat_random_fill(c, &fill, output->data, output->shape.element_count);
  return leat_ok_status();
}

// ---- Moves --------------------------------------------------------------------------------------

static leat_status_t skip(leat_kernel_context_t* c, leat_philox_t* out_philox) {
  const leat_tensor_t* delta = leat_kernel_input(c, 2);
  if (delta->shape.rank != 0) {
    return leat_kernel_invalid(c, "delta must be of shape [], not %s",
                               LEAT_SHAPE_TEXT(&delta->shape));
  }
  return leat_variable_generator_take(c, 1, *leat_tensor_data(delta, const uint64_t), out_philox);
}

static leat_status_t skip__cpu(leat_kernel_context_t* c) {
  leat_philox_t unused;
  return skip(c, &unused);
}

static leat_status_t read_and_skip__cpu(leat_kernel_context_t* c) {
  const leat_shape_t shape = leat_shape_vector(STATE_SIZE);
  leat_philox_t before;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  LEAT_RETURN_IF_ERROR(skip(c, &before));
  uint64_t* state = leat_tensor_data(output, uint64_t);
  for (int i = 0; i < 2; ++i) {
    state[i] = (uint64_t)before.counter[2 * i + 1] << 32 | before.counter[2 * i];
  }
  state[2] = (uint64_t)before.key[1] << 32 | before.key[0];
  return leat_ok_status();
}

#define ROW(op_name, types, fn) \
  {.op = op_name, .device_type = "CPU", .constraints = types, .compute = fn, .expensive = true}
#define FLOATING "dtype: half, bfloat16, float, double"
#define BITS "dtype: int32, int64, uint32, uint64"

const leat_kernel_row_t leat_variable_generator_kernels_cpu[] = {
    ROW("StatefulUniform", FLOATING, uniform__cpu),
    ROW("StatefulStandardNormalV2", FLOATING, normal__cpu),
    ROW("StatefulStandardNormal", FLOATING, normal_v1__cpu),
    ROW("StatefulTruncatedNormal", FLOATING, truncated__cpu),
    ROW("StatefulUniformInt", "dtype: int32, int64", integer__cpu),
    ROW("StatefulUniformFullInt", BITS, bits__cpu),
    ROW("NonDeterministicInts", BITS, system_bits__cpu),
    ROW("RngSkip", NULL, skip__cpu),
    ROW("RngReadAndSkip", NULL, read_and_skip__cpu),
    LEAT_KERNEL_ROWS_END,
};
