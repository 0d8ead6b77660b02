// What the files of this module share: the engine, and the guard that keeps oneDNN on one thread.
#ifndef LEAT_MODULES_ONEDNN_ONEDNN_ENGINE_H_
#define LEAT_MODULES_ONEDNN_ONEDNN_ENGINE_H_

#include <dnnl.h>
#include <omp.h>

#include "device/cpu/onednn_module.h"

// The process's engine; NULL when oneDNN gave none. Made at the first call.
dnnl_engine_t onednn_engine(void);

// oneDNN reads OpenMP's number of threads, which belongs to the calling thread, when it makes and
// when it runs a primitive. Both happen between these two.
static inline int onednn_enter(void) {
  const int threads = omp_get_max_threads();
  if (threads != 1) omp_set_num_threads(1);
  return threads;
}
static inline void onednn_leave(int threads) {
  if (threads != 1) omp_set_num_threads(threads);
}

// As a leat_status_code_t.
int onednn_code(dnnl_status_t status);

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
