// The CPU kernels of CheckNumerics and CheckNumericsV2, which pass the input on unless it holds an
// infinity or a NaN. Without its sign, a floating-point number's bits compare as an integer does,
// and the finite numbers are those below infinity:
//
//   bits without sign      finite < infinity < NaN
//
// One fast pass, on several threads and with vectors, finds the largest of them in each shard
// (numerics_isa.h). Only when that is not finite does a second pass find out what to say.
// Infinity's bits are data, so that one code serves half and bfloat16.
#include "base/sync.h"

#include "ops/array/numerics_cpu.h"
#include "ops/kernel_rows.h"

enum { FOUND_NAN = 1, FOUND_NEGATIVE_INF = 2, FOUND_POSITIVE_INF = 4 };

typedef struct numerics_state_s {
  leat_string_view_t message;
  leat_allocator_t* allocator;
  bool tells_signs;
} numerics_state_t;

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  numerics_state_t* state = memory;
  leat_string_view_t message;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(creation, "message", &message));
  state->allocator = creation->allocator;
  state->tells_signs =
      leat_string_view_equals(creation->kernel->op->name, "CheckNumericsV2");
  if (message.size == 0) return leat_ok_status();
  void* copy = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(creation->allocator, message.size, &copy));
  memcpy(copy, message.data, message.size);
  state->message = leat_string_view_make(copy, message.size);
  return leat_ok_status();
}

static void destroy(void* memory) {
  numerics_state_t* state = memory;
  if (state->message.data) leat_allocator_free(state->allocator, (void*)state->message.data);
}

// ---- Bits ---------------------------------------------------------------------------------------

#define T uint16_t
#define FN(name) name##_16
#include "ops/array/numerics_classify.inc"

#define T uint32_t
#define FN(name) name##_32
#include "ops/array/numerics_classify.inc"

#define T uint64_t
#define FN(name) name##_64
#include "ops/array/numerics_classify.inc"

static uint16_t infinity_16(int dtype) { return dtype == LEAT_DTYPE_HALF ? 0x7c00 : 0x7f80; }

// The second pass: which of NaN and the two infinities are among the elements.
static int classify(const leat_tensor_t* tensor) {
  int64_t count = tensor->shape.element_count;
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT:
      return classify_32(tensor->data, count, UINT32_C(0x7f800000));
    case LEAT_DTYPE_DOUBLE:
      return classify_64(tensor->data, count, UINT64_C(0x7ff0000000000000));
    default:
      return classify_16(tensor->data, count, infinity_16(tensor->dtype));
  }
}

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct scan_s {
  const leat_tensor_t* tensor;
  atomic_bool is_bad;
} scan_t;

// The first pass over a shard. Shards only ever set the flag, and it is read when all have ended,
// so that relaxed order is enough.
static void scan_shard(void* data, int64_t begin, int64_t end) {
  scan_t* scan = data;
  const leat_numerics_loops_t* loops = LEAT_ISA_SELECT(leat_numerics_loops);
  const void* items = scan->tensor->data;
  int dtype = scan->tensor->dtype;
  bool is_bad = dtype == LEAT_DTYPE_FLOAT
                    ? loops->largest_32((const uint32_t*)items + begin, end - begin) >= 0x7f800000
                : dtype == LEAT_DTYPE_DOUBLE
                    ? loops->largest_64((const uint64_t*)items + begin, end - begin) >=
                          UINT64_C(0x7ff0000000000000)
                    : loops->largest_16((const uint16_t*)items + begin, end - begin) >=
                          infinity_16(dtype);
  if (is_bad) atomic_store_explicit(&scan->is_bad, true, memory_order_relaxed);
}

// CheckNumericsV2 (|tells_signs|) tells the two infinities apart, CheckNumerics does not.
static const char* words(int found, bool tells_signs) {
  static const char* const plain[] = {"", "NaN", "Inf", "Inf and NaN"};
  static const char* const with_signs[] = {
      "",     "NaN",          "-Inf",          "-Inf and NaN",
      "+Inf", "+Inf and NaN", "-Inf and +Inf", "-Inf, +Inf, and NaN"};
  if (tells_signs) return with_signs[found];
  return plain[(found & FOUND_NAN) | (found & ~FOUND_NAN ? 2 : 0)];
}

static leat_status_t check_numerics__cpu(leat_kernel_context_t* c) {
  const numerics_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  scan_t scan = {.tensor = input};
  double cost = (double)leat_dtype_size(input->dtype) * 0.03;
  leat_kernel_parallel_for(c, input->shape.element_count, cost, scan_shard, &scan);
  if (LEAT_UNLIKELY(scan.is_bad)) {
    return leat_kernel_invalid(c, "%.*s : Tensor had %s values", LEAT_SV_ARG(state->message),
                               words(classify(input), state->tells_signs));
  }
  leat_kernel_pass_input(c, 0, 0);
  return leat_ok_status();
}

#define NUMERICS_ROW(name)                                                            \
  LEAT_CPU_KERNEL(name, "T: bfloat16, double, float, half", numerics_state_t, create, \
                  check_numerics__cpu, .destroy = destroy)

const leat_kernel_row_t leat_numerics_kernels_cpu[] = {
    NUMERICS_ROW("CheckNumerics"),
    NUMERICS_ROW("CheckNumericsV2"),
    LEAT_KERNEL_ROWS_END,
};
