// The heap holds only numbers that the cursor has passed, so its top is lower than whatever the
// cursor would give next, and a non-empty heap is always served first.
#include "graph/ready_queue.h"

leat_status_t leat_ready_queue_initialize(leat_allocator_t* allocator, int32_t count,
                                          leat_ready_queue_t* out_queue) {
  *out_queue = (leat_ready_queue_t){.allocator = allocator, .count = count};
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(allocator, 2 * (size_t)count + 1,
                                                     sizeof(int32_t), &memory));
  out_queue->pending = memory;
  out_queue->heap = out_queue->pending + count;
  return leat_ok_status();
}

void leat_ready_queue_deinitialize(leat_ready_queue_t* queue) {
  if (queue->allocator) leat_allocator_free(queue->allocator, queue->pending);
  *queue = (leat_ready_queue_t){0};
}

static void heap_push(leat_ready_queue_t* queue, int32_t index) {
  LEAT_DCHECK(queue->heap_count < queue->count);
  int32_t at = queue->heap_count++;
  while (at > 0 && queue->heap[(at - 1) / 2] > index) {
    queue->heap[at] = queue->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  queue->heap[at] = index;
}

static int32_t heap_pop(leat_ready_queue_t* queue) {
  LEAT_DCHECK(queue->heap_count > 0);
  int32_t top = queue->heap[0];
  int32_t last = queue->heap[--queue->heap_count];
  int32_t at = 0;
  for (;;) {
    int32_t child = 2 * at + 1;
    if (child >= queue->heap_count) break;
    if (child + 1 < queue->heap_count && queue->heap[child + 1] < queue->heap[child]) ++child;
    if (queue->heap[child] >= last) break;
    queue->heap[at] = queue->heap[child];
    at = child;
  }
  queue->heap[at] = last;
  return top;
}

int32_t leat_ready_queue_take(leat_ready_queue_t* queue) {
  if (queue->heap_count > 0) return heap_pop(queue);
  while (queue->cursor < queue->count) {
    int32_t index = queue->cursor++;
    if (queue->pending[index] <= 0) return index;
  }
  return -1;
}

void leat_ready_queue_settle(leat_ready_queue_t* queue, int32_t index) {
  LEAT_DCHECK(index >= 0 && index < queue->count && queue->pending[index] > 0);
  if (--queue->pending[index] == 0 && index < queue->cursor) heap_push(queue, index);
}
