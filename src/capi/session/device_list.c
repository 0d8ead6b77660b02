// TF_DeviceList: a copy of a session's devices, their names, types, memory and incarnations, as
// they were when TF_SessionListDevices was called. Copying makes the list independent of the
// session, so that it may outlive it. All accessors check the index, because their callers count on
// an error and not on a crash. Strings that they return belong to the list.
#include "capi/handles.h"

typedef struct device_entry_s {
  char* name;
  char* type;
  int64_t memory_bytes;
  uint64_t incarnation;
} device_entry_t;

struct TF_DeviceList {
  int count;
  device_entry_t entries[];
};

void TF_DeleteDeviceList(TF_DeviceList* list) {
  if (!list) return;
  for (int i = 0; i < list->count; ++i) {
    leat_allocator_free(leat_allocator_system(), list->entries[i].name);
    leat_allocator_free(leat_allocator_system(), list->entries[i].type);
  }
  leat_allocator_free(leat_allocator_system(), list);
}

static leat_status_t fill_entry(const leat_placement_device_t* device, device_entry_t* entry) {
  entry->memory_bytes = device->memory_limit_bytes;
  entry->incarnation = device->incarnation;
  LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(leat_allocator_system(), device->name.data,
                                                   device->name.size, &entry->name));
  return leat_allocator_clone_string(leat_allocator_system(), device->type.data,
                                     device->type.size, &entry->type);
}

// The entries are zeroed, so that a list which was filled only in part can be deleted.
leat_status_t leat_capi_list_devices(const leat_placement_device_t* devices, int count,
                                     TF_DeviceList** out_list) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), sizeof(TF_DeviceList) + (size_t)count * sizeof(device_entry_t),
      &memory));
  TF_DeviceList* list = memory;
  list->count = count;
  for (int i = 0; i < count; ++i) {
    leat_status_t status = fill_entry(&devices[i], &list->entries[i]);
    if (status) {
      TF_DeleteDeviceList(list);
      return status;
    }
  }
  *out_list = list;
  return leat_ok_status();
}

TF_DeviceList* TF_SessionListDevices(TF_Session* session, TF_Status* status) {
  TF_DeviceList* list = NULL;
  const int count = leat_session_device_count(session->session);
  leat_status_t result =
      leat_capi_list_devices(count ? leat_session_device(session->session, 0) : NULL, count, &list);
  leat_capi_status_set(status, result);
  return list;
}

int TF_DeviceListCount(const TF_DeviceList* list) { return list ? list->count : 0; }

// Returns the entry, or NULL with the reason in |status|.
static const device_entry_t* find_entry(const TF_DeviceList* list, int index, TF_Status* status) {
  if (list && index >= 0 && index < list->count) {
    leat_capi_status_set(status, leat_ok_status());
    return &list->entries[index];
  }
  leat_capi_status_set(
      status, leat_make_status(LEAT_INVALID_ARGUMENT,
                               "Reading a device list failed: index is %d, must be in [0, %d)",
                               index, TF_DeviceListCount(list)));
  return NULL;
}

const char* TF_DeviceListName(const TF_DeviceList* list, int index, TF_Status* status) {
  const device_entry_t* entry = find_entry(list, index, status);
  return entry ? entry->name : NULL;
}

const char* TF_DeviceListType(const TF_DeviceList* list, int index, TF_Status* status) {
  const device_entry_t* entry = find_entry(list, index, status);
  return entry ? entry->type : NULL;
}

// -1 is TensorFlow's answer where there is no such entry.
int64_t TF_DeviceListMemoryBytes(const TF_DeviceList* list, int index, TF_Status* status) {
  const device_entry_t* entry = find_entry(list, index, status);
  return entry ? entry->memory_bytes : -1;
}

uint64_t TF_DeviceListIncarnation(const TF_DeviceList* list, int index, TF_Status* status) {
  const device_entry_t* entry = find_entry(list, index, status);
  return entry ? entry->incarnation : 0;
}
