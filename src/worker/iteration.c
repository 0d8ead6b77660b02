// Iterations: memory and counters. The one outside loops uses the instance's slots and lives as
// long as the instance; those of loops are kept by frame for reuse.
#include <string.h>

#include "worker/dataflow.h"

static leat_status_t allocate_arrays(const leat_plan_t* plan, bool own_slots,
                                     leat_iteration_t* iteration) {
  const leat_dataflow_frame_t* table = iteration->table;
  size_t records = table->record_count + 1, slots = table->slot_count + 1;
  leat_allocator_t* a = plan->allocator;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, records, &iteration->pending));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, slots, &iteration->readers));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, records, &iteration->entries));
  if (plan->dataflow.framed) {
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, records, &iteration->dead_inputs));
  }
  if (!own_slots) return leat_ok_status();
  return leat_allocator_allocate_aligned(a, 64, slots * sizeof(leat_slot_t),
                                         (void**)&iteration->slots);
}

static void iteration_free(const leat_plan_t* plan, leat_iteration_t* iteration, bool own_slots) {
  if (!iteration) return;
  leat_allocator_free(plan->allocator, (void*)iteration->pending);
  leat_allocator_free(plan->allocator, (void*)iteration->readers);
  leat_allocator_free(plan->allocator, iteration->entries);
  leat_allocator_free(plan->allocator, iteration->queue);
  leat_allocator_free(plan->allocator, iteration->dead_inputs);
  if (own_slots) leat_allocator_free(plan->allocator, iteration->slots);
  leat_allocator_free(plan->allocator, iteration);
}

leat_status_t leat_iteration_create(const leat_plan_t* plan, leat_plan_instance_t* instance,
                                    int32_t index, leat_iteration_t** out_iteration) {
  leat_iteration_t* iteration;
  LEAT_DCHECK(index >= 0 && index < plan->dataflow.frames.count);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(plan->allocator, 1, &iteration));
  iteration->table = &plan->dataflow.frame_tables[index];
  leat_status_t status = allocate_arrays(plan, index != 0, iteration);
  if (status) {
    iteration_free(plan, iteration, index != 0);
    return status;
  }
  if (index == 0) iteration->slots = instance->slots;
  for (uint32_t i = 0; i < iteration->table->record_count; ++i) {
    iteration->entries[i] =
        (leat_ready_t){.iteration = iteration, .record = iteration->table->records[i]};
  }
  *out_iteration = iteration;
  return leat_ok_status();
}

// No other thread sees the counters yet.
void leat_iteration_reset(const leat_plan_t* plan, leat_iteration_t* iteration) {
  const leat_dataflow_frame_t* table = iteration->table;
  LEAT_DCHECK(!iteration->children);
  memcpy((void*)iteration->pending, table->pending, table->record_count * sizeof(uint32_t));
  memcpy((void*)iteration->readers, table->readers, table->slot_count * sizeof(uint32_t));
  if (plan->dataflow.framed) {
    memset(iteration->dead_inputs, 0, table->record_count * sizeof(uint32_t));
  }
  iteration->outstanding = 0;
  iteration->children = NULL;
}

void leat_iterations_free(const leat_plan_t* plan, leat_plan_instance_t* instance) {
  iteration_free(plan, instance->root, false);
  for (int32_t f = 0; instance->free_iterations && f < plan->dataflow.frames.count; ++f) {
    while (instance->free_iterations[f]) {
      leat_iteration_t* iteration = instance->free_iterations[f];
      LEAT_DCHECK(iteration->table == &plan->dataflow.frame_tables[f]);
      instance->free_iterations[f] = iteration->next_free;
      iteration_free(plan, iteration, true);
    }
  }
  leat_allocator_free(plan->allocator, instance->free_iterations);
}
