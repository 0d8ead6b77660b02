// A map from generators to counts, under a lock (kernel/draw_counts.h).
#include "kernel/draw_counts.h"

#include "base/map.h"
#include "base/sync.h"

struct leat_draw_counts_s {
  leat_reference_count_t references;
  leat_mutex_t mutex;
  leat_word_map_t counts;  // under the mutex
};

leat_status_t leat_draw_counts_create(leat_draw_counts_t** out_counts) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, out_counts));
  (*out_counts)->references = 1;
  leat_mutex_initialize(&(*out_counts)->mutex);
  leat_word_map_initialize(leat_allocator_system(), &(*out_counts)->counts);
  return leat_ok_status();
}

void leat_draw_counts_retain(leat_draw_counts_t* counts) {
  if (counts) leat_reference_count_retain(&counts->references);
}

void leat_draw_counts_release(leat_draw_counts_t* counts) {
  if (!counts || !leat_reference_count_release(&counts->references)) return;
  leat_word_map_deinitialize(&counts->counts);
  leat_mutex_deinitialize(&counts->mutex);
  leat_allocator_free(leat_allocator_system(), counts);
}

leat_status_t leat_draw_counts_add(leat_draw_counts_t* counts, uint64_t generator, uint64_t count,
                                   uint64_t* out_before) {
  *out_before = 0;
  leat_mutex_lock(&counts->mutex);
  leat_word_map_get(&counts->counts, generator, out_before);
  leat_status_t status = leat_word_map_set(&counts->counts, generator, *out_before + count);
  leat_mutex_unlock(&counts->mutex);
  return status;
}
