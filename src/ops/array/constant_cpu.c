// The CPU kernels of the ops that make tensors of given values. That of Const holds the tensor, and
// the outputs of all steps share its bytes.
//
// Fill, ZerosLike and OnesLike make tensors of one value; Empty leaves the contents undefined
// unless the node asks for zeros. A value whose bytes are all zero is written by memset, on several
// threads where that pays; any other value by a strided copy with a source stride of 0
// (strided_cpu.h). ZerosLike and OnesLike take the bytes of the input where nobody else needs them,
// because they read only its shape.
//
// Objects (strings, variants) are never zeroed by bytes: an output of objects is allocated with
// empty ones, and the zeros of variants depend on what the input's variants hold.
#include "base/checked.h"
#include "kernel/tensor_sum.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// ---- Const --------------------------------------------------------------------------------------

typedef struct constant_state_s {
  leat_tensor_t value;
} constant_state_t;

static leat_status_t create_constant(leat_kernel_creation_t* creation, void* memory) {
  constant_state_t* state = memory;
  const leat_tensor_t* value;
  int dtype;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_tensor(creation, "value", &value));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(creation, "dtype", &dtype));
  if (value->dtype != dtype) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Kernel creation failed for node '%.*s' (%s): type of value is %s, "
                            "must be dtype, which is %s",
                            LEAT_SV_ARG(creation->kernel->node_name), creation->kernel->row->op,
                            leat_dtype_name(value->dtype), leat_dtype_name(dtype));
  }
  state->value = leat_tensor_share(value);
  return leat_ok_status();
}

static void destroy_constant(void* memory) {
  constant_state_t* state = memory;
  leat_tensor_release(&state->value);
}

static leat_status_t constant__cpu(leat_kernel_context_t* c) {
  const constant_state_t* state = leat_kernel_state(c);
  leat_kernel_set_output(c, 0, leat_tensor_share(&state->value));
  return leat_ok_status();
}

// ---- Fill ---------------------------------------------------------------------------------------

// Reads the shape that a vector of sizes states. Old graphs have a scalar, for a vector of that
// size.
static leat_status_t read_shape(const leat_kernel_context_t* c, const leat_tensor_t* sizes,
                                leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int64_t rank = sizes->shape.element_count;
  if (sizes->shape.rank > 1 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "dims has shape %s, must be a vector of at most %d sizes",
                               LEAT_SHAPE_TEXT(&sizes->shape), LEAT_SHAPE_MAX_RANK);
  }
  for (int64_t d = 0; d < rank; ++d) dims[d] = leat_tensor_index_at(sizes, d);
  return leat_shape_create((int)rank, dims, out_shape);
}

// Says whether all bytes of the scalar |value| are 0. A negative zero has a bit set, and is none.
static bool is_zero(const leat_tensor_t* value) {
  const char* bytes = value->data;
  size_t size = leat_dtype_size(value->dtype);
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i]) return false;
  }
  return true;
}

static void zero_shard(void* data, int64_t begin, int64_t end) {
  memset((char*)data + begin, 0, (size_t)(end - begin));
}
static void fill_zero(const leat_kernel_context_t* c, leat_tensor_t* tensor) {
  leat_kernel_parallel_for(c, (int64_t)leat_tensor_size_bytes(tensor), 0.04, zero_shard,
                           tensor->data);
}

static leat_status_t fill_with(const leat_kernel_context_t* c, leat_tensor_t* output,
                               const leat_tensor_t* value) {
  if (!leat_dtype_is_object(output->dtype) && is_zero(value)) {
    fill_zero(c, output);
    return leat_ok_status();
  }
  leat_strided_t block;
  leat_strided_begin(&block, output->dtype);
  leat_strided_add(&block, output->shape.element_count, 1, 0);
  return leat_strided_copy(c, &block, value->data, output->data);
}

