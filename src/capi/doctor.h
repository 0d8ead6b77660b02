// The measurements behind leat_doctor_json.
#ifndef LEAT_CAPI_DOCTOR_H_
#define LEAT_CAPI_DOCTOR_H_

#include "base/status.h"

// Each is the best of several runs; speeds are 10^9 a second, "all" means all cores at once.
typedef struct leat_doctor_figures_s {
  double multiply_add, multiply_add_all;  // float operations in registers
  // Of a 768 x 768 x 768 product, one core; 0: no module, or no unit.
  double gemm_portable, gemm_onednn, gemm_matrix_unit;
  double read, read_all;                  // bytes from memory
  double copy, copy_all;                  // bytes read and written
  double futex_wake_us;                   // until a thread that sleeps on another core runs
  double handover_us;                     // until one that spins there sees a word change
  double null_step_us;                    // TF_SessionRun of one scalar through Identity
} leat_doctor_figures_t;

LEAT_MUST_USE leat_status_t leat_doctor_measure(leat_doctor_figures_t* out_figures);

#endif  // LEAT_CAPI_DOCTOR_H_
