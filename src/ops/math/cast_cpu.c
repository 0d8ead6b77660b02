// The CPU kernels of Cast and Bitcast. With 20 types a loop for each pair would be 400 loops;
// instead a cast is a chain of one to three loops through a pivot, a type that holds the source
// type exactly:
//
//   int8   ─load─▶ int32 ─store─▶ double
//   half   ─load─▶ float ─store─▶ int64
//   double ─[truncate]─▶ double ─store─▶ float ─store─▶ half
//   complex64 ─real part─▶ float ─store─▶ half
//
// create_cast plans the chain once, as the loop and the chain of an elementwise kernel, so that the
// engine (elementwise_cpu.h) runs it block by block and the fused interpreter can too. A chain of
// more than one loop keeps its intermediate blocks in the cache. Casts between a quantized type and
// its integers, and Bitcast, share the input's bytes. The attribute Truncate drops the low bits of
// the source before a cast that would otherwise round to nearest.
#include <string.h>

#include "ops/kernel_rows.h"
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/loops_cpu.h"

// ---- Creation -----------------------------------------------------------------------------------

// The integer type whose values a quantized type stores; any other type is itself.
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

// The pivot of a type, which holds all its values exactly; -1: the type cannot be cast.
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

// The loop that widens |dtype| to its pivot, or that stores |pivot| as |dtype|: of this machine's
// instruction set if it has one, else of the baseline; NULL if there is none.
static leat_elementwise_loop_t load_step(int dtype) {
  leat_elementwise_loop_t step = LEAT_ISA_SELECT(leat_cast_steps)->load[dtype];
  return step ? step : leat_cast_steps_base.load[dtype];
}
static leat_elementwise_loop_t store_step(int pivot, int dtype) {
  leat_elementwise_loop_t step = LEAT_ISA_SELECT(leat_cast_steps)->store[pivot][dtype];
  return step ? step : leat_cast_steps_base.store[pivot][dtype];
}

// X(from, to, the unsigned type of |from|'s bits, the bits of its infinity or largest number (above
// it are NaNs), the count of low bits that |to| cannot hold). These casts truncate as TensorFlow
// does, by clearing the low bits, even where the result is a denormal of |to|. All other casts
// round.
#define TRUNCATIONS(X)                                                     \
  X(DOUBLE, FLOAT, uint64_t, UINT64_C(0x7ff0000000000000), 29)             \
  X(DOUBLE, HALF, uint64_t, UINT64_C(0x7ff0000000000000), 42)              \
  X(DOUBLE, FLOAT8_E4M3FN, uint64_t, UINT64_C(0x7ff0000000000000), 49)     \
  X(DOUBLE, FLOAT8_E5M2, uint64_t, UINT64_C(0x7ff0000000000000), 50)       \
  X(FLOAT, HALF, uint32_t, 0x7f800000, 13)                                 \
  X(FLOAT, BFLOAT16, uint32_t, 0x7f800000, 16)                             \
  X(FLOAT, FLOAT8_E4M3FN, uint32_t, 0x7f800000, 20)                        \
  X(FLOAT, FLOAT8_E5M2, uint32_t, 0x7f800000, 21)                          \
  X(HALF, FLOAT8_E4M3FN, uint16_t, 0x7c00, 7)                              \
  X(HALF, FLOAT8_E5M2, uint16_t, 0x7c00, 8)                                \
  X(BFLOAT16, FLOAT8_E4M3FN, uint16_t, 0x7f80, 4)                          \
  X(BFLOAT16, FLOAT8_E5M2, uint16_t, 0x7f80, 5)                            \
  X(FLOAT8_E4M3FN, FLOAT8_E5M2, uint8_t, 0x7e, 1)
#define TRUNCATE(from, to, bits, most, cleared)                            \
  LEAT_LOOP_UNARY(truncate_##from##_##to, bits, bits,                      \
                  (x & (bits)~(bits)0 >> 1) > most ? x : x >> cleared << cleared)
TRUNCATIONS(TRUNCATE)

// The loop that truncates before a cast of |from| to |to|; NULL: nothing is truncated.
static leat_elementwise_loop_t truncate_step(int from, int to) {
  static const struct {
    uint8_t from, to;
    leat_elementwise_loop_t loop;
  } kTruncations[] = {
#define ENTRY(from, to, bits, most, cleared) \
  {LEAT_DTYPE_##from, LEAT_DTYPE_##to, truncate_##from##_##to},
      TRUNCATIONS(ENTRY)
#undef ENTRY
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTruncations); ++i) {
    if (kTruncations[i].from == from && kTruncations[i].to == to) return kTruncations[i].loop;
  }
  return NULL;
}

typedef struct steps_s {
  leat_elementwise_loop_t items[1 + LEAT_ELEMENTWISE_MAX_CHAIN];
  int count;
} steps_t;

