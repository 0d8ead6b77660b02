// Tensor handles as DLPack's structs and back (eager/dlpack.h). The structs below are those of
// DLPack, whose layout other libraries compile in. Going out, the struct, its shape and its strides
// are one block that holds a reference to the tensor's buffer; coming in, the tensor's memory is
// the other library's, and the deleter is called with the last reference to it.
#include "tensorflow/c/eager/dlpack.h"

#include <stdlib.h>

#include "capi/eager/eager.h"

// The numbers of devices and of kinds of elements in DLPack.
enum { DEVICE_CPU = 1 };
enum { KIND_INT, KIND_UINT, KIND_FLOAT, KIND_BFLOAT = 4, KIND_COMPLEX, KIND_BOOL };

typedef struct dl_device_s {
  int32_t device_type, device_id;
} dl_device_t;

typedef struct dl_type_s {
  uint8_t kind, bits;
  uint16_t lanes;
} dl_type_t;

typedef struct dl_tensor_s {
  void* data;
  dl_device_t device;
  int32_t ndim;
  dl_type_t dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; NULL: rows lie one behind the other
  uint64_t byte_offset;
} dl_tensor_t;

typedef struct dl_managed_s {
  dl_tensor_t tensor;
  void* manager_ctx;
  void (*deleter)(struct dl_managed_s* self);
} dl_managed_t;

static const struct {
  uint8_t dtype, kind, bits;
} kTypes[] = {
    {LEAT_DTYPE_BOOL, KIND_BOOL, 8},           {LEAT_DTYPE_INT8, KIND_INT, 8},
    {LEAT_DTYPE_INT16, KIND_INT, 16},          {LEAT_DTYPE_INT32, KIND_INT, 32},
    {LEAT_DTYPE_INT64, KIND_INT, 64},          {LEAT_DTYPE_UINT8, KIND_UINT, 8},
    {LEAT_DTYPE_UINT16, KIND_UINT, 16},        {LEAT_DTYPE_UINT32, KIND_UINT, 32},
    {LEAT_DTYPE_UINT64, KIND_UINT, 64},        {LEAT_DTYPE_HALF, KIND_FLOAT, 16},
    {LEAT_DTYPE_FLOAT, KIND_FLOAT, 32},        {LEAT_DTYPE_DOUBLE, KIND_FLOAT, 64},
    {LEAT_DTYPE_BFLOAT16, KIND_BFLOAT, 16},    {LEAT_DTYPE_COMPLEX64, KIND_COMPLEX, 64},
    {LEAT_DTYPE_COMPLEX128, KIND_COMPLEX, 128},
};

static leat_status_t no_memory(void) {
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a DLPack tensor ran out");
}

void* TFE_GetDLDevice(TFE_TensorHandle* h, TF_Status* status) {
  if (!TFE_TensorHandleDeviceName(h, status)) return NULL;
  dl_device_t* device = malloc(sizeof *device);
  if (device) *device = (dl_device_t){DEVICE_CPU, 0};
  leat_capi_status_set(status, device ? leat_ok_status() : no_memory());
  return device;
}

// ---- Going out ----------------------------------------------------------------------------------

// A struct with what it points to.
typedef struct exported_s {
  dl_managed_t managed;
  leat_tensor_t tensor;
  int64_t sizes[];  // the shape, then the strides
} exported_t;

static void delete_exported(dl_managed_t* managed) {
  exported_t* exported = managed->manager_ctx;
  leat_tensor_release(&exported->tensor);
  leat_allocator_free(leat_allocator_system(), exported);
}

static leat_status_t type_of(int dtype, dl_type_t* out_type) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTypes); ++i) {
    if (kTypes[i].dtype != dtype) continue;
    *out_type = (dl_type_t){kTypes[i].kind, kTypes[i].bits, 1};
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s is not supported by dlpack",
                          leat_dtype_name(dtype));
}

