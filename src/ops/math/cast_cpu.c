// CPU kernels of Cast, a chain of one to three steps over blocks that stay in the cache, and of
// Bitcast, which shares its input's bytes.
#include "ops/math/cast_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "ops/family.h"

#define BLOCK 512
#define MAX_STEPS 4
#define MAX_ELEMENT_BYTES 16

typedef struct leat_cast_s {
  leat_cast_step_t steps[MAX_STEPS];
  int step_count;      // 0: the types are the same
  int truncated_bits;  // of the widened float, set to 0 before it is stored; 0: round instead
  bool truncates_double;
  uint8_t input_size, output_size;
} leat_cast_t;

// ---- Creation -----------------------------------------------------------------------------------

// Quantized types are the integers they consist of.
static int plain_type(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_QINT8: return LEAT_DTYPE_INT8;
    case LEAT_DTYPE_QUINT8: return LEAT_DTYPE_UINT8;
    case LEAT_DTYPE_QINT16: return LEAT_DTYPE_INT16;
    case LEAT_DTYPE_QUINT16: return LEAT_DTYPE_UINT16;
    case LEAT_DTYPE_QINT32: return LEAT_DTYPE_INT32;
    default: return dtype;
  }
}

static int pivot_of(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_BOOL:
    case LEAT_DTYPE_UINT8:
    case LEAT_DTYPE_UINT16:
    case LEAT_DTYPE_INT8:
    case LEAT_DTYPE_INT16:
    case LEAT_DTYPE_INT32:
    case LEAT_DTYPE_INT4:
    case LEAT_DTYPE_UINT4: return LEAT_CAST_I32;
    case LEAT_DTYPE_UINT32:
    case LEAT_DTYPE_INT64: return LEAT_CAST_I64;
    case LEAT_DTYPE_UINT64: return LEAT_CAST_U64;
    case LEAT_DTYPE_HALF:
    case LEAT_DTYPE_BFLOAT16:
    case LEAT_DTYPE_FLOAT8_E5M2:
    case LEAT_DTYPE_FLOAT8_E4M3FN:
    case LEAT_DTYPE_FLOAT: return LEAT_CAST_F32;
    case LEAT_DTYPE_DOUBLE: return LEAT_CAST_F64;
    case LEAT_DTYPE_COMPLEX64: return LEAT_CAST_C64;
    case LEAT_DTYPE_COMPLEX128: return LEAT_CAST_C128;
    default: return -1;
  }
}

// Steps of this machine's instruction set, or of the baseline; NULL if there is none.
static leat_cast_step_t load_step(int dtype) {
  leat_cast_step_t step = LEAT_ISA_SELECT(leat_cast_steps)->load[dtype];
  return step ? step : leat_cast_steps_base.load[dtype];
}
static leat_cast_step_t store_step(int pivot, int dtype) {
  leat_cast_step_t step = LEAT_ISA_SELECT(leat_cast_steps)->store[pivot][dtype];
  return step ? step : leat_cast_steps_base.store[pivot][dtype];
}

static void add_step(leat_cast_t* cast, leat_cast_step_t step) {
  cast->steps[cast->step_count++] = step;
}

// Fills the chain; false where there is none. 4-bit integers cast to and from integers only.
static bool plan_steps(int from, int to, leat_cast_t* cast) {
  int pivot = pivot_of(from);
  if (pivot < 0) return false;
  const leat_dtype_set_t kFourBits = LEAT_DTYPE_BIT(INT4) | LEAT_DTYPE_BIT(UINT4);
  if (leat_dtype_in(from, kFourBits) && !leat_dtype_in(to, kFourBits | LEAT_DTYPES_INTEGER)) {
    return false;
  }
  if (load_step(from)) add_step(cast, load_step(from));
  if (store_step(pivot, to)) {
    add_step(cast, store_step(pivot, to));
    return true;
  }
  if (pivot == LEAT_CAST_C64 || pivot == LEAT_CAST_C128) {
    add_step(cast, pivot == LEAT_CAST_C64 ? leat_cast_steps_base.real_c64
                                          : leat_cast_steps_base.real_c128);
    pivot = pivot == LEAT_CAST_C64 ? LEAT_CAST_F32 : LEAT_CAST_F64;
    if (to == (pivot == LEAT_CAST_F32 ? LEAT_DTYPE_FLOAT : LEAT_DTYPE_DOUBLE)) return true;
  }
  if (!store_step(pivot, to)) {  // types narrower than float come from float
    if (!store_step(LEAT_CAST_F32, to) || pivot == LEAT_CAST_F32) return false;
    add_step(cast, store_step(pivot, LEAT_DTYPE_FLOAT));
    pivot = LEAT_CAST_F32;
  }
  add_step(cast, store_step(pivot, to));
  return true;
}

static int mantissa_digits(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_DOUBLE: return 53;
    case LEAT_DTYPE_FLOAT: return 24;
    case LEAT_DTYPE_HALF: return 11;
    case LEAT_DTYPE_BFLOAT16: return 8;
    case LEAT_DTYPE_FLOAT8_E4M3FN: return 4;
    case LEAT_DTYPE_FLOAT8_E5M2: return 3;
    default: return 0;
  }
}

