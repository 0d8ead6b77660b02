// The callables of leat/callable.h: a step prepared once and run many times. Preparing resolves
// feeds, fetches and targets to a signature of the session (session/session.h), so that a call does
// no look-up. A call can take and give tensors, or plain arrays of the caller:
//
//     feed:   the caller's memory is wrapped as a read-only tensor for the time of the call
//     fetch:  the result is copied into the caller's memory
//
// A kernel that would overwrite or keep a wrapped feed copies it instead, because the buffer is
// marked as read-only. Small calls use the stack for their tensors and allocate nothing. The
// signature belongs to the session and lives as long as it does; the callable only points to it and
// must not outlive the session.
#include "leat/callable.h"

#include <string.h>

#include "capi/handles.h"
#include "capi/leat/interrupt.h"
#include "capi/session/run_options.h"

#define FEW 16  // a call with at most so many feeds and so many fetches allocates nothing

struct leat_callable_t {
  TF_Session* session;
  leat_signature_t* signature;
  int feed_count;
  int fetch_count;
};

static leat_status_t resolve_outputs(const TF_Graph* graph, const TF_Output* outputs, int count,
                                     const char* what, leat_output_t* out_outputs) {
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, outputs[i], what, &out_outputs[i]));
  }
  return leat_ok_status();
}

// What a callable is made for.
typedef struct request_s {
  const TF_Output* feeds;
  int feed_count;
  const TF_Output* fetches;
  int fetch_count;
  const TF_Operation* const* targets;
  int target_count;
} request_t;

static leat_status_t resolve_targets(const request_t* request, TF_Graph* graph,
                                     int32_t* out_targets) {
  for (int i = 0; i < request->target_count; ++i) {
    const TF_Operation* target = request->targets[i];
    if (!target || target->graph != graph) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Preparing a callable failed: target %d is %s, must be in the "
                              "session's graph",
                              i, target ? "of another graph" : "NULL");
    }
    out_targets[i] = target->node;
  }
  return leat_ok_status();
}

// Resolves feeds, fetches and targets to nodes of the session's graph and asks the session for the
// signature. The graph is locked while it is read, because another thread may add to it.
static leat_status_t prepare(TF_Session* session, const request_t* request, leat_arena_t* arena,
                             leat_signature_t** out_signature) {
  leat_output_t *feeds, *fetches;
  int32_t* targets;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)request->feed_count + 1, &feeds));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)request->fetch_count + 1, &fetches));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)request->target_count + 1, &targets));
  leat_capi_lock(session->graph);
  leat_status_t status = resolve_outputs(session->graph, request->feeds, request->feed_count,
                                         "a feed", feeds);
  if (!status) {
    status = resolve_outputs(session->graph, request->fetches, request->fetch_count, "a fetch",
                             fetches);
  }
  leat_capi_unlock(session->graph);
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(resolve_targets(request, session->graph, targets));
  leat_run_t run = {.feeds = feeds,
                    .feed_count = request->feed_count,
                    .fetches = fetches,
                    .fetch_count = request->fetch_count,
                    .targets = targets,
                    .target_count = request->target_count};
  return leat_session_prepare(session->session, &run, out_signature);
}

static leat_status_t create(TF_Session* session, const request_t* request,
                            leat_callable_t** out_callable) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_callable_t* callable;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &callable));
  callable->session = session;
  callable->feed_count = request->feed_count;
  callable->fetch_count = request->fetch_count;
  leat_arena_t arena;
  leat_arena_initialize(allocator, 0, &arena);
  leat_status_t status = prepare(session, request, &arena, &callable->signature);
  leat_arena_deinitialize(&arena);
  if (status) {
    leat_allocator_free(allocator, callable);
    return status;
  }
  *out_callable = callable;
  return leat_ok_status();
}

leat_callable_t* leat_callable_create(TF_Session* session, const TF_Output* feeds, int feed_count,
                                      const TF_Output* fetches, int fetch_count,
                                      const TF_Operation* const* targets, int target_count,
                                      TF_Status* status) {
  leat_callable_t* callable = NULL;
  request_t request = {feeds, feed_count, fetches, fetch_count, targets, target_count};
  leat_capi_status_set(status, create(session, &request, &callable));
  return callable;
}

