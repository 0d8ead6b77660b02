// All queues are one kind of resource, whatever their order: a name belongs to one of them.
#include "kernel/queue.h"

static void queue_destroy(leat_resource_t* resource) {
  leat_queue_t* queue = (leat_queue_t*)resource;
  queue->destroy(queue);
}

const leat_resource_kind_t leat_queue_kind = {.name = "QueueInterface", .destroy = queue_destroy};
