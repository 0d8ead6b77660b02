// What the sources of this module share: the engine, the guard that keeps oneDNN on one thread, and
// the functions of the module's table. The module is a shared library of its own,
// leat_module_onednn.so, that the library loads at run time if it is there;
// device/cpu/onednn_module.h is its whole interface. A function of the table brackets its calls of
// oneDNN:
//
//   const int threads = onednn_enter();
//   dnnl_status_t status = dnnl_primitive_execute(...);
//   onednn_leave(threads);
//   return onednn_code(status);
#ifndef LEAT_MODULES_ONEDNN_ONEDNN_ENGINE_H_
#define LEAT_MODULES_ONEDNN_ONEDNN_ENGINE_H_

#include <dnnl.h>
#include <omp.h>

#include "device/cpu/onednn_module.h"

// The engine of this process, made by the first call and kept until the process ends; NULL where
// oneDNN gave none. Thread-safe.
dnnl_engine_t onednn_engine(void);

// oneDNN reads OpenMP's number of threads, a setting of the calling thread, when it makes a
// primitive and when it runs one. Both happen between these two functions, which set it to 1 and
// back, because the library's own pool divides the work already. onednn_enter returns the number
// that onednn_leave restores.
static inline int onednn_enter(void) {
  const int threads = omp_get_max_threads();
  if (threads != 1) omp_set_num_threads(1);
  return threads;
}
static inline void onednn_leave(int threads) {
  if (threads != 1) omp_set_num_threads(threads);
}

// Translates to a leat_status_code_t.
int onednn_code(dnnl_status_t status);

// The convolutions of the module's table; device/cpu/onednn_module.h says what each function does.
// Those that return int return a leat_status_code_t.
int onednn_convolution_create(leat_convolution_direction_t direction,
                              const leat_convolution_shape_t* shape, int flags,
                              leat_onednn_convolution_t** out_convolution);
void onednn_convolution_destroy(leat_onednn_convolution_t* convolution);
const char* onednn_convolution_name(const leat_onednn_convolution_t* convolution);
size_t onednn_convolution_scratch_bytes(const leat_onednn_convolution_t* convolution);
int onednn_convolution_execute(leat_onednn_convolution_t* convolution, const float* first,
                               const float* second, const float* bias, float* result,
                               void* scratch);
size_t onednn_convolution_packed_filter_bytes(const leat_onednn_convolution_t* convolution);
int onednn_convolution_pack_filter(leat_onednn_convolution_t* convolution, const float* filter,
                                   void* packed, void* scratch);
int onednn_convolution_execute_packed(leat_onednn_convolution_t* convolution, const float* data,
                                      const void* packed_filter, const float* bias, float* result,
                                      void* scratch);

#endif  // LEAT_MODULES_ONEDNN_ONEDNN_ENGINE_H_
