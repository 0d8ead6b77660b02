// Makes a plan without control flow a sequence: its records, in an order in which every input comes
// first, are already what runs. What is added is who reads each slot last, so that a kernel may
// overwrite its input in place and the executor empties slots without counting.
//
// Asynchronous kernels (a Recv, a dequeue) suspend a sequence. That loses nothing where whatever
// could run meanwhile has run before. So records are sorted by how many asynchronous kernels lie on
// the way to them: first all that wait for none, then the first of those kernels, then what waits
// for it, then the second. Where two asynchronous kernels wait for equally many, neither follows
// from the other and they should wait side by side: that is work for the dataflow executor.
#include <string.h>

#include "base/checked.h"
#include "worker/compiler.h"

// ---- The order around asynchronous kernels ------------------------------------------------------

// levels[r]: the number of asynchronous records on the way to |r|, itself included.
static bool find_levels(leat_plan_compiler_t* c, uint32_t* levels, bool* level_has_async,
                        uint32_t* out_level_count) {
  leat_plan_t* plan = c->plan;
  *out_level_count = 1;
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    const leat_node_t* node = leat_plan_compiler_node(c, r);
    uint32_t level = 0;
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      int64_t source = c->record_of[node->inputs[k].node];
      LEAT_DCHECK(source < r);
      if (source >= 0) level = LEAT_MAX(level, levels[source]);
    }
    if (plan->records[r].flags & LEAT_RECORD_ASYNC) {
      ++level;
      if (level_has_async[level]) {
        c->obstacle = node;
        c->obstacle_rule = "it waits beside another asynchronous node, and a sequence waits for "
                           "one at a time";
        return false;
      }
      level_has_async[level] = true;
      *out_level_count = LEAT_MAX(*out_level_count, level + 1);
    }
    levels[r] = level;
  }
  return true;
}

// Puts record |order[i]| in place i, with its node and the references that it reads.
static leat_status_t permute(leat_plan_compiler_t* c, const uint32_t* order) {
  leat_plan_t* plan = c->plan;
  size_t count = plan->record_count;
  leat_record_t* records;
  int32_t* nodes;
  uint32_t* first_read = NULL;
  leat_reference_read_t* reads = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&plan->arena, count + 1, &nodes));
  if (plan->first_read) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&plan->arena, count + 1, &first_read));
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&plan->arena, plan->first_read[count] + 1, &reads));
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_aligned(
      plan->allocator, 64, (count + 1) * sizeof *records, (void**)&records));
  for (uint32_t i = 0, next = 0; i < count; ++i) {
    uint32_t read_count;
    const leat_reference_read_t* from = leat_plan_reads(plan, order[i], &read_count);
    LEAT_DCHECK(order[i] < count);
    records[i] = plan->records[order[i]];
    nodes[i] = plan->record_nodes[order[i]];
    c->record_of[nodes[i]] = i;
    if (!first_read) continue;
    if (read_count) memcpy(&reads[next], from, read_count * sizeof *reads);
    next += read_count;
    first_read[i + 1] = next;
  }
  LEAT_DCHECK(!first_read || first_read[count] == plan->first_read[count]);
  leat_allocator_free(plan->allocator, plan->records);
  plan->records = records;
  plan->record_nodes = nodes;
  plan->reads = reads;
  plan->first_read = first_read;
  return leat_ok_status();
}

static leat_status_t order_around_async(leat_plan_compiler_t* c, bool* out_possible) {
  uint32_t count = c->plan->record_count, level_count;
  uint32_t *levels, *begin, *order;
  bool* level_has_async;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, count + 1, &levels));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, count + 2, &level_has_async));
  *out_possible = find_levels(c, levels, level_has_async, &level_count);
  if (!*out_possible) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, level_count + 1, &begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, count + 1, &order));
  // A counting sort that keeps the order within a level; there the asynchronous record is the first
  // one, because all others of its level follow from it.
  for (uint32_t r = 0; r < count; ++r) {
    LEAT_DCHECK(levels[r] < level_count);
    ++begin[levels[r] + 1];
  }
  for (uint32_t l = 0; l < level_count; ++l) begin[l + 1] += begin[l];
  for (uint32_t r = 0; r < count; ++r) order[begin[levels[r]]++] = r;
  return permute(c, order);
}

// ---- Who reads last -----------------------------------------------------------------------------

#define STAYS UINT32_MAX  // in |last|: nobody empties the slot

typedef struct releaser_s {
  leat_plan_t* plan;
  uint32_t* last;  // slot -> 1 + the record that reads it last; 0: nobody does
} releaser_t;

static void note_reader(releaser_t* s, uint32_t slot, uint32_t record) {
  LEAT_DCHECK(slot < s->plan->slot_count);
  if (s->last[slot] != STAYS) s->last[slot] = record + 1;
}

