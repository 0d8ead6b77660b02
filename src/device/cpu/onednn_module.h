// The interface of leat_module_onednn.so: what oneDNN does for this library, as plain C functions,
// so that the library itself links none of it and runs without it. Every call runs on the calling
// thread alone (with one OpenMP thread; the caller's number is restored), makes no thread, and
// returns one of leat_status_code_t where it returns an int.
//
// A convolution is a primitive for one shape. It is made once (0.2 to 1 ms) and run many times, by
// several threads at once if each brings its own scratch memory.
#ifndef LEAT_DEVICE_CPU_ONEDNN_MODULE_H_
#define LEAT_DEVICE_CPU_ONEDNN_MODULE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/cpu/convolution.h"

// A primitive of oneDNN with its memory descriptions. It belongs to whoever made it.
typedef struct leat_onednn_convolution_s leat_onednn_convolution_t;

// A module that was built earlier takes 2 for a ReLU, so 2 must not get another meaning.
typedef enum leat_onednn_flags_e {
  LEAT_ONEDNN_BIAS = 1,  // FORWARD: |bias| [out_channels] is added
  // Runs are by execute_packed: the cost of packing the filter does not count.
  LEAT_ONEDNN_CONSTANT_FILTER = 4,
} leat_onednn_flags_t;

typedef struct leat_onednn_module_s {
  size_t struct_size;   // of the module's struct: a field past it is absent
  const char* version;  // "2.6.3"

  // Row-major C = alpha * op(A) * op(B) + beta * C; leading dimensions as in gemm.h.
  int (*gemm_f32)(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
                  const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                  int64_t ldc);

  // Makes a primitive; |flags| are of leat_onednn_flags_t. UNIMPLEMENTED when oneDNN has only its
  // slow reference code for the shape.
  int (*convolution_create)(leat_convolution_direction_t direction,
                            const leat_convolution_shape_t* shape, int flags,
                            leat_onednn_convolution_t** out_convolution);
  void (*convolution_destroy)(leat_onednn_convolution_t* convolution);  // NULL is allowed
  // The name that oneDNN gives to the code that it chose; the convolution owns it.
  const char* (*convolution_name)(const leat_onednn_convolution_t* convolution);
  // The bytes of scratch memory that execute needs, at 64-byte alignment.
  size_t (*convolution_scratch_bytes)(const leat_onednn_convolution_t* convolution);
  // Runs the primitive. |first|, |second| and |result| are those of leat_convolution_direction_t,
  // in plain NHWC and HWIO layouts. |bias| is read only with LEAT_ONEDNN_BIAS.
  int (*convolution_execute)(leat_onednn_convolution_t* convolution, const float* first,
                             const float* second, const float* bias, float* result, void* scratch);

  // A filter that stays the same over steps can be packed once: the bytes of its packed form (0
  // when the plain form serves), the packing, and a run with the packed form as the filter.
  size_t (*convolution_packed_filter_bytes)(const leat_onednn_convolution_t* convolution);
  int (*convolution_pack_filter)(leat_onednn_convolution_t* convolution, const float* filter,
                                 void* packed, void* scratch);
  int (*convolution_execute_packed)(leat_onednn_convolution_t* convolution, const float* data,
                                    const void* packed_filter, const float* bias, float* result,
                                    void* scratch);
} leat_onednn_module_t;

// The module's only exported symbol, `leat_module_onednn`, has this type.
typedef const leat_onednn_module_t* (*leat_onednn_module_fn_t)(void);
const leat_onednn_module_t* leat_module_onednn(void);

#endif  // LEAT_DEVICE_CPU_ONEDNN_MODULE_H_
