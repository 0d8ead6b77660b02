// What a worker of tf.data's service answers when it is asked for an element.
#ifndef LEAT_OPS_DATASET_DATA_SERVICE_ELEMENT_CPU_H_
#define LEAT_OPS_DATASET_DATA_SERVICE_ELEMENT_CPU_H_

#include "ops/dataset/element_spec_cpu.h"

typedef enum leat_service_answer_e {
  LEAT_SERVICE_ELEMENT,
  LEAT_SERVICE_END,      // the worker's task has no more elements
  LEAT_SERVICE_SKIPPED,  // it has none in this round
} leat_service_answer_t;

// Reads |answer|, a GetElementResponse. An element is as |spec| says; |out_element| has room for
// its components, which are then the caller's. INVALID_ARGUMENT for bytes that are no such message,
// and for an element that is not as |spec| says.
LEAT_MUST_USE leat_status_t leat_service_element_read(leat_string_view_t answer,
                                                      const leat_element_spec_t* spec,
                                                      leat_tensor_t* out_element,
                                                      leat_service_answer_t* out_kind);

#endif  // LEAT_OPS_DATASET_DATA_SERVICE_ELEMENT_CPU_H_
