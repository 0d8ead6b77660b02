// What all devices share: the list of kinds that plug-ins brought, and the target of a copy. A kind
// stays for the life of the process, since sessions may open its devices at any time, so that
// readers follow the list without a lock.
#include "device/device.h"

#include <string.h>

static leat_mutex_t registration = {PTHREAD_MUTEX_INITIALIZER};
static const leat_device_type_t* _Atomic types;

const leat_device_type_t* leat_device_types(void) {
  return atomic_load_explicit(&types, memory_order_acquire);
}

leat_status_t leat_device_type_register(leat_device_type_t* type) {
  leat_status_t status = leat_ok_status();
  LEAT_DCHECK(type->name && type->create && type->count);
  leat_mutex_lock(&registration);
  for (const leat_device_type_t* t = leat_device_types(); t && !status; t = t->next) {
    if (strcmp(t->name, type->name) != 0) continue;
    status = leat_make_status(LEAT_ALREADY_EXISTS,
                              "Registering devices failed: type '%s' has been registered",
                              type->name);
  }
  type->next = leat_device_types();
  if (!status) atomic_store_explicit(&types, type, memory_order_release);
  leat_mutex_unlock(&registration);
  return status;
}

leat_status_t leat_device_prepare_target(const leat_tensor_t* from, leat_buffer_source_t* source,
                                         leat_tensor_t* to) {
  if (to->dtype == 0) return leat_tensor_allocate(source, from->dtype, &from->shape, to);
  if (from->dtype == to->dtype && leat_shape_equal(&from->shape, &to->shape)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Copy between devices failed: target is %s of shape %s, must be %s of "
                          "shape %s",
                          leat_dtype_name(to->dtype), LEAT_SHAPE_TEXT(&to->shape),
                          leat_dtype_name(from->dtype), LEAT_SHAPE_TEXT(&from->shape));
}