static void add_step(steps_t* steps, leat_elementwise_loop_t step) {
  if (step) steps->items[steps->count++] = step;
}

// Plans the chain of a cast; false where there is none. 4-bit integers cast to and from integers
// only.
static bool plan_steps(int from, int to, bool truncates, steps_t* steps) {
  int pivot = pivot_of(from);
  if (pivot < 0) return false;
  const leat_dtype_set_t kFourBits = LEAT_DTYPE_BIT(INT4) | LEAT_DTYPE_BIT(UINT4);
  if (leat_dtype_in(from, kFourBits) && !leat_dtype_in(to, kFourBits | LEAT_DTYPES_INTEGER)) {
    return false;
  }
  if (truncates) add_step(steps, truncate_step(from, to));
  add_step(steps, load_step(from));
  if (store_step(pivot, to)) {
    add_step(steps, store_step(pivot, to));
    return true;
  }
  if (pivot == LEAT_CAST_C64 || pivot == LEAT_CAST_C128) {
    add_step(steps, pivot == LEAT_CAST_C64 ? leat_cast_steps_base.real_c64
                                           : leat_cast_steps_base.real_c128);
    pivot = pivot == LEAT_CAST_C64 ? LEAT_CAST_F32 : LEAT_CAST_F64;
    if (to == (pivot == LEAT_CAST_F32 ? LEAT_DTYPE_FLOAT : LEAT_DTYPE_DOUBLE)) return true;
  }
  if (!store_step(pivot, to)) {  // types narrower than float are stored from float only
    if (!store_step(LEAT_CAST_F32, to) || pivot == LEAT_CAST_F32) return false;
    add_step(steps, store_step(pivot, LEAT_DTYPE_FLOAT));
    pivot = LEAT_CAST_F32;
  }
  add_step(steps, store_step(pivot, to));
  return true;
}

// A cast of a type to itself gets a chain too, because a fused program may contain it; types of
// objects have none and are passed through by the kernel.
static leat_status_t create_cast(leat_kernel_creation_t* c, void* state) {
  leat_elementwise_t* e = state;
  const int from = leat_dtype_base(c->kernel->input_types[0]);
  const int to = leat_dtype_base(c->kernel->output_types[0]);
  bool truncates;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "Truncate", &truncates));
  steps_t steps = {.count = 0};
  if (!plan_steps(plain_type(from), plain_type(to), truncates, &steps) && from != to) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Create failed for node '%.*s' (Cast): Cast %s to %s is not supported",
                            LEAT_SV_ARG(c->kernel->node_name), leat_dtype_name(from),
                            leat_dtype_name(to));
  }
  e->input_count = 1;
  e->input_size[0] = (uint8_t)leat_dtype_size(from);
  e->output_size = (uint8_t)leat_dtype_size(to);
  e->cost_ns = 0.2f + 0.2f * (float)steps.count;
  e->in_blocks = steps.count > 1;
  e->loop = steps.items[0];
  memcpy(e->chain, steps.items + 1, sizeof e->chain);
  return leat_ok_status();
}

// ---- The run ------------------------------------------------------------------------------------

// Sets output 0 to the input's bytes under another type and shape.
static void share_as(leat_kernel_context_t* c, int dtype, const leat_shape_t* shape) {
  leat_tensor_t tensor = leat_tensor_share(leat_kernel_input(c, 0));
  leat_shape_release(&tensor.shape);
  tensor.shape = leat_shape_retain(shape);
  tensor.dtype = dtype;
  leat_kernel_set_output(c, 0, tensor);
}

// Types of one representation share the bytes, all others go through the chain.
static leat_status_t cast__cpu(leat_kernel_context_t* c) {
  const int from = leat_dtype_base(c->kernel->input_types[0]);
  const int to = leat_dtype_base(c->kernel->output_types[0]);
  if (plain_type(from) != plain_type(to)) return leat_elementwise_same__cpu(c);
  if (from == to) {
    leat_kernel_pass_input(c, 0, 0);
  } else {
    share_as(c, to, &leat_kernel_input(c, 0)->shape);
  }
  return leat_ok_status();
}

// ---- Bitcast ------------------------------------------------------------------------------------

// A wider type consumes the last dimension, a narrower one adds one: [2, 4] of uint8 is [2] of
// int32.
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
    LEAT_CPU_KERNEL("Cast", NULL, leat_elementwise_t, create_cast, cast__cpu,
                    .access = LEAT_ACCESS_SAME),
    // Not a part of fused nodes, whose steps are ops with rows of their own.
    LEAT_CPU_KERNEL("_HostCast", NULL, leat_elementwise_t, create_cast, cast__cpu),
    {.op = "Bitcast", .device_type = "CPU", .compute = bitcast__cpu},
    LEAT_KERNEL_ROWS_END,
};
