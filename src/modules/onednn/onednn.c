// The oneDNN module's table of functions, its engine, and the matrix product. The library loads the
// module at run time if it is there (device/cpu), so that nothing else links oneDNN.
#include <stdio.h>

#include "base/status.h"
#include "base/sync.h"
#include "modules/onednn/onednn_engine.h"

dnnl_engine_t onednn_engine(void) {
  static _Atomic(dnnl_engine_t) made;
  dnnl_engine_t engine = atomic_load(&made);
  if (engine) return engine;
  if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) return NULL;
  dnnl_engine_t expected = NULL;
  if (atomic_compare_exchange_strong(&made, &expected, engine)) return engine;
  dnnl_engine_destroy(engine);
  return expected;
}

int onednn_code(dnnl_status_t status) {
  switch (status) {
    case dnnl_success: return LEAT_OK;
    case dnnl_out_of_memory: return LEAT_RESOURCE_EXHAUSTED;
    case dnnl_invalid_arguments: return LEAT_INVALID_ARGUMENT;
    case dnnl_unimplemented: return LEAT_UNIMPLEMENTED;
    default: return LEAT_INTERNAL;
  }
}

static int run_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float* a, int64_t lda, const float* b, int64_t ldb,
                    float beta, float* c, int64_t ldc) {
  const int threads = onednn_enter();
  dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k,
                                    alpha, a, lda, b, ldb, beta, c, ldc);
  onednn_leave(threads);
  return onednn_code(status);
}

__attribute__((visibility("default"))) const leat_onednn_module_t* leat_module_onednn(void) {
  static char version[32];
  static leat_onednn_module_t module = {
      .struct_size = sizeof(leat_onednn_module_t),
      .version = version,
      .gemm_f32 = run_gemm,
      .convolution_create = onednn_convolution_create,
      .convolution_destroy = onednn_convolution_destroy,
      .convolution_name = onednn_convolution_name,
      .convolution_scratch_bytes = onednn_convolution_scratch_bytes,
      .convolution_execute = onednn_convolution_execute,
      .convolution_packed_filter_bytes = onednn_convolution_packed_filter_bytes,
      .convolution_pack_filter = onednn_convolution_pack_filter,
      .convolution_execute_packed = onednn_convolution_execute_packed,
  };
  const dnnl_version_t* found = dnnl_version();
  if (found->major != 2 || !onednn_engine()) return NULL;
  snprintf(version, sizeof version, "%d.%d.%d", found->major, found->minor, found->patch);
  return &module;
}
