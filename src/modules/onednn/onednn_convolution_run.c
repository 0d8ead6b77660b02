// Runs a convolution with oneDNN. A run borrows a frame of memory objects and sets their addresses.
// It reorders the inputs where the primitive wants another layout, runs the primitive, and reorders
// the result back:
//
//     first, second ──reorder──▶ scratch ──primitive──▶ scratch ──reorder──▶ result
//
// A filter that does not change, such as a trained one, can be packed once, which is the reorder by
// itself; the runs with a packed filter leave that reorder out. Each run uses one OpenMP thread
// (onednn_engine.h), because the library's own thread pool divides the work and calls from all of
// its threads.
#include <stdlib.h>

#include "base/checked.h"
#include "base/status.h"
#include "modules/onednn/onednn_convolution.h"

void onednn_frame_destroy(onednn_frame_t* frame) {
  if (!frame) return;
  for (int i = 0; i < ARRAYS; ++i) {
    if (frame->inner[i] && frame->inner[i] != frame->plain[i]) dnnl_memory_destroy(frame->inner[i]);
    if (frame->plain[i]) dnnl_memory_destroy(frame->plain[i]);
    if (frame->reorder_scratchpad[i]) dnnl_memory_destroy(frame->reorder_scratchpad[i]);
  }
  if (frame->bias) dnnl_memory_destroy(frame->bias);
  if (frame->scratchpad) dnnl_memory_destroy(frame->scratchpad);
  if (frame->stream) dnnl_stream_destroy(frame->stream);
  free(frame);
}

static dnnl_status_t make_memory(dnnl_memory_t* out_memory, const dnnl_memory_desc_t* desc) {
  return dnnl_memory_create(out_memory, desc, onednn_engine(), DNNL_MEMORY_NONE);
}

static dnnl_status_t fill_frame(const leat_onednn_convolution_t* self, onednn_frame_t* frame) {
  RETURN_IF_FAILED(
      dnnl_stream_create(&frame->stream, onednn_engine(), dnnl_stream_default_flags));
  for (int i = 0; i < ARRAYS; ++i) {
    const onednn_array_t* array = &self->arrays[i];
    RETURN_IF_FAILED(make_memory(&frame->plain[i], &array->plain));
    frame->inner[i] = frame->plain[i];
    if (!array->reorder) continue;
    frame->inner[i] = NULL;
    RETURN_IF_FAILED(make_memory(&frame->inner[i], &array->inner));
    RETURN_IF_FAILED(make_memory(&frame->reorder_scratchpad[i], &array->reorder_scratchpad));
  }
  RETURN_IF_FAILED(make_memory(&frame->bias, &self->bias));
  return make_memory(&frame->scratchpad, &self->scratchpad);
}

// Takes a frame from the list, or makes one.
static dnnl_status_t borrow_frame(leat_onednn_convolution_t* self, onednn_frame_t** out_frame) {
  leat_spinlock_lock(&self->lock);
  onednn_frame_t* frame = self->frames;
  if (frame) self->frames = frame->next;
  leat_spinlock_unlock(&self->lock);
  *out_frame = frame;
  if (frame) return dnnl_success;
  frame = calloc(1, sizeof *frame);
  if (!frame) return dnnl_out_of_memory;
  const dnnl_status_t status = fill_frame(self, frame);
  if (status != dnnl_success) {
    onednn_frame_destroy(frame);
    return status;
  }
  *out_frame = frame;
  return dnnl_success;
}

static void return_frame(leat_onednn_convolution_t* self, onednn_frame_t* frame) {
  leat_spinlock_lock(&self->lock);
  frame->next = self->frames;
  self->frames = frame;
  leat_spinlock_unlock(&self->lock);
}

// One run: the caller's arrays, and the frame through which oneDNN reaches them.
typedef struct run_s {
  leat_onednn_convolution_t* self;
  onednn_frame_t* frame;
  void* data[ARRAYS];  // addresses of the three arrays, in the caller's layout
  const void* packed_filter;  // the filter in the primitive's layout, or NULL
  const float* bias;
  char* scratch;
} run_t;

// Copies array |i| between its layouts: an input into the primitive's, the result out of it.
static dnnl_status_t relay(const run_t* run, int i) {
  const onednn_frame_t* frame = run->frame;
  const dnnl_memory_t from = i == RESULT ? frame->inner[i] : frame->plain[i];
  const dnnl_memory_t to = i == RESULT ? frame->plain[i] : frame->inner[i];
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from},
                                       {DNNL_ARG_TO, to},
                                       {DNNL_ARG_SCRATCHPAD, frame->reorder_scratchpad[i]}};
  return dnnl_primitive_execute(run->self->arrays[i].reorder, frame->stream, 3, arguments);
}

