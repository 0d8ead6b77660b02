// A context that is a task of a cluster (TFE_ContextSetServerDef): where its ops run, and its
// tensors on other tasks. cluster/eager_remote.h does what it takes.
#ifndef LEAT_CAPI_EAGER_EAGER_CLUSTER_H_
#define LEAT_CAPI_EAGER_EAGER_CLUSTER_H_

#include "capi/eager/eager.h"
#include "cluster/eager_remote.h"

// The cluster of the context, which may be NULL, retained; NULL: it has none.
leat_eager_cluster_t* leat_capi_cluster_of(TFE_Context* context);
// Closes the context's cluster, if it has one: the context ends.
void leat_capi_cluster_leave_context(TFE_Context* context);
// Lists the devices of all tasks.
LEAT_MUST_USE leat_status_t leat_capi_cluster_describe(leat_eager_cluster_t* cluster,
                                                       TF_DeviceList** out_list);
// Finds the device |name|, full or in part. |*out_remote| is its full name, static, where it is
// another task's, else NULL. INVALID_ARGUMENT where the cluster has none.
LEAT_MUST_USE leat_status_t leat_capi_cluster_place(leat_eager_cluster_t* cluster,
                                                    const char* name, const char** out_remote);
// The full name of the context's own device, and of its task; static.
const char* leat_capi_cluster_own_device(TFE_Context* context);
void leat_capi_cluster_print_task(TFE_Context* context, leat_string_builder_t* out);

// The value of |handle|, which is no custom device's; the caller releases it. It may have to be
// fetched.
LEAT_MUST_USE leat_status_t leat_capi_cluster_value(const TFE_TensorHandle* handle,
                                                    leat_tensor_t* out_tensor);
// A handle of the tensor on the device |name| of the context; NULL with an error in |status|.
TFE_TensorHandle* leat_capi_cluster_copy(TFE_Context* context, TFE_TensorHandle* handle,
                                         const char* name, TF_Status* status);
// Runs |op| where another task is to; |*out_is_done| says whether. Where it is not, inputs that are
// on other tasks have been fetched into new handles in their places.
LEAT_MUST_USE leat_status_t leat_capi_cluster_run(TFE_Op* op, TFE_TensorHandle** retvals,
                                                  int* num_retvals, bool* out_is_done);

#endif  // LEAT_CAPI_EAGER_EAGER_CLUSTER_H_
