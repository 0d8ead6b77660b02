// Custom devices of an eager context, as contexts, handles and ops see them.
#ifndef LEAT_CAPI_EAGER_CUSTOM_DEVICE_H_
#define LEAT_CAPI_EAGER_CUSTOM_DEVICE_H_

#include "capi/eager/eager.h"
#include "device/device_name.h"

// A device that a client registered. It belongs to the context and ends with it.
typedef struct leat_custom_device_s {
  struct leat_custom_device_s* next;  // in the context's list
  TFE_Context* context;
  TFE_CustomDevice functions;
  void* info;
  leat_device_name_t parsed;
  char name[];
} leat_custom_device_t;

// A tensor on a custom device, which handles share: what the device keeps of it.
typedef struct leat_custom_tensor_s {
  leat_reference_count_t references;
  const leat_custom_device_t* device;
  TFE_CustomDeviceTensorHandle methods;
  void* data;
} leat_custom_tensor_t;

static inline void leat_custom_tensor_retain(leat_custom_tensor_t* tensor) {
  if (tensor) leat_reference_count_retain(&tensor->references);
}
void leat_custom_tensor_release(leat_custom_tensor_t* tensor);  // NULL is allowed
// Ends all custom devices of the context.
void leat_custom_devices_free(TFE_Context* context);
// The custom device called |name|, in full or in part; NULL: there is none.
const leat_custom_device_t* leat_custom_device_find(TFE_Context* context, const char* name);
// Copies a handle of a custom device to the device |name| of the context, or the other way.
TFE_TensorHandle* leat_custom_device_copy_from(TFE_TensorHandle* handle, const char* name,
                                               TF_Status* status);
TFE_TensorHandle* leat_custom_device_copy_to(const leat_custom_device_t* device,
                                             TFE_TensorHandle* handle, TF_Status* status);
// Executes |op| where it, or one of its inputs, is on a custom device. Returns false where the op
// is the CPU's, with all of its inputs there.
bool leat_custom_device_execute(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals,
                                TF_Status* status);

#endif  // LEAT_CAPI_EAGER_CUSTOM_DEVICE_H_
