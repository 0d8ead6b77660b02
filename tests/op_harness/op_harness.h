// One declaration of cases drives every check of an op (STYLE 19). A test file is
//
//   static const leat_op_case_t kCases[] = {
//       {.op = "MatMul",
//        .attrs = {LEAT_CASE_BOOL("transpose_b", true)},
//        .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 3), -1, 1),
//                   LEAT_RANDOM(FLOAT, LEAT_DIMS(4, 3), -1, 1)},
//        .types = LEAT_DTYPES_FLOATING,   // again in each of these types
//        .reference = matmul_reference, // or .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 4), ...)}
//        .gradient = LEAT_GRADIENT_TWICE},
//       {.op = "MatMul", .inputs = {...}, .code = LEAT_INVALID_ARGUMENT, .message = "matrix"},
//   };
//   LEAT_OP_TEST_MAIN(kCases)
//
// and each case is checked so:
//   shape      the node is built over constants, over placeholders of full shape and over
//              placeholders that say nothing: each inferred shape must admit the result
//   value      against the reference or the literal: on borrowed inputs (which must not change), on
//              inputs that may be overwritten, on unaligned ones, with and without a pool
//   device     on the simulated accelerator, where it has a kernel: the CPU's bits
//   gradient   leat_add_gradients against central differences in double, shapes known and unknown
//   error      the code, when the node is built or when it runs; it must not pass on any way
//   speed      LEAT_BENCH=1 prints a line for each case with .bench (LEAT_BENCH_THREADS: the pool)
// The whole file runs once per instruction set (LEAT_ISA=base|avx2|avx512 selects one).
// LEAT_CASE=text runs the cases whose name contains it.
//
// Every family below src/ops/ is registered. Kernels run one node at a time by leat_kernel_invoke;
// no session takes part.
#ifndef LEAT_OP_HARNESS_H_
#define LEAT_OP_HARNESS_H_

#include "graph/builder.h"

#define LEAT_CASE_MAX_VALUES 12
#define LEAT_CASE_MAX_RANK 8
#define LEAT_CASE_MAX_ATTRS 12

// What an input is besides its value.
typedef enum leat_case_role_e {
  LEAT_CASE_VALUE = 0,
  LEAT_CASE_REFERENCE,  // a reference to a variable of this value
  LEAT_CASE_HANDLE,     // a resource handle of a variable of this value
} leat_case_role_t;

// A tensor written down. Numbers are doubles (complex: real, imaginary in turn), strings are
// NUL-terminated. Neither: pseudo-random numbers in [low, high), the same in every run.
typedef struct leat_case_value_s {
  int dtype;  // 0 ends a list
  int rank;
  int64_t dims[LEAT_CASE_MAX_RANK];
  const double* items;
  const char* const* strings;
  int64_t item_count;
  double low, high;
  leat_case_role_t role;
} leat_case_value_t;

#define LEAT_DIMS(...)                                                 \
  .rank = (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
  .dims = {__VA_ARGS__}
#define LEAT_SCALAR_DIMS .rank = 0
// LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 3, 4)
#define LEAT_ITEMS(DTYPE, DIMS, ...)                                    \
  {.dtype = LEAT_DTYPE_##DTYPE, DIMS,                                   \
   .items = (const double[]){__VA_ARGS__},                              \
   .item_count = (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double))}
#define LEAT_NO_ITEMS(DTYPE, DIMS) {.dtype = LEAT_DTYPE_##DTYPE, DIMS}  // a size is 0
#define LEAT_SCALAR_ITEM(DTYPE, value) LEAT_ITEMS(DTYPE, LEAT_SCALAR_DIMS, value)
#define LEAT_RANDOM(DTYPE, DIMS, from, to) \
  {.dtype = LEAT_DTYPE_##DTYPE, DIMS, .low = (from), .high = (to)}
#define LEAT_TEXTS(DIMS, ...)                                                   \
  {.dtype = LEAT_DTYPE_STRING, DIMS, .strings = (const char* const[]){__VA_ARGS__}, \
   .item_count = (int64_t)(sizeof((const char* const[]){__VA_ARGS__}) / sizeof(char*))}
#define LEAT_REFERENCE_TO(DTYPE, DIMS, ...)                             \
  {.dtype = LEAT_DTYPE_##DTYPE, DIMS, .role = LEAT_CASE_REFERENCE,      \
   .items = (const double[]){__VA_ARGS__},                              \
   .item_count = (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double))}
#define LEAT_HANDLE_OF(DTYPE, DIMS, ...)                                \
  {.dtype = LEAT_DTYPE_##DTYPE, DIMS, .role = LEAT_CASE_HANDLE,         \
   .items = (const double[]){__VA_ARGS__},                              \
   .item_count = (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double))}