void leat_callable_free(leat_callable_t* callable) {
  leat_allocator_free(leat_allocator_system(), callable);
}

// The tensors of one call, on the stack when they are few. The feeds are zeroed, so that end_call
// can release those that were never set.
typedef struct call_s {
  int64_t timeout_ms;  // 0: the session's
  leat_tensor_t few[2 * FEW];
  leat_tensor_t* tensors;
  leat_tensor_t* feeds;
  leat_tensor_t* fetches;
} call_t;

// Gives the call room for its tensors. Only the feeds are cleared: the session sets the fetches,
// and clearing those too would cost time in every call.
static leat_status_t begin_call(const leat_callable_t* callable, int64_t timeout_ms, call_t* call) {
  if (!callable) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Run failed: the callable is NULL, must be one that was created");
  }
  call->timeout_ms = timeout_ms;
  call->tensors = call->few;
  if (callable->feed_count > FEW || callable->fetch_count > FEW) {
    size_t count = (size_t)callable->feed_count + (size_t)callable->fetch_count;
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count, &call->tensors));
  } else {
    memset(call->few, 0, sizeof(leat_tensor_t) * (size_t)callable->feed_count);
  }
  call->feeds = call->tensors;
  call->fetches = call->tensors + callable->feed_count;
  return leat_ok_status();
}

// Releases the feeds. The fetches were moved out or released before.
static void end_call(const leat_callable_t* callable, call_t* call) {
  for (int i = 0; i < callable->feed_count; ++i) leat_tensor_release(&call->feeds[i]);
  if (call->tensors != call->few) leat_allocator_free(leat_allocator_system(), call->tensors);
}

// Makes a tensor of the caller's memory without copying it. Bytes of bools other than 0 and 1 are
// the exception: then the tensor gets a corrected copy.
static leat_status_t wrap_feed(const leat_array_t* array, leat_tensor_t* out_tensor) {
  if (array->rank < 0 || array->rank > LEAT_ARRAY_MAX_RANK ||
      leat_dtype_in((int)array->dtype, LEAT_DTYPES_OBJECT) || !leat_dtype_size((int)array->dtype)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Run failed: a feed has rank %d and type %d, must be at most %d and a "
                            "type of fixed size",
                            array->rank, (int)array->dtype, LEAT_ARRAY_MAX_RANK);
  }
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(array->rank, array->dims, &shape));
  size_t needed = (size_t)shape.element_count * leat_dtype_size((int)array->dtype);
  if (needed > array->size_bytes) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Run failed: a feed has %zu bytes, must have %zu for its shape",
                            array->size_bytes, needed);
  }
  leat_buffer_t* buffer;
  LEAT_RETURN_IF_ERROR(leat_buffer_wrap(array->data, array->size_bytes, NULL, NULL, &buffer));
  // Kernels read the buffer in place; whoever keeps it copies it.
  buffer->read_only = true;
  leat_status_t status = leat_tensor_of_buffer(buffer, (int)array->dtype, &shape, out_tensor);
  leat_buffer_release(buffer);
  if (!status) status = leat_tensor_normalize_bools(leat_buffer_source_host(), out_tensor);
  return status;
}

// Copies a result into the caller's array. OUT_OF_RANGE where the array is too small.
static leat_status_t copy_fetch(const leat_tensor_t* tensor, leat_array_t* array) {
  size_t size = leat_tensor_size_bytes(tensor);
  if (leat_dtype_in(tensor->dtype, LEAT_DTYPES_OBJECT) ||
      tensor->shape.rank > LEAT_ARRAY_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Run failed: a fetch has type %s and rank %d, must have a type of "
                            "fixed size and rank %d at most",
                            leat_dtype_name(tensor->dtype), tensor->shape.rank,
                            LEAT_ARRAY_MAX_RANK);
  }
  if (size > array->size_bytes) {
    return leat_make_status(LEAT_OUT_OF_RANGE,
                            "Run failed: a fetch's buffer has %zu bytes, must have %zu for %s of "
                            "shape %s",
                            array->size_bytes, size, leat_dtype_name(tensor->dtype),
                            LEAT_SHAPE_TEXT(&tensor->shape));
  }
  array->dtype = (TF_DataType)tensor->dtype;
  array->rank = tensor->shape.rank;
  memcpy(array->dims, leat_shape_dims(&tensor->shape),
         (size_t)tensor->shape.rank * sizeof(int64_t));
  if (size) memcpy(array->data, tensor->data, size);
  return leat_ok_status();
}

