// How a worker gives the elements of a task to those who ask for them. A thread of the runner makes
// elements ahead; those who ask wait for one.
//
//   first come, first served   each element goes to whoever asks next
//   rounds                     in each round every consumer gets one element (coordinated reads)
//   shared                     every trainer gets every element, from a window of the last ones
#ifndef LEAT_DATA_SERVICE_TASK_RUNNER_H_
#define LEAT_DATA_SERVICE_TASK_RUNNER_H_

#include "data_service/element_source.h"
#include "formats/generated/data_service.h"

// An element, as it goes over the wire. Many may hold it.
typedef struct leat_data_element_s {
  leat_reference_count_t references;
  int64_t index;  // in the task
  size_t size;
  char fields[];  // of GetElementResponse: "compressed" or "uncompressed"
} leat_data_element_t;
void leat_data_element_release(leat_data_element_t* element);  // NULL is allowed

// What an asker is given: an element, the end, or, of a coordinated read, nothing in this round.
typedef struct leat_data_result_s {
  leat_data_element_t* element;  // the caller releases it; NULL: none
  bool at_end, skips;
} leat_data_result_t;

typedef struct leat_task_runner_options_s {
  bool is_coordinated, is_shared;
  int64_t num_consumers;
  int64_t window_bytes;  // of the elements that are kept for other trainers
} leat_task_runner_options_t;

typedef struct leat_task_runner_s leat_task_runner_t;
// |source| is taken over, also on failure. FAILED_PRECONDITION for a coordinated read of a dataset
// with an end.
LEAT_MUST_USE leat_status_t leat_task_runner_create(const leat_task_runner_options_t* options,
                                                    leat_element_source_t* source,
                                                    leat_task_runner_t** out_runner);
// Gives what |request| asks for. Blocks until it is there. |is_gone|(|data|) says whether nobody
// waits for the answer any more: then CANCELLED, and no element is lost; whoever makes it true
// calls leat_task_runner_wake.
LEAT_MUST_USE leat_status_t leat_task_runner_next(leat_task_runner_t* runner,
                                                  const leat_pb_get_element_request_t* request,
                                                  bool (*is_gone)(void* data), void* data,
                                                  leat_data_result_t* out_result);
void leat_task_runner_wake(leat_task_runner_t* runner);
// Ends the runner: those who wait get CANCELLED. Does not wait for them.
void leat_task_runner_cancel(leat_task_runner_t* runner);
// Nobody may ask any more. NULL is allowed.
void leat_task_runner_free(leat_task_runner_t* runner);

#endif  // LEAT_DATA_SERVICE_TASK_RUNNER_H_