// Lists |slot| among what |record| empties, once, if it is its last reader.
static bool release(releaser_t* s, uint32_t slot, uint32_t record) {
  if (s->last[slot] != record + 1) return false;
  s->last[slot] = STAYS;
  s->plan->sequence.releases[s->plan->records[record].sequence.first_release +
                             s->plan->records[record].sequence.release_count++] = slot;
  return true;
}

static bool is_read_once(const leat_record_t* record, uint32_t slot) {
  int count = 0;
  for (int k = 0; k < record->kernel->input_count; ++k) count += record->input_slots[k] == slot;
  return count == 1;
}

static void note_readers(releaser_t* s) {
  for (uint32_t r = 0; r < s->plan->record_count; ++r) {
    const leat_record_t* record = &s->plan->records[r];
    uint32_t read_count;
    const leat_reference_read_t* reads = leat_plan_reads(s->plan, r, &read_count);
    for (int k = 0; record->kernel && k < record->kernel->input_count; ++k) {
      note_reader(s, record->input_slots[k], r);
    }
    for (uint32_t i = 0; i < read_count; ++i) note_reader(s, reads[i].source, r);
  }
}

static void release_inputs(releaser_t* s, uint32_t r) {
  leat_record_t* record = &s->plan->records[r];
  uint32_t read_count;
  const leat_reference_read_t* reads = leat_plan_reads(s->plan, r, &read_count);
  // A loop variable that stays as it is lies where it was: it is emptied when the loop ends.
  bool stays = (record->flags & LEAT_RECORD_MOVES) &&
               record->input_slots[0] == record->first_output;
  for (int k = 0; !stays && k < record->kernel->input_count; ++k) {
    uint32_t slot = record->input_slots[k];
    if (release(s, slot, r) && k < 64 && is_read_once(record, slot)) {
      record->last_readers |= UINT64_C(1) << k;
    }
  }
  for (uint32_t i = 0; i < read_count; ++i) release(s, reads[i].source, r);
}

// An output that nobody reads is emptied at once. Control flow does not even fill it.
static void release_outputs(releaser_t* s, uint32_t r) {
  leat_record_t* record = &s->plan->records[r];
  int count = record->first_output == LEAT_NO_SLOT ? 0 : record->kernel->output_count;
  for (int k = 0; k < count; ++k) {
    uint32_t slot = record->first_output + (uint32_t)k;
    if (s->last[slot] == 0 && !(record->flags & LEAT_RECORD_MOVES)) {
      s->last[slot] = r + 1;
      release(s, slot, r);
    } else if (s->last[slot] != 0 && k < 2 && (record->flags & LEAT_RECORD_CONTROL_FLOW)) {
      record->flags |= k ? LEAT_RECORD_READS_OUTPUT_1 : LEAT_RECORD_READS_OUTPUT_0;
    }
  }
}

leat_status_t leat_sequence_set_releases(leat_plan_compiler_t* c, const bool* stays) {
  leat_plan_t* plan = c->plan;
  releaser_t s = {.plan = plan};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->scratch, plan->slot_count + 1, &s.last));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&plan->arena, plan->slot_count + 1, &plan->sequence.releases));
  for (uint32_t i = 0; stays && i < plan->slot_count; ++i) s.last[i] = stays[i] ? STAYS : 0;
  for (uint32_t i = 0; i < plan->constant_count; ++i) s.last[i] = STAYS;
  for (int i = 0; i < plan->fetch_count; ++i) s.last[plan->fetch_slots[i]] = STAYS;
  note_readers(&s);
  for (uint32_t r = 0, next = 0; r < plan->record_count; ++r) {
    plan->records[r].sequence.first_release = next;
    if (!plan->records[r].kernel) continue;  // the border of a loop, or only a flag
    // First, so that a control record which reads what it writes learns that it is read.
    release_outputs(&s, r);
    release_inputs(&s, r);
    next += plan->records[r].sequence.release_count;
    LEAT_DCHECK(next <= plan->slot_count);
  }
  return leat_ok_status();
}

leat_status_t leat_sequence_compile(leat_plan_compiler_t* c, bool* out_possible) {
  leat_plan_t* plan = c->plan;
  *out_possible = true;
  if (c->framed) return leat_sequence_compile_framed(c, out_possible);
  if (plan->has_async) LEAT_RETURN_IF_ERROR(order_around_async(c, out_possible));
  if (!*out_possible) return leat_ok_status();
  plan->slot_count = c->frame_slots[0];
  plan->sequence = (leat_sequence_tables_t){0};
  for (uint32_t r = 0; r < plan->record_count; ++r) {
    memset(&plan->records[r].sequence, 0, sizeof plan->records[r].sequence);
  }
  return leat_sequence_set_releases(c, NULL);
}
