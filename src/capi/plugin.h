// What the sources for ops and kernels of plugins share.
#ifndef LEAT_CAPI_PLUGIN_H_
#define LEAT_CAPI_PLUGIN_H_

#include "capi/handles.h"
#include "kernel/kernel.h"
#include "kernel/registry.h"
#include "tensorflow/c/kernels.h"

// Zeroed; NULL when memory is gone.
static inline void* leat_capi_allocate(size_t size_bytes) {
  void* memory = NULL;
  leat_status_free(leat_allocator_allocate(leat_allocator_system(), size_bytes, &memory));
  return memory;
}
// Zeroed room for |size_bytes| with |count| texts behind it, each with a NUL: a row and the texts
// that it names are one block. |out_texts| [count].
LEAT_MUST_USE leat_status_t leat_capi_allocate_with_texts(size_t size_bytes,
                                                          const leat_string_builder_t* builders,
                                                          int count, char** out_texts,
                                                          void** out_memory);
// |text| with a NUL, for ever; NULL when memory is gone. For names of ops and attributes.
const char* leat_capi_keep_name(leat_string_view_t text);
// What a function of a plugin left in |status|, which is empty afterwards.
LEAT_MUST_USE leat_status_t leat_capi_status_take(TF_Status* status);
// The attribute |name|, which must be of |kind| (an empty list may be of any): NOT_FOUND or
// INVALID_ARGUMENT otherwise.
LEAT_MUST_USE leat_status_t leat_capi_attr_find(const leat_attr_t* attrs, int attr_count,
                                                leat_string_view_t node_name, const char* name,
                                                leat_attr_kind_t kind, bool is_list,
                                                const leat_attr_value_t** out_value);
// The op |name| was registered, or not (|status|, taken over), by the library that this thread is
// loading, if it is: the library's list of ops, and its first error. Returns what the library is
// told.
LEAT_MUST_USE leat_status_t leat_capi_loading_note(const char* name, leat_status_t status);

// ---- Kernels ------------------------------------------------------------------------------------

// A registered kernel: the row comes first, the texts that it names behind it.
typedef struct leat_plugin_kernel_s {
  leat_kernel_row_t row;
  void* (*create)(TF_OpKernelConstruction* ctx);
  void (*compute)(void* kernel, TF_OpKernelContext* ctx);
  void (*compute_async)(void* kernel, TF_OpKernelContext* ctx, TF_AsyncOpKernelDoneCallback* done);
  void (*destroy)(void* kernel);
} leat_plugin_kernel_t;

// State of an instance.
typedef struct leat_plugin_state_s {
  const leat_plugin_kernel_t* kernel;
  void* instance;  // what the plugin's |create| returned
  bool is_made;
  // Where each argument's tensors begin: of the op's inputs, the end of the last, and the same of
  // its outputs.
  int32_t* starts;
} leat_plugin_state_t;

struct TF_OpKernelConstruction {
  const leat_kernel_creation_t* creation;
  leat_status_t failure;
};

// Of one run; also the callback of an asynchronous one.
struct TF_OpKernelContext {
  leat_kernel_context_t* context;
  leat_status_t failure;
  leat_kernel_done_fn_t done;
};

static inline leat_plugin_state_t* leat_plugin_state(const TF_OpKernelContext* ctx) {
  return leat_kernel_state(ctx->context);
}
// What came of a run: its failure (taken), or an output that it did not set.
LEAT_MUST_USE leat_status_t leat_plugin_run_status(TF_OpKernelContext* ctx);

#endif  // LEAT_CAPI_PLUGIN_H_