static leat_status_t fill__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* value = leat_kernel_input(c, 1);
  if (value->shape.element_count != 1) {
    return leat_kernel_invalid(c, "value has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&value->shape));
  }
  leat_shape_t shape;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(read_shape(c, leat_kernel_input(c, 0), &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  if (!status) status = fill_with(c, output, value);
  leat_shape_release(&shape);
  return status;
}

// ---- ZerosLike and OnesLike ---------------------------------------------------------------------

static leat_status_t zeros_like__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  if (leat_dtype_is_object(input->dtype)) {
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
    return leat_tensor_fill_zeros_like(input, output);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, &output));
  fill_zero(c, output);
  return leat_ok_status();
}

// Returns the address of a one of |dtype|, which OnesLike takes.
static const void* one_of(int dtype) {
  static const float of_float = 1;
  static const double of_double = 1;
  static const uint64_t of_integer = 1;  // little-endian: the first bytes are a 1 of any width
  static const uint16_t of_half = 0x3c00, of_bfloat16 = 0x3f80;
  static const leat_complex64_t of_complex64 = 1;
  static const leat_complex128_t of_complex128 = 1;
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return &of_float;
    case LEAT_DTYPE_DOUBLE: return &of_double;
    case LEAT_DTYPE_HALF: return &of_half;
    case LEAT_DTYPE_BFLOAT16: return &of_bfloat16;
    case LEAT_DTYPE_COMPLEX64: return &of_complex64;
    case LEAT_DTYPE_COMPLEX128: return &of_complex128;
    default: return &of_integer;
  }
}

static leat_status_t ones_like__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, &output));
  leat_strided_t block;
  leat_strided_begin(&block, output->dtype);
  leat_strided_add(&block, output->shape.element_count, 1, 0);
  return leat_strided_copy(c, &block, one_of(output->dtype), output->data);
}

// ---- Empty --------------------------------------------------------------------------------------

typedef struct empty_state_s {
  bool init;
} empty_state_t;

static leat_status_t create_empty(leat_kernel_creation_t* creation, void* memory) {
  empty_state_t* state = memory;
  return leat_kernel_attr_bool(creation, "init", &state->init);
}

static leat_status_t empty__cpu(leat_kernel_context_t* c) {
  const empty_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* sizes = leat_kernel_input(c, 0);
  leat_shape_t shape;
  leat_tensor_t* output;
  if (sizes->shape.rank != 1) {
    return leat_kernel_invalid(c, "shape has shape %s, must be a vector",
                               LEAT_SHAPE_TEXT(&sizes->shape));
  }
  LEAT_RETURN_IF_ERROR(read_shape(c, sizes, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  // Memory that nobody wrote may hold any number, but a bool must be 0 or 1.
  bool is_zeroed = state->init || c->kernel->output_types[0] == LEAT_DTYPE_BOOL;
  if (!status && is_zeroed && !leat_dtype_is_object(output->dtype)) fill_zero(c, output);
  leat_shape_release(&shape);
  return status;
}

#define FILL_TYPES \
  LEAT_TYPES_ALL ", qint8, qint16, qint32, quint8, quint16, int4, uint4"

#define CONSTANT(name)                     \
  {.op = name,                             \
   .device_type = "CPU",                   \
   .create = create_constant,              \
   .destroy = destroy_constant,            \
   .state_bytes = sizeof(constant_state_t), \
   .compute = constant__cpu}

const leat_kernel_row_t leat_constant_kernels_cpu[] = {
    CONSTANT("Const"),
    CONSTANT("HostConst"),
    {.op = "Fill",
     .device_type = "CPU",
     .constraints = "T: " FILL_TYPES "; index_type: " LEAT_TYPES_INDEX,
     .compute = fill__cpu},
    {.op = "ZerosLike",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_STRINGS ", variant",
     .compute = zeros_like__cpu},
    {.op = "OnesLike",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_PLAIN,
     .compute = ones_like__cpu},
    {.op = "Empty",
     .device_type = "CPU",
     .constraints = "dtype: " LEAT_TYPES_STRINGS,
     .create = create_empty,
     .state_bytes = sizeof(empty_state_t),
     .compute = empty__cpu},
    LEAT_KERNEL_ROWS_END,
};
