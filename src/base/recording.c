// What is done with a recording that has ended, and is its owner's alone (base/span.h).
#include "base/span.h"

void leat_recording_free(leat_recording_t* recording) {
  leat_allocator_t* a = leat_allocator_system();
  if (!recording) return;
  while (recording->first) {
    leat_span_chunk_t* chunk = recording->first;
    recording->first = chunk->next;
    leat_allocator_free(a, chunk);
  }
  for (uint32_t i = 1; i < recording->name_count; ++i) {
    leat_allocator_free(a, (void*)recording->names[i].name.data);
  }
  for (uint32_t i = 0; i < recording->graph_count; ++i) {
    leat_allocator_free(a, recording->graphs[i].first_producer);
    leat_allocator_free(a, recording->graphs[i].producers);
  }
  leat_allocator_free(a, recording->graphs);
  leat_allocator_free(a, recording->names);
  leat_allocator_free(a, recording->threads);
  leat_allocator_free(a, recording);
}

int64_t leat_recording_ns(const leat_recording_t* recording, int64_t time) {
  const double ticks = (double)(recording->end - recording->begin);
  const double ns = (double)(recording->end_ns - recording->begin_ns);
  if (ticks <= 0) return recording->begin_ns;
  return recording->begin_ns + (int64_t)((double)(time - recording->begin) / ticks * ns);
}
