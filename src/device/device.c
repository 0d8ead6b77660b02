// The reference count of a device, which all kinds of devices share.
#include "device/device.h"

void leat_device_retain(leat_device_t* device) {
  leat_reference_count_retain(&device->references);
}

void leat_device_release(leat_device_t* device) {
  if (device && leat_reference_count_release(&device->references)) device->vtable->destroy(device);
}