// Attributes as static data (the literals of graph/op/attr.h are for code):
//   .attrs = {LEAT_CASE_BOOL("transpose_b", true), LEAT_CASE_INTS("strides", 1, 2, 2, 1)}
#define LEAT_CASE_ATTR_(attr, ...) {.name = {"" attr, sizeof(attr) - 1}, .value = {__VA_ARGS__}}
#define LEAT_CASE_STR(attr, literal) \
  LEAT_CASE_ATTR_(attr, .kind = LEAT_ATTR_STRING, .s = {"" literal, sizeof(literal) - 1})
#define LEAT_CASE_INT(attr, v) LEAT_CASE_ATTR_(attr, .kind = LEAT_ATTR_INT, .i = (v))
#define LEAT_CASE_REAL(attr, v) LEAT_CASE_ATTR_(attr, .kind = LEAT_ATTR_FLOAT, .f = (v))
#define LEAT_CASE_BOOL(attr, v) LEAT_CASE_ATTR_(attr, .kind = LEAT_ATTR_BOOL, .b = (v))
#define LEAT_CASE_TYPE(attr, DTYPE) \
  LEAT_CASE_ATTR_(attr, .kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_##DTYPE)
#define LEAT_CASE_LIST_(attr, k, type, member, ...)                            \
  LEAT_CASE_ATTR_(attr, .kind = (k), .is_list = true,                          \
                  .count = (uint32_t)(sizeof((const type[]){__VA_ARGS__}) / sizeof(type)), \
                  .member = (const type[]){__VA_ARGS__})
#define LEAT_CASE_INTS(attr, ...) LEAT_CASE_LIST_(attr, LEAT_ATTR_INT, int64_t, ints, __VA_ARGS__)
#define LEAT_CASE_FLOATS(attr, ...) \
  LEAT_CASE_LIST_(attr, LEAT_ATTR_FLOAT, float, floats, __VA_ARGS__)
#define LEAT_CASE_BOOLS(attr, ...) LEAT_CASE_LIST_(attr, LEAT_ATTR_BOOL, bool, bools, __VA_ARGS__)
// LEAT_DTYPE_FLOAT, ...
#define LEAT_CASE_TYPES(attr, ...) \
  LEAT_CASE_LIST_(attr, LEAT_ATTR_TYPE, int32_t, types, __VA_ARGS__)
#define LEAT_CASE_SHAPE(attr, ...)                                                \
  LEAT_CASE_ATTR_(attr, .kind = LEAT_ATTR_SHAPE,                                  \
                  .shape = {(int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                            (const int64_t[]){__VA_ARGS__}})

struct leat_op_case_s;

// What a reference function sees: inputs as doubles (complex: pairs; strings: NULL) and as tensors,
// the shapes the op gave its outputs, and the numbers to write.
typedef struct leat_reference_s {
  const struct leat_op_case_s* op_case;
  int input_count;
  const double* const* in;
  const leat_tensor_t* inputs;
  int output_count;
  const leat_tensor_t* outputs;  // as the kernel gave them: for their shapes
  double* const* out;
} leat_reference_t;
typedef void (*leat_reference_fn_t)(const leat_reference_t* r);

typedef enum leat_case_gradient_e {
  LEAT_GRADIENT_UNCHECKED = 0,
  LEAT_GRADIENT_ONCE,
  LEAT_GRADIENT_TWICE,  // and the gradient's own gradient
} leat_case_gradient_t;

typedef struct leat_op_case_s {
  const char* op;
  const char* name;    // told apart in the output; NULL: the op's
  // Up to one without a name; type and number attributes follow from the inputs.
  leat_attr_t attrs[LEAT_CASE_MAX_ATTRS];
  leat_case_value_t inputs[LEAT_CASE_MAX_VALUES];
  // Again with every input (and type attribute) of input 0's type in each of these types.
  leat_dtype_set_t types;

  leat_reference_fn_t reference;
  leat_case_value_t expected[LEAT_CASE_MAX_VALUES];  // dtype, shape and items
  leat_case_value_t after[LEAT_CASE_MAX_VALUES];     // of variables among the inputs, by input
  double tolerance;  // relative above 1, absolute below; not under that of the type
  bool exact;        // no tolerance at all, because the rounding is what the case is about

  leat_case_gradient_t gradient;
  uint32_t constant_inputs;   // bit i: no gradient is asked for input i
  double gradient_tolerance;  // 0: 1e-5

  leat_status_code_t code;  // the case must fail so
  const char* message;      // and say this

  bool bench;       // a line of speed under LEAT_BENCH=1
  bool bench_only;  // too large for the other checks
} leat_op_case_t;

// Runs the cases as cmocka tests, once per instruction set; the process's exit status.
int leat_op_cases_main(const char* file, const leat_op_case_t* cases, size_t count);
#define LEAT_OP_TEST_MAIN(cases)                                                     \
  int main(void) {                                                                   \
    return leat_op_cases_main(__FILE__, (cases), sizeof(cases) / sizeof((cases)[0])); \
  }

#endif  // LEAT_OP_HARNESS_H_