static leat_status_t export_tensor(const leat_tensor_t* tensor, void** out_managed) {
  dl_type_t type;
  int rank = tensor->shape.rank;
  LEAT_RETURN_IF_ERROR(type_of(tensor->dtype, &type));
  exported_t* exported = leat_capi_allocate(sizeof *exported + 2 * (size_t)rank * sizeof(int64_t));
  if (!exported) return no_memory();
  int64_t *shape = exported->sizes, *strides = shape + rank, stride = 1;
  for (int i = rank; i-- > 0;) {
    shape[i] = leat_shape_dim(&tensor->shape, i);
    strides[i] = stride;
    stride *= shape[i];
  }
  exported->tensor = leat_tensor_share(tensor);
  exported->managed = (dl_managed_t){
      .tensor = {.data = tensor->data,
                 .device = {DEVICE_CPU, 0},
                 .ndim = rank,
                 .dtype = type,
                 .shape = shape,
                 .strides = strides},
      .manager_ctx = exported,
      .deleter = delete_exported};
  leat_buffer_mark_lent(tensor->buffer);
  *out_managed = &exported->managed;
  return leat_ok_status();
}

void* TFE_HandleToDLPack(TFE_TensorHandle* h, TF_Status* status) {
  void* managed = NULL;
  if (!TFE_TensorHandleDeviceName(h, status)) return NULL;
  if (h->custom || h->remote) {
    leat_capi_status_set(status, leat_make_status(LEAT_INVALID_ARGUMENT,
                                                  "DLPack doesn't support tensors on a %s",
                                                  h->custom ? "custom device" : "remote device"));
    return NULL;
  }
  leat_capi_status_set(status, export_tensor(&h->tensor, &managed));
  return managed;
}

void TFE_CallDLManagedTensorDeleter(void* dlm_ptr) {
  dl_managed_t* managed = dlm_ptr;
  if (managed && managed->deleter) managed->deleter(managed);
}

// ---- Coming in ----------------------------------------------------------------------------------

// Whether rows lie one behind the other. The stride of a dimension of size 1 is never used.
static bool is_compact(const dl_tensor_t* tensor) {
  int64_t expected = 1;
  bool is_compact = true;
  for (int i = tensor->ndim; i-- > 0;) {
    if (tensor->shape[i] == 0) return true;
    if (tensor->shape[i] != 1 && tensor->strides[i] != expected) is_compact = false;
    expected *= tensor->shape[i];
  }
  return is_compact;
}

static leat_status_t dtype_of(dl_type_t type, TF_DataType* out_dtype) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTypes); ++i) {
    if (kTypes[i].kind != type.kind || kTypes[i].bits != type.bits || type.lanes != 1) continue;
    *out_dtype = (TF_DataType)kTypes[i].dtype;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Importing from DLPack failed: the type has kind %d, %d bits and %d "
                          "lanes, must be one of TensorFlow's",
                          type.kind, type.bits, type.lanes);
}

static leat_status_t check_import(const dl_managed_t* managed, TF_DataType* out_dtype,
                                  size_t* out_size) {
  const dl_tensor_t* tensor = &managed->tensor;
  leat_shape_t shape;
  if (tensor->device.device_type != DEVICE_CPU) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Importing from DLPack failed: the device is of type %d, must be the "
                            "CPU (%d)",
                            (int)tensor->device.device_type, DEVICE_CPU);
  }
  LEAT_RETURN_IF_ERROR(dtype_of(tensor->dtype, out_dtype));
  LEAT_RETURN_IF_ERROR(leat_shape_create(tensor->ndim, tensor->shape, &shape));
  *out_size = (size_t)shape.element_count * TF_DataTypeSize(*out_dtype);
  leat_shape_release(&shape);
  if (tensor->strides && !is_compact(tensor)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid strides array from DLPack");
  }
  return leat_ok_status();
}

static void delete_imported(void* data, size_t length, void* managed) {
  TFE_CallDLManagedTensorDeleter(managed);
}

TFE_TensorHandle* TFE_HandleFromDLPack(void* dlm, TF_Status* status, TFE_Context* ctx) {
  const dl_managed_t* managed = dlm;
  TF_DataType dtype = TF_FLOAT;
  size_t size = 0;
  leat_status_t result = check_import(managed, &dtype, &size);
  if (result) {
    leat_capi_status_set(status, result);
    return NULL;
  }
  const dl_tensor_t* tensor = &managed->tensor;
  return TFE_NewTensorHandleFromDeviceMemory(
      ctx, NULL, dtype, tensor->shape, tensor->ndim, (char*)tensor->data + tensor->byte_offset,
      size, delete_imported, dlm, status);
}
