// What the sources for ops and kernels of plugins share: allocation of zeroed blocks, names that
// stay for ever, and the structs behind the types of kernels.h. Functions of a plugin are called
// from here without any knowledge of what they do, so that whatever they leave behind (a status, an
// output, a byte in a boolean) is checked before the runtime relies on it. Ops and kernels stay
// registered for the life of the process; therefore the names and rows that are allocated for them
// are never freed. Ops are declared in op_definition.c, and kernels are registered in
// kernel_builder.c.
#ifndef LEAT_CAPI_PLUGIN_PLUGIN_H_
#define LEAT_CAPI_PLUGIN_PLUGIN_H_

#include "capi/handles.h"
#include "kernel/kernel.h"
#include "kernel/registry.h"
#include "tensorflow/c/kernels.h"

// Returns zeroed memory of the system's allocator; NULL where there is none.
static inline void* leat_capi_allocate(size_t size_bytes) {
  void* memory = NULL;
  leat_status_free(leat_allocator_allocate(leat_allocator_system(), size_bytes, &memory));
  return memory;
}
// Allocates a zeroed block of |size_bytes| with copies of |count| texts behind it, each followed by
// a NUL, so that a row and the texts that it points to are one block. |out_texts| [count].
LEAT_MUST_USE leat_status_t leat_capi_allocate_with_texts(size_t size_bytes,
                                                          const leat_string_builder_t* builders,
                                                          int count, char** out_texts,
                                                          void** out_memory);
// Returns |text| with a NUL behind it, valid for ever; NULL where there is no memory. Only for
// names of ops and attributes, of which there are few.
const char* leat_capi_keep_name(leat_string_view_t text);
// Takes what a plugin's function left in |status|, which is empty afterwards.
LEAT_MUST_USE leat_status_t leat_capi_status_take(TF_Status* status);
// Finds the attribute |name|, which must be of |kind|; an empty list fits any kind. NOT_FOUND where
// there is none, INVALID_ARGUMENT where it is of another kind.
LEAT_MUST_USE leat_status_t leat_capi_attr_find(const leat_attr_t* attrs, int attr_count,
                                                leat_string_view_t node_name, const char* name,
                                                leat_attr_kind_t kind, bool is_list,
                                                const leat_attr_value_t** out_value);
// Notes that the op |name| was registered, or that it failed with |status| (taken), for the library
// that this thread is loading, if it is loading one. Returns what the registering function reports:
// OK where the failure is an op that existed before.
LEAT_MUST_USE leat_status_t leat_capi_loading_note(const char* name, leat_status_t status);

// ---- Kernels ------------------------------------------------------------------------------------

// A registered kernel: the row comes first, and the texts that it points to lie behind the struct.
typedef struct leat_plugin_kernel_s {
  leat_kernel_row_t row;
  // The plugin's functions; those that it did not give are NULL.
  void* (*create)(TF_OpKernelConstruction* ctx);
  void (*compute)(void* kernel, TF_OpKernelContext* ctx);
  void (*compute_async)(void* kernel, TF_OpKernelContext* ctx, TF_AsyncOpKernelDoneCallback* done);
  void (*destroy)(void* kernel);
} leat_plugin_kernel_t;

// The state of a kernel of a node.
typedef struct leat_plugin_state_s {
  const leat_plugin_kernel_t* kernel;
  void* instance;  // what the plugin's |create| returned
  bool is_made;  // |create| was called, so that |destroy| must be
  // Where the tensors of each argument begin: for each input argument the number of its first
  // tensor, then the number of all; the same for the output arguments behind them.
  int32_t* starts;
  // The kernels of the ops that this one runs (kernel_op.c); NULL until it runs one.
  _Atomic(struct leat_eager_kernels_s*) ops;
} leat_plugin_state_t;

// What a plugin's |create| gets: the attributes of the node, and where its failure is kept. It ends
// when |create| returns.
struct TF_OpKernelConstruction {
  const leat_kernel_creation_t* creation;
  leat_status_t failure;
};

// The context of one run; in an asynchronous run also its callback.
struct TF_OpKernelContext {
  leat_kernel_context_t* context;
  leat_status_t failure;
  leat_kernel_done_fn_t done;
};

static inline leat_plugin_state_t* leat_plugin_state(const TF_OpKernelContext* ctx) {
  return leat_kernel_state(ctx->context);
}
// Ends what leat_plugin_state_t.ops points to; NULL is allowed.
void leat_plugin_ops_free(struct leat_eager_kernels_s* ops);
// Finds the variable that input |index| names, and retains it. NOT_FOUND for a handle of one that
// has never been assigned.
struct leat_cell_s;
LEAT_MUST_USE leat_status_t leat_plugin_find_variable(const TF_OpKernelContext* ctx, int index,
                                                      struct leat_cell_s** out_cell);
// Whether input |index| lies in host memory, which is always so on a device that shares it.
bool leat_plugin_input_is_host(const TF_OpKernelContext* ctx, int index);
// Takes the outcome of a run: its failure, or INTERNAL where it left an output unset.
LEAT_MUST_USE leat_status_t leat_plugin_run_status(TF_OpKernelContext* ctx);

#endif  // LEAT_CAPI_PLUGIN_PLUGIN_H_
