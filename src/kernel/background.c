// A count of units under a mutex, and a flag that refuses more.
#include "kernel/background.h"

struct leat_background_s {
  leat_allocator_t* allocator;
  leat_reference_count_t references;
  leat_cancellation_t* cancellation;
  leat_mutex_t mutex;
  leat_condition_t left;  // notified when the last unit has left
  int64_t units;          // under the mutex, as is |closed|
  bool closed;
};

leat_status_t leat_background_create(leat_allocator_t* allocator,
                                     leat_background_t** out_background) {
  leat_background_t* background;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &background));
  leat_status_t status = leat_cancellation_create(allocator, &background->cancellation);
  if (status) {
    leat_allocator_free(allocator, background);
    return status;
  }
  background->allocator = allocator;
  background->references = 1;
  leat_mutex_initialize(&background->mutex);
  leat_condition_initialize(&background->left);
  *out_background = background;
  return leat_ok_status();
}

void leat_background_retain(leat_background_t* background) {
  leat_reference_count_retain(&background->references);
}

void leat_background_release(leat_background_t* background) {
  if (!background || !leat_reference_count_release(&background->references)) return;
  LEAT_DCHECK(background->units == 0);
  leat_cancellation_release(background->cancellation);
  leat_condition_deinitialize(&background->left);
  leat_mutex_deinitialize(&background->mutex);
  leat_allocator_free(background->allocator, background);
}

leat_cancellation_t* leat_background_cancellation(leat_background_t* background) {
  return background->cancellation;
}

bool leat_background_enter(leat_background_t* background) {
  leat_mutex_lock(&background->mutex);
  const bool is_open = !background->closed;
  background->units += is_open;
  leat_mutex_unlock(&background->mutex);
  return is_open;
}

// The closing thread may release the background as soon as the mutex is free, so that whoever
// leaves holds a reference of its own.
void leat_background_leave(leat_background_t* background) {
  leat_mutex_lock(&background->mutex);
  LEAT_DCHECK(background->units > 0);
  if (--background->units == 0) leat_condition_notify_all(&background->left);
  leat_mutex_unlock(&background->mutex);
}

void leat_background_cancel(leat_background_t* background) {
  leat_mutex_lock(&background->mutex);
  background->closed = true;
  leat_mutex_unlock(&background->mutex);
  leat_cancellation_cancel(background->cancellation);
}

void leat_background_close(leat_background_t* background) {
  leat_background_cancel(background);
  leat_mutex_lock(&background->mutex);
  while (background->units) leat_condition_wait(&background->left, &background->mutex);
  leat_mutex_unlock(&background->mutex);
}