static leat_status_t create_cast(leat_kernel_creation_t* c, void* state) {
  leat_cast_t* cast = state;
  int from = leat_dtype_base(c->kernel->input_types[0]);
  int to = leat_dtype_base(c->kernel->output_types[0]);
  bool truncate;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "Truncate", &truncate));
  cast->input_size = (uint8_t)leat_dtype_size(from);
  cast->output_size = (uint8_t)leat_dtype_size(to);
  if (from == to) return leat_ok_status();
  if (plain_type(from) == plain_type(to)) {
    add_step(cast, NULL);
    return leat_ok_status();
  }
  if (!plan_steps(plain_type(from), plain_type(to), cast)) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Create failed for node '%.*s' (Cast): Cast %s to %s is not supported",
                            LEAT_SV_ARG(c->kernel->node_name), leat_dtype_name(from),
                            leat_dtype_name(to));
  }
  int digits = mantissa_digits(from), kept = mantissa_digits(to);
  if (truncate && kept && digits > kept) {
    cast->truncates_double = from == LEAT_DTYPE_DOUBLE;
    cast->truncated_bits = (cast->truncates_double ? 53 : 24) - kept;
  }
  return leat_ok_status();
}

// ---- The run ------------------------------------------------------------------------------------

typedef struct leat_cast_job_s {
  const leat_cast_t* cast;
  const char* input;
  char* output;
} leat_cast_job_t;

// Copies floats or doubles with their low mantissa bits cleared; NaNs as they are.
static void truncate_block(const leat_cast_t* cast, const void* from, void* to, int64_t n) {
  if (cast->truncates_double) {
    const uint64_t mask = ~UINT64_C(0) << cast->truncated_bits;
    for (int64_t i = 0; i < n; ++i) {
      uint64_t bits = ((const uint64_t*)from)[i];
      bool is_nan = (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
      ((uint64_t*)to)[i] = is_nan ? bits : bits & mask;
    }
    return;
  }
  const uint32_t mask = ~UINT32_C(0) << cast->truncated_bits;
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits = ((const uint32_t*)from)[i];
    ((uint32_t*)to)[i] = (bits & INT32_MAX) > 0x7f800000u ? bits : bits & mask;
  }
}

static void cast_block(const leat_cast_t* cast, const void* from, void* to, int64_t n) {
  _Alignas(64) char blocks[2][BLOCK * MAX_ELEMENT_BYTES];
  int next = 0;
  int last = cast->step_count - 1;
  for (int s = 0; s <= last; ++s) {
    if (s == last && cast->truncated_bits) {
      truncate_block(cast, from, blocks[next], n);
      from = blocks[next];
      next ^= 1;
    }
    void* target = s == last ? to : blocks[next];
    cast->steps[s](from, target, n);
    from = target;
    next ^= 1;
  }
}

static void cast_shard(void* data, int64_t begin, int64_t end) {
  const leat_cast_job_t* job = data;
  const leat_cast_t* cast = job->cast;
  if (cast->step_count == 1 && !cast->truncated_bits) {
    cast->steps[0](job->input + begin * cast->input_size, job->output + begin * cast->output_size,
                   end - begin);
    return;
  }
  for (int64_t i = begin; i < end; i += BLOCK) {
    cast_block(cast, job->input + i * cast->input_size, job->output + i * cast->output_size,
               LEAT_MIN(end - i, BLOCK));
  }
}

// Output 0 is the input's bytes as |dtype| and |shape|.
static void share_as(leat_kernel_context_t* c, int dtype, const leat_shape_t* shape) {
  leat_tensor_t tensor = leat_tensor_share(leat_kernel_input(c, 0));
  leat_shape_release(&tensor.shape);
  tensor.shape = leat_shape_retain(shape);
  tensor.dtype = dtype;
  leat_kernel_set_output(c, 0, tensor);
}

static leat_status_t cast__cpu(leat_kernel_context_t* c) {
  const leat_cast_t* cast = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  if (cast->step_count == 0) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  if (!cast->steps[0]) {
    share_as(c, leat_dtype_base(c->kernel->output_types[0]), &input->shape);
    return leat_ok_status();
  }
  leat_tensor_t* output;
  leat_cast_job_t job = {.cast = cast, .input = input->data};
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, &output));
  job.output = output->data;
  leat_kernel_parallel_for(c, input->shape.element_count, 0.2 + 0.2 * cast->step_count, cast_shard,
                           &job);
  return leat_ok_status();
}

// ---- Bitcast ------------------------------------------------------------------------------------

static leat_status_t bitcast__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  int to = leat_dtype_base(c->kernel->output_types[0]);
  int64_t from_size = (int64_t)leat_dtype_size(input->dtype);
  int64_t to_size = (int64_t)leat_dtype_size(to);
  int rank = input->shape.rank;
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  memcpy(dims, leat_shape_dims(&input->shape), (size_t)rank * sizeof *dims);
  if (from_size > to_size) {
    dims[rank++] = from_size / to_size;
  } else if (from_size < to_size) {
    if (rank == 0 || dims[rank - 1] != to_size / from_size) {
      return leat_kernel_invalid(c, "input is %s, must have a last dimension of %lld",
                                 LEAT_SHAPE_TEXT(&input->shape), (long long)(to_size / from_size));
    }
    --rank;
  }
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  share_as(c, to, &shape);
  leat_shape_release(&shape);
  return leat_ok_status();
}

const leat_kernel_row_t leat_cast_kernels_cpu[] = {
    {.op = "Cast",
     .device_type = "CPU",
     .create = create_cast,
     .state_bytes = sizeof(leat_cast_t),
     .compute = cast__cpu},
    {.op = "Bitcast", .device_type = "CPU", .compute = bitcast__cpu},
    LEAT_KERNEL_ROWS_END,
};