// Gives the memory objects of the frame the addresses of this run.
static dnnl_status_t set_handles(const run_t* run) {
  const leat_onednn_convolution_t* self = run->self;
  onednn_frame_t* frame = run->frame;
  void* pads = run->scratch + self->pads_offset;
  for (int i = 0; i < ARRAYS; ++i) {
    RETURN_IF_FAILED(dnnl_memory_set_data_handle(frame->plain[i], run->data[i]));
    if (!self->arrays[i].reorder) continue;
    const bool is_packed = run->packed_filter && i == onednn_filter_index(self->direction);
    void* inner = is_packed ? (void*)run->packed_filter
                            : run->scratch + self->arrays[i].scratch_offset;
    RETURN_IF_FAILED(dnnl_memory_set_data_handle(frame->inner[i], inner));
    RETURN_IF_FAILED(dnnl_memory_set_data_handle(frame->reorder_scratchpad[i], pads));
  }
  RETURN_IF_FAILED(dnnl_memory_set_data_handle(frame->bias, (void*)run->bias));
  return dnnl_memory_set_data_handle(frame->scratchpad, pads);
}

static dnnl_status_t run_frame(const run_t* run) {
  const leat_onednn_convolution_t* self = run->self;
  const onednn_frame_t* frame = run->frame;
  const int filter = onednn_filter_index(self->direction);
  RETURN_IF_FAILED(set_handles(run));
  for (int i = FIRST; i <= SECOND; ++i) {
    if (!self->arrays[i].reorder || (run->packed_filter && i == filter)) continue;
    RETURN_IF_FAILED(relay(run, i));
  }
  dnnl_exec_arg_t arguments[ARRAYS + 2];
  int count = 0;
  for (int i = 0; i < ARRAYS; ++i) {
    arguments[count++] = (dnnl_exec_arg_t){self->arrays[i].argument, frame->inner[i]};
  }
  if (self->has_bias) arguments[count++] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, frame->bias};
  arguments[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, frame->scratchpad};
  RETURN_IF_FAILED(dnnl_primitive_execute(self->primitive, frame->stream, count, arguments));
  return self->arrays[RESULT].reorder ? relay(run, RESULT) : dnnl_success;
}

static int run_convolution(run_t* run) {
  const int threads = onednn_enter();
  dnnl_status_t status = borrow_frame(run->self, &run->frame);
  if (status == dnnl_success) {
    status = run_frame(run);
    return_frame(run->self, run->frame);
  }
  onednn_leave(threads);
  return onednn_code(status);
}

int onednn_convolution_execute(leat_onednn_convolution_t* self, const float* first,
                               const float* second, const float* bias, float* result,
                               void* scratch) {
  run_t run = {.self = self,
               .data = {(void*)first, (void*)second, result},
               .bias = bias,
               .scratch = scratch};
  return run_convolution(&run);
}

int onednn_convolution_execute_packed(leat_onednn_convolution_t* self, const float* data,
                                      const void* packed_filter, const float* bias, float* result,
                                      void* scratch) {
  const bool filter_first = onednn_filter_index(self->direction) == FIRST;
  void* filter = (void*)packed_filter;
  run_t run = {.self = self,
               .data = {filter_first ? filter : (void*)data, filter_first ? (void*)data : filter,
                        result},
               .packed_filter = packed_filter,
               .bias = bias,
               .scratch = scratch};
  return run_convolution(&run);
}

int onednn_convolution_pack_filter(leat_onednn_convolution_t* self, const float* filter,
                                   void* packed, void* scratch) {
  const int i = onednn_filter_index(self->direction);
  if (i == RESULT || !self->arrays[i].reorder) return LEAT_FAILED_PRECONDITION;
  run_t run = {.self = self, .packed_filter = packed, .scratch = scratch};
  run.data[i] = (void*)filter;
  const int threads = onednn_enter();
  dnnl_status_t status = borrow_frame(self, &run.frame);
  if (status == dnnl_success) {
    status = set_handles(&run);
    if (status == dnnl_success) status = relay(&run, i);
    return_frame(self, run.frame);
  }
  onednn_leave(threads);
  return onednn_code(status);
}
