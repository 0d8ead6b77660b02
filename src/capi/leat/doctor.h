// The measurements behind leat_doctor_json.
#ifndef LEAT_CAPI_LEAT_DOCTOR_H_
#define LEAT_CAPI_LEAT_DOCTOR_H_

#include "base/status.h"

// Each figure is the best or the mean of several runs. Speeds are in 10^9 per second; "all" means
// all cores at the same time.
typedef struct leat_doctor_figures_s {
  double multiply_add, multiply_add_all;  // float operations in registers
  // Floating-point operations of a 768 x 768 x 768 product on one core. 0: there is no such module
  // or matrix unit.
  double gemm_portable, gemm_onednn, gemm_matrix_unit;
  double read, read_all;                  // bytes from memory
  double copy, copy_all;                  // bytes read and written
  double futex_wake_us;                   // until a thread that sleeps on another core runs
  // until a thread that spins on another core sees a word change
  double handover_us;
  double null_step_us;                    // TF_SessionRun of one scalar through Identity
} leat_doctor_figures_t;

LEAT_MUST_USE leat_status_t leat_doctor_measure(leat_doctor_figures_t* out_figures);

#endif  // LEAT_CAPI_LEAT_DOCTOR_H_
