// The heap holds only numbers that the cursor has passed, so its top is lower than whatever the
// cursor would give next, and a non-empty heap is always served first.
#include "graph/ready_queue.h"

leat_status_t leat_ready_queue_initialize(leat_allocator_t* allocator, int32_t count,
                                          leat_ready_queue_t* out_queue) {
  *out_queue = (leat_ready_queue_t){.allocator = allocator, .count = count};
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      allocator, (size_t)count + 1, sizeof(leat_heap_item_t) + sizeof(int32_t), &memory));
  out_queue->ready.items = memory;
  out_queue->pending = (int32_t*)(out_queue->ready.items + count + 1);
  return leat_ok_status();
}

void leat_ready_queue_deinitialize(leat_ready_queue_t* queue) {
  if (queue->allocator) leat_allocator_free(queue->allocator, queue->ready.items);
  *queue = (leat_ready_queue_t){0};
}

int32_t leat_ready_queue_take(leat_ready_queue_t* queue) {
  if (queue->ready.count > 0) return leat_heap_pop(&queue->ready);
  while (queue->cursor < queue->count) {
    int32_t index = queue->cursor++;
    if (queue->pending[index] <= 0) return index;
  }
  return -1;
}

void leat_ready_queue_settle(leat_ready_queue_t* queue, int32_t index) {
  LEAT_DCHECK(index >= 0 && index < queue->count && queue->pending[index] > 0);
  if (--queue->pending[index] == 0 && index < queue->cursor) {
    leat_heap_push(&queue->ready, index, index);
  }
}
