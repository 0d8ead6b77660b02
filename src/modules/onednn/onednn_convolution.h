// A convolution of one shape: oneDNN's primitive, and a reorder for each array for which the
// primitive wants another layout than the plain NHWC or HWIO of the caller. onednn_convolution.c
// makes it, once a shape, and onednn_convolution_run.c runs it; only these two include this header.
// The caller provides the scratch memory:
//
//   scratch:  [first, reordered] [second, reordered] [result, reordered] [scratchpad of all]
//
// A primitive may run on several threads at once, but a oneDNN memory object holds one address.
// Therefore each run borrows a frame, which is a set of memory objects, and returns it. Frames are
// kept, as many as were ever in use at once. Functions return oneDNN's own status here; the
// functions of the module's table translate it by onednn_code.
#ifndef LEAT_MODULES_ONEDNN_ONEDNN_CONVOLUTION_H_
#define LEAT_MODULES_ONEDNN_ONEDNN_CONVOLUTION_H_

#include "base/sync.h"
#include "modules/onednn/onednn_engine.h"

// The three arrays of a convolution: two that are read and one that is written. Which of them are
// the input, the filter and the output depends on the direction.
enum { FIRST, SECOND, RESULT, ARRAYS };

// One of the three arrays of a convolution. |inner| equals |plain| where the primitive takes the
// caller's layout as it is.
typedef struct onednn_array_s {
  int argument;              // DNNL_ARG_*
  dnnl_memory_desc_t plain;  // the caller's layout
  dnnl_memory_desc_t inner;  // the layout that the primitive wants
  dnnl_primitive_t reorder;  // copies between the two; NULL where they are the same
  size_t scratch_offset;     // of the reordered copy
  dnnl_memory_desc_t reorder_scratchpad;
} onednn_array_t;

// The memory objects of one run, which get the addresses of its arrays before it, and the stream
// that it runs on.
typedef struct onednn_frame_s {
  struct onednn_frame_s* next;
  dnnl_stream_t stream;
  dnnl_memory_t plain[ARRAYS], inner[ARRAYS];  // the same object where there is no reorder
  dnnl_memory_t reorder_scratchpad[ARRAYS];
  dnnl_memory_t bias, scratchpad;
} onednn_frame_t;

// A convolution. After it is made, nothing changes but the list of idle frames.
// onednn_convolution_destroy frees it, with the idle frames, when no run is under way.
struct leat_onednn_convolution_s {
  leat_convolution_direction_t direction;
  onednn_array_t arrays[ARRAYS];
  bool has_bias;
  dnnl_memory_desc_t bias;
  dnnl_primitive_desc_t description;
  dnnl_primitive_t primitive;
  dnnl_memory_desc_t scratchpad;
  // |pads_offset| is that of the scratchpad in the scratch memory; the reorders and the primitive
  // run one after the other and share it.
  size_t pads_offset, scratch_bytes;
  leat_spinlock_t lock;  // guards |frames|
  onednn_frame_t* frames;
};

// The number of the filter among the arrays; RESULT where the filter's gradient is computed.
static inline int onednn_filter_index(leat_convolution_direction_t direction) {
  return direction == LEAT_CONVOLUTION_FORWARD          ? SECOND
         : direction == LEAT_CONVOLUTION_BACKWARD_INPUT ? FIRST
                                                        : RESULT;
}

// Frees a frame that no run uses, also one that is only partly filled; NULL is allowed.
void onednn_frame_destroy(onednn_frame_t* frame);

// Returns from the calling function with oneDNN's status unless it is success.
#define RETURN_IF_FAILED(expression)                \
  do {                                              \
    const dnnl_status_t status_ = (expression);     \
    if (status_ != dnnl_success) return status_;    \
  } while (0)

#endif  // LEAT_MODULES_ONEDNN_ONEDNN_CONVOLUTION_H_