static leat_run_t run_of(const call_t* call) {
  return (leat_run_t){.feed_values = call->feeds,
                      .fetch_values = call->fetches,
                      .timeout_ms = call->timeout_ms,
                      .cancellation = leat_capi_thread_cancellation()};
}

// Runs a step of a session that measures its steps (build_cost_model).
static LEAT_COLD leat_status_t run_measured(const leat_callable_t* callable, const call_t* call) {
  leat_capi_run_options_t options = {0};
  leat_capi_run_options_measure(&options, callable->session, callable->signature);
  leat_run_t run = run_of(call);
  run.collector = options.collector;
  leat_status_t status =
      leat_session_run_prepared(callable->session->session, callable->signature, &run);
  return leat_capi_run_options_end(&options, callable->session, NULL, status, NULL);
}

static leat_status_t run(const leat_callable_t* callable, const call_t* call) {
  if (LEAT_UNLIKELY(callable->session->measures)) return run_measured(callable, call);
  leat_run_t run = run_of(call);
  return leat_session_run_prepared(callable->session->session, callable->signature, &run);
}

static leat_status_t run_arrays(leat_callable_t* callable, const leat_array_t* feeds,
                                leat_array_t* fetches, call_t* call) {
  for (int i = 0; i < callable->feed_count; ++i) {
    LEAT_RETURN_IF_ERROR(wrap_feed(&feeds[i], &call->feeds[i]));
  }
  LEAT_RETURN_IF_ERROR(run(callable, call));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < callable->fetch_count; ++i) {
    if (!status) status = copy_fetch(&call->fetches[i], &fetches[i]);
    leat_tensor_release(&call->fetches[i]);
  }
  return status;
}

void leat_callable_run_within(leat_callable_t* callable, int64_t timeout_ms,
                              const leat_array_t* feeds, leat_array_t* fetches,
                              TF_Status* status) {
  call_t call;
  leat_status_t result = begin_call(callable, timeout_ms, &call);
  if (!result) {
    result = run_arrays(callable, feeds, fetches, &call);
    end_call(callable, &call);
  }
  leat_capi_status_set(status, result);
}

void leat_callable_run(leat_callable_t* callable, const leat_array_t* feeds,
                       leat_array_t* fetches, TF_Status* status) {
  leat_callable_run_within(callable, 0, feeds, fetches, status);
}

static leat_status_t run_tensors(leat_callable_t* callable, TF_Tensor* const* feeds,
                                 TF_Tensor** fetches, call_t* call) {
  for (int i = 0; i < callable->feed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_capi_tensor_value(feeds[i], &call->feeds[i]));
  }
  LEAT_RETURN_IF_ERROR(run(callable, call));
  // Every fetch gets a handle, also after a failure, because leat_capi_tensor_wrap takes the tensor
  // over in any case.
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < callable->fetch_count; ++i) {
    fetches[i] = NULL;
    leat_status_t wrapped = leat_capi_tensor_wrap(&call->fetches[i], &fetches[i]);
    status = leat_status_join(status, wrapped);
  }
  for (int i = 0; status && i < callable->fetch_count; ++i) {
    TF_DeleteTensor(fetches[i]);
    fetches[i] = NULL;
  }
  return status;
}

void leat_callable_run_tensors_within(leat_callable_t* callable, int64_t timeout_ms,
                                      TF_Tensor* const* feeds, TF_Tensor** fetches,
                                      TF_Status* status) {
  call_t call;
  leat_status_t result = begin_call(callable, timeout_ms, &call);
  if (!result) {
    result = run_tensors(callable, feeds, fetches, &call);
    end_call(callable, &call);
  }
  leat_capi_status_set(status, result);
}

void leat_callable_run_tensors(leat_callable_t* callable, TF_Tensor* const* feeds,
                               TF_Tensor** fetches, TF_Status* status) {
  leat_callable_run_tensors_within(callable, 0, feeds, fetches, status);
}
