/* leat/callable.h: a feed and fetch signature resolved once.
 *
 * TF_SessionRun looks its signature up at every call; a callable has done so. Feeds and fetches go
 * straight from and to the caller's buffers: a feed's memory is read in place (it must stay
 * until the call returns), a fetch is copied into the buffer given, or handed over as a
 * TF_Tensor.
 *
 *   leat_callable_t* f = leat_callable_create(session, &x, 1, &y, 1, NULL, 0, status);
 *   float in[3] = {1, 2, 3}, out[1];
 *   leat_callable_run(f, (leat_array_t[]){{TF_FLOAT, 2, {1, 3}, in, sizeof in}},
 *                     (leat_array_t[]){{TF_FLOAT, 2, {1, 1}, out, sizeof out}}, status);
 *   leat_callable_free(f);
 *
 * Any number of threads may run one callable at once. It must be freed before its session. */
#ifndef LEAT_CALLABLE_H_
#define LEAT_CALLABLE_H_

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_callable_t leat_callable_t;

#define LEAT_ARRAY_MAX_RANK 8
/* A dense row-major array in the caller's memory; not for strings. */
typedef struct leat_array_t {
  TF_DataType dtype;
  int rank;
  int64_t dims[LEAT_ARRAY_MAX_RANK];
  void* data;
  size_t size_bytes; /* of |data|; a fetch must fit into it */
} leat_array_t;

TF_CAPI_EXPORT extern leat_callable_t* leat_callable_create(
    TF_Session* session, const TF_Output* feeds, int feed_count, const TF_Output* fetches,
    int fetch_count, const TF_Operation* const* targets, int target_count, TF_Status* status);
TF_CAPI_EXPORT extern void leat_callable_free(leat_callable_t* callable);
/* |fetches|: data and size_bytes are the caller's; dtype, rank and dims are filled in. OUT_OF_RANGE
 * when a value does not fit, INVALID_ARGUMENT for a feed of the wrong type. */
TF_CAPI_EXPORT extern void leat_callable_run(leat_callable_t* callable, const leat_array_t* feeds,
                                             leat_array_t* fetches, TF_Status* status);
/* The same with tensors, as TF_SessionRun takes and gives them. */
TF_CAPI_EXPORT extern void leat_callable_run_tensors(leat_callable_t* callable,
                                                     TF_Tensor* const* feeds, TF_Tensor** fetches,
                                                     TF_Status* status);

/* The same two with a deadline of their own: DEADLINE_EXCEEDED when the step has not ended after
 * |timeout_ms| milliseconds. The others, and these for 0, have the timeout of the session
 * (ConfigProto.operation_timeout_in_ms), which by default is none. */
TF_CAPI_EXPORT extern void leat_callable_run_within(leat_callable_t* callable, int64_t timeout_ms,
                                                    const leat_array_t* feeds,
                                                    leat_array_t* fetches, TF_Status* status);
TF_CAPI_EXPORT extern void leat_callable_run_tensors_within(leat_callable_t* callable,
                                                            int64_t timeout_ms,
                                                            TF_Tensor* const* feeds,
                                                            TF_Tensor** fetches,
                                                            TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_CALLABLE_H_ */
