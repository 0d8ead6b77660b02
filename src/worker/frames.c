// Control flow (section 4.4). A frame is begun by the first Enter that reaches it from an iteration
// of the frame above; each NextIteration leads one iteration on, and at most parallel_iterations of
// them are alive. A value on an edge may be dead: a node with a dead input does not run and its
// outputs are dead, but a Merge runs for its first live input, and deadness ends at NextIteration
// and at an Exit (which is told when the frame ends).
//
// An iteration ends when nothing of it is ready, running or begun below it, and the one before has
// ended; a frame when all its Enters have come and its iterations have ended. All of it happens
// under one lock of the run; kernels run outside it.
#include <string.h>

#include "base/fingerprint.h"
#include "worker/dataflow.h"

// A value that waits: for the next iteration, or for every one.
typedef struct waiting_s {
  struct waiting_s* next;
  uint32_t record;
  leat_slot_t value;
} waiting_t;

struct leat_frame_run_s {
  leat_frame_run_t* next_sibling;
  leat_iteration_t* parent;
  int32_t index;             // in the plan's frames
  int64_t span;              // when a live variable entered; 0: none did, or nothing is recorded
  uint64_t id;               // of the frame's name and the iteration that began it
  uint32_t pending_entries;
  int64_t iteration_count;   // number of the newest
  int64_t first_iteration;   // the oldest that lives
  int32_t alive;
  leat_iteration_t** ring;   // [capacity], by number
  int32_t capacity;
  waiting_t* deferred;       // values for the iteration after the newest
  waiting_t* invariants;
  uint32_t* dead_exits;
  size_t dead_exit_count, dead_exit_capacity;
};

#define MAX_PARALLEL_ITERATIONS 1024

static leat_status_t settle_iteration(leat_dataflow_t* d, leat_iteration_t* iteration,
                                      leat_ready_list_t* ready);

// ---- Values -------------------------------------------------------------------------------------

static leat_slot_t share_slot(const leat_slot_t* slot) {
  leat_slot_t shared = {.alive = slot->alive, .ref = slot->ref};
  if (slot->tensor.dtype) shared.tensor = leat_tensor_share(&slot->tensor);
  if (shared.ref) leat_cell_retain(shared.ref);
  return shared;
}

// The value of an input: moved out when nobody else reads it.
static leat_slot_t take_input(const leat_iteration_t* iteration, const leat_record_t* record,
                              uint32_t input) {
  LEAT_DCHECK(input < record->dataflow.input_count);
  uint32_t number = record->input_slots[input];
  leat_slot_t* slot = &iteration->slots[number];
  if (iteration->table->readers[number] != 1) return share_slot(slot);
  leat_slot_t moved = *slot;
  memset(slot, 0, sizeof *slot);
  return moved;
}

// Stores |value| in a slot. A value that nobody reads is released at once, and only that it was
// live is kept.
static void put(leat_iteration_t* iteration, uint32_t slot, leat_slot_t value) {
  LEAT_DCHECK(slot < iteration->table->slot_count);
  leat_slot_clear(&iteration->slots[slot]);
  if (iteration->table->readers[slot] == 0) {
    leat_slot_clear(&value);
    iteration->slots[slot].alive = true;  // it was live, though nobody wants it
    return;
  }
  iteration->slots[slot] = value;
}

// ---- Switch and Merge ---------------------------------------------------------------------------

// Hands the data input to the output that the predicate chooses; the other output is dead.
static leat_status_t run_switch(leat_iteration_t* iteration, const leat_record_t* record) {
  uint32_t taken = 0;
  LEAT_RETURN_IF_ERROR(leat_switch_choose(
      record->kernel, &iteration->slots[record->input_slots[1]].tensor, &taken));
  leat_slot_clear(&iteration->slots[record->first_output + 1 - taken]);
  put(iteration, record->first_output + taken, take_input(iteration, record, 0));
  return leat_ok_status();
}

// Forwards the one input that came. The others are not looked at, since they may be on their way.
static leat_status_t run_merge(leat_iteration_t* iteration, const leat_record_t* record,
                               uint32_t input) {
  put(iteration, record->first_output, take_input(iteration, record, input));
  if (record->dataflow.output_count < 2 || !iteration->table->readers[record->first_output + 1]) {
    return leat_ok_status();
  }
  int32_t index = (int32_t)input;
  leat_slot_t value = {.alive = true};
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_INT32, &index, &value.tensor));
  put(iteration, record->first_output + 1, value);
  return leat_ok_status();
}

leat_status_t leat_frames_run(leat_iteration_t* iteration, const leat_record_t* record) {
  if (record->flags & LEAT_RECORD_SWITCH) return run_switch(iteration, record);
  if (record->flags & LEAT_RECORD_MERGE) {
    return run_merge(iteration, record, iteration->entries[record->dataflow.place].live_input);
  }
  return leat_ok_status();
}

// ---- Activation ---------------------------------------------------------------------------------

static uint32_t load(_Atomic(uint32_t)* counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}

static void store(_Atomic(uint32_t)* counter, uint32_t value) {
  atomic_store_explicit(counter, value, memory_order_relaxed);
}

static uint32_t input_of_slot(const leat_record_t* record, uint32_t slot) {
  uint32_t input = 0;
  while (record->input_slots[input] != slot) {
    ++input;
    LEAT_DCHECK(input < record->dataflow.input_count);
  }
  return input;
}

// The edge |output| from |source| has come to |merge|, which is |place| in |target|; true when it
// runs now. Bit 0 of the count stands for "no live value yet", the rest is twice the control inputs
// still to come. A dead Enter kills it: the edge that closes the loop will never come.
static bool reach_merge(leat_iteration_t* target, const leat_record_t* merge, uint32_t place,
                        const leat_record_t* source, int32_t output, bool live, bool* out_dead) {
  _Atomic(uint32_t)* pending = &target->pending[place];
  uint32_t* dead_inputs = &target->dead_inputs[place];
  uint32_t before = load(pending);
  *out_dead = *dead_inputs == merge->dataflow.input_count;
  if (output == LEAT_CONTROL_INDEX) {
    LEAT_DCHECK(before >= 2);
    store(pending, before - 2);
    return before == 2 || (before == 3 && *out_dead);
  }
  if (live) {
    if (before & 1) {
      target->entries[place].live_input =
          input_of_slot(merge, source->first_output + (uint32_t)output);
    }
    store(pending, before & ~1u);
    return before == 1;
  }
  LEAT_DCHECK(*dead_inputs < merge->dataflow.input_count);
  *out_dead = ++*dead_inputs == merge->dataflow.input_count || (source->flags & LEAT_RECORD_ENTER);
  return before == 1 && *out_dead;
}

// |record|'s outputs lie in |target| (or are dead there): counts at everyone who waits for them.
static void activate(leat_dataflow_t* d, leat_iteration_t* target, uint32_t index, bool dead,
                     leat_ready_list_t* ready) {
  const leat_plan_t* plan = d->plan;
  const leat_record_t* record = &plan->records[index];
  for (uint32_t i = 0; i < record->dataflow.successor_count; ++i) {
    uint32_t successor = d->tables->successors[record->dataflow.first_successor + i];
    int32_t output = d->tables->successor_outputs[record->dataflow.first_successor + i];
    const leat_record_t* waiter = &plan->records[successor];
    uint32_t place = waiter->dataflow.place;
    LEAT_DCHECK(place < target->table->record_count && target->entries[place].record == successor);
    bool live = !dead && (output == LEAT_CONTROL_INDEX ||
                          target->slots[record->first_output + (uint32_t)output].alive);
    bool is_dead, runs;
    if (waiter->flags & LEAT_RECORD_MERGE) {
      runs = reach_merge(target, waiter, place, record, output, live, &is_dead);
    } else {
      if (!live) ++target->dead_inputs[place];
      is_dead = target->dead_inputs[place] > 0 && !(waiter->flags & LEAT_RECORD_NEVER_DEAD);
      LEAT_DCHECK(load(&target->pending[place]) > 0);
      store(&target->pending[place], load(&target->pending[place]) - 1);
      runs = load(&target->pending[place]) == 0;
    }
    if (!runs) continue;
    ++target->outstanding;
    leat_dataflow_dispatch(d, ready, target, successor, is_dead);
  }
}

// Gives |record|, whose outputs lie in |target|, the value and counts at those who wait for it. The
// slot must say that a dead value is dead even where |put| took it for a live one that nobody
// reads.
static void activate_with(leat_dataflow_t* d, leat_iteration_t* target, uint32_t record,
                          leat_slot_t value, leat_ready_list_t* ready) {
  bool dead = !value.alive;
  put(target, d->plan->records[record].first_output, value);
  if (dead) target->slots[d->plan->records[record].first_output].alive = false;
  activate(d, target, record, dead, ready);
}

// ---- Frames and iterations ----------------------------------------------------------------------

// Adds the value, which is taken over, to a list of waiting ones.
static leat_status_t keep(leat_dataflow_t* d, waiting_t** list, uint32_t record,
                          leat_slot_t* value) {
  waiting_t* waiting;
  leat_status_t status = LEAT_ALLOCATE(d->plan->allocator, 1, &waiting);
  if (status) {
    leat_slot_clear(value);
    return status;
  }
  *waiting = (waiting_t){*list, record, *value};
  *list = waiting;
  return leat_ok_status();
}

static void drop(leat_dataflow_t* d, waiting_t* list) {
  while (list) {
    waiting_t* next = list->next;
    leat_slot_clear(&list->value);
    leat_allocator_free(d->plan->allocator, list);
    list = next;
  }
}

static leat_iteration_t** ring_place(const leat_frame_run_t* frame, int64_t number) {
  LEAT_DCHECK(number >= 0 && frame->capacity > 1);
  return &frame->ring[number % frame->capacity];
}

static leat_status_t take_iteration(leat_dataflow_t* d, leat_frame_run_t* frame,
                                    leat_iteration_t** out_iteration) {
  leat_iteration_t** free_list = &d->instance->free_iterations[frame->index];
  leat_iteration_t* iteration = *free_list;
  if (iteration) {
    *free_list = iteration->next_free;
  } else {
    LEAT_RETURN_IF_ERROR(leat_iteration_create(d->plan, d->instance, frame->index, &iteration));
  }
  leat_iteration_reset(d->plan, iteration);
  iteration->frame = frame;
  iteration->number = frame->iteration_count;
  iteration->span = 0;
  LEAT_DCHECK(!*ring_place(frame, iteration->number));
  *ring_place(frame, iteration->number) = iteration;
  ++frame->alive;
  *out_iteration = iteration;
  return leat_ok_status();
}

// Tells the recording under way, if there is one, that an iteration or the whole frame ends.
static void tell_end(const leat_dataflow_t* d, const leat_frame_run_t* frame,
                     leat_span_kind_t kind, int64_t begin, int64_t value) {
  leat_loop_span_end(begin, kind, &d->plan->loop_labels[frame->index - 1], value,
                     &d->execution->services);
}

static void return_iteration(leat_dataflow_t* d, leat_frame_run_t* frame,
                             leat_iteration_t* iteration) {
  for (uint32_t i = 0; i < iteration->table->slot_count; ++i) {
    leat_slot_clear(&iteration->slots[i]);
  }
  LEAT_DCHECK(frame->alive > 0 && *ring_place(frame, iteration->number) == iteration);
  LEAT_DCHECK(!iteration->children);
  *ring_place(frame, iteration->number) = NULL;
  iteration->next_free = d->instance->free_iterations[frame->index];
  d->instance->free_iterations[frame->index] = iteration;
  --frame->alive;
}

static void free_frame(leat_dataflow_t* d, leat_frame_run_t* frame) {
  drop(d, frame->deferred);
  drop(d, frame->invariants);
  leat_allocator_free(d->plan->allocator, frame->ring);
  leat_allocator_free(d->plan->allocator, frame->dead_exits);
  leat_allocator_free(d->plan->allocator, frame);
}

uint64_t leat_iteration_frame_id(const leat_iteration_t* iteration) {
  return iteration->frame ? iteration->frame->id : 0;
}

static uint64_t combine(uint64_t a, uint64_t b) {
  return a ^ (b + UINT64_C(0x9e3779b97f4a7800) + (a << 10) + (a >> 4));
}

// The number that TensorFlow's executor gives a frame. Sends and Recvs of two machines meet under
// it, so every worker must compute the same one.
static uint64_t frame_id(const leat_iteration_t* parent, leat_string_view_t name) {
  return combine(leat_iteration_frame_id(parent),
                 combine((uint64_t)parent->number, leat_fingerprint_murmur(name)));
}

// Begins a run of a frame from iteration |parent|, with its first iteration.
static leat_status_t begin_frame(leat_dataflow_t* d, leat_iteration_t* parent, int32_t index,
                                 leat_frame_run_t** out_frame) {
  const leat_frame_t* plan = &d->tables->frames.items[index];
  LEAT_DCHECK(index > 0 && index < d->tables->frames.count);
  LEAT_DCHECK(plan->entries > 0 && plan->parallel_iterations > 0);
  leat_frame_run_t* frame;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(d->plan->allocator, 1, &frame));
  frame->parent = parent;
  frame->index = index;
  frame->id = frame_id(parent, d->tables->frames.items[index].name);
  frame->pending_entries = plan->entries;
  frame->capacity = plan->parallel_iterations < MAX_PARALLEL_ITERATIONS
                        ? plan->parallel_iterations + 1
                        : MAX_PARALLEL_ITERATIONS + 1;
  leat_iteration_t* first;
  leat_status_t status = LEAT_ALLOCATE(d->plan->allocator, (size_t)frame->capacity, &frame->ring);
  if (!status) status = take_iteration(d, frame, &first);
  if (status) {
    free_frame(d, frame);
    return status;
  }
  frame->next_sibling = parent->children;
  parent->children = frame;
  *out_frame = frame;
  return leat_ok_status();
}

// The frame that the Enter |record| leads into from iteration |parent|; it is begun by the first
// Enter that comes.
static leat_status_t find_frame(leat_dataflow_t* d, leat_iteration_t* parent, uint32_t record,
                                leat_frame_run_t** out_frame) {
  int32_t index = d->tables->frames.outputs_in[d->plan->record_nodes[record]];
  for (leat_frame_run_t* frame = parent->children; frame; frame = frame->next_sibling) {
    if (frame->index == index) {
      *out_frame = frame;
      return leat_ok_status();
    }
  }
  return begin_frame(d, parent, index, out_frame);
}

// Begins the iteration after the newest: what waited for it, and what is the same in all.
static leat_status_t next_iteration(leat_dataflow_t* d, leat_frame_run_t* frame,
                                    leat_ready_list_t* ready, leat_iteration_t** out_iteration) {
  LEAT_DCHECK(frame->alive < frame->capacity - 1);
  ++frame->iteration_count;
  frame->dead_exit_count = 0;  // the loop went on: those were not its end
  LEAT_RETURN_IF_ERROR(take_iteration(d, frame, out_iteration));
  leat_iteration_t* iteration = *out_iteration;
  iteration->span = leat_span_begin();
  for (waiting_t* w = frame->invariants; w; w = w->next) {
    activate_with(d, iteration, w->record, share_slot(&w->value), ready);
  }
  waiting_t* deferred = frame->deferred;
  frame->deferred = NULL;
  for (waiting_t* w = deferred; w; w = w->next) {
    leat_slot_t value = w->value;
    memset(&w->value, 0, sizeof w->value);
    activate_with(d, iteration, w->record, value, ready);
  }
  drop(d, deferred);
  return leat_ok_status();
}

// ---- Completion ---------------------------------------------------------------------------------

// The value of an invariant goes to all iterations that live now, and is kept for those to come.
static leat_status_t complete_enter(leat_dataflow_t* d, leat_iteration_t* iteration,
                                    uint32_t index, bool dead, leat_ready_list_t* ready) {
  const leat_record_t* record = &d->plan->records[index];
  leat_frame_run_t* frame;
  LEAT_RETURN_IF_ERROR(find_frame(d, iteration, index, &frame));
  leat_slot_t value = {0};
  if (!dead) value = take_input(iteration, record, 0);
  if (record->flags & LEAT_RECORD_INVARIANT) {
    for (int64_t i = frame->first_iteration; i <= frame->iteration_count; ++i) {
      leat_iteration_t* target = *ring_place(frame, i);
      if (target) activate_with(d, target, index, share_slot(&value), ready);
    }
    LEAT_RETURN_IF_ERROR(keep(d, &frame->invariants, index, &value));
  } else {
    LEAT_DCHECK(frame->first_iteration == 0);
    // A frame in which no variable is live does not count as a loop, as in a sequence.
    if (!dead && !frame->span) frame->span = (*ring_place(frame, 0))->span = leat_span_begin();
    activate_with(d, *ring_place(frame, 0), index, value, ready);
  }
  LEAT_DCHECK(frame->pending_entries > 0);
  --frame->pending_entries;
  leat_iteration_t* oldest = *ring_place(frame, frame->first_iteration);
  return oldest ? settle_iteration(d, oldest, ready) : leat_ok_status();
}

// A dead Exit of an older iteration says nothing, since the loop went on after it. One of the
// newest is kept until the frame ends, because only then is it known that no later iteration will
// give a live value.
static leat_status_t complete_exit(leat_dataflow_t* d, leat_iteration_t* iteration, uint32_t index,
                                   bool dead, leat_ready_list_t* ready) {
  leat_frame_run_t* frame = iteration->frame;
  if (!dead) {
    activate_with(d, frame->parent, index,
                  take_input(iteration, &d->plan->records[index], 0), ready);
    return leat_ok_status();
  }
  if (iteration->number != frame->iteration_count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_GROW(d->plan->allocator, frame->dead_exit_count + 1, &frame->dead_exits,
                                 &frame->dead_exit_capacity));
  frame->dead_exits[frame->dead_exit_count++] = index;
  return leat_ok_status();
}

// A value for an iteration that may not begin yet, because enough of them are alive, waits in the
// list |deferred|.
static leat_status_t complete_next(leat_dataflow_t* d, leat_iteration_t* iteration, uint32_t index,
                                   bool dead, leat_ready_list_t* ready) {
  if (dead) return leat_ok_status();
  leat_frame_run_t* frame = iteration->frame;
  leat_slot_t value = take_input(iteration, &d->plan->records[index], 0);
  leat_iteration_t* target;
  if (iteration->number < frame->iteration_count) {
    target = *ring_place(frame, iteration->number + 1);
  } else if (frame->alive == frame->capacity - 1) {
    return keep(d, &frame->deferred, index, &value);
  } else {
    leat_status_t status = next_iteration(d, frame, ready, &target);
    if (status) {
      leat_slot_clear(&value);
      return status;
    }
  }
  LEAT_DCHECK(target->frame == frame && target->number == iteration->number + 1);
  activate_with(d, target, index, value, ready);
  return leat_ok_status();
}

// Iterations end in their order; the first one also waits for Enters that have not come.
static bool iteration_is_done(const leat_iteration_t* iteration) {
  const leat_frame_run_t* frame = iteration->frame;
  LEAT_DCHECK(iteration->outstanding >= 0);
  if (iteration->outstanding || iteration->children) return false;
  if (iteration->number == 0) return frame->pending_entries == 0;
  return iteration->number == frame->first_iteration;
}

// Tells the dead Exits of the last iteration, then frees the frame, which may end the iteration
// that began it.
static leat_status_t end_frame(leat_dataflow_t* d, leat_frame_run_t* frame,
                               leat_ready_list_t* ready) {
  leat_iteration_t* parent = frame->parent;
  LEAT_DCHECK(frame->alive == 0 && frame->pending_entries == 0 && !frame->deferred);
  for (size_t i = 0; i < frame->dead_exit_count; ++i) {
    activate(d, parent, frame->dead_exits[i], true, ready);
  }
  tell_end(d, frame, LEAT_SPAN_LOOP, frame->span, frame->iteration_count + 1);
  leat_frame_run_t** link = &parent->children;
  while (*link != frame) link = &(*link)->next_sibling;
  *link = frame->next_sibling;
  free_frame(d, frame);
  return settle_iteration(d, parent, ready);
}

// Ends iterations from the oldest on as far as they are done, and the frame after the last.
static leat_status_t settle_iteration(leat_dataflow_t* d, leat_iteration_t* iteration,
                                      leat_ready_list_t* ready) {
  leat_frame_run_t* frame = iteration->frame;
  if (!frame) return leat_ok_status();  // outside loops
  while (frame->alive) {
    leat_iteration_t* oldest = *ring_place(frame, frame->first_iteration);
    if (!oldest || !iteration_is_done(oldest)) break;
    tell_end(d, frame, LEAT_SPAN_ITERATION, oldest->span, oldest->number);
    return_iteration(d, frame, oldest);
    ++frame->first_iteration;
    if (frame->deferred) {
      leat_iteration_t* begun;
      LEAT_RETURN_IF_ERROR(next_iteration(d, frame, ready, &begun));
    }
  }
  if (frame->alive || frame->pending_entries) return leat_ok_status();
  return end_frame(d, frame, ready);
}

static leat_status_t complete(leat_dataflow_t* d, leat_iteration_t* iteration, uint32_t index,
                              bool dead, leat_ready_list_t* ready) {
  const leat_record_t* record = &d->plan->records[index];
  leat_status_t status = leat_ok_status();
  if (record->flags & LEAT_RECORD_ENTER) {
    status = complete_enter(d, iteration, index, dead, ready);
  } else if (record->flags & LEAT_RECORD_EXIT) {
    status = complete_exit(d, iteration, index, dead, ready);
  } else if (record->flags & LEAT_RECORD_NEXT_ITERATION) {
    status = complete_next(d, iteration, index, dead, ready);
  } else {
    activate(d, iteration, index, dead, ready);
  }
  leat_dataflow_release(d, iteration, index);
  LEAT_DCHECK(iteration->outstanding > 0);
  --iteration->outstanding;
  return status ? status : settle_iteration(d, iteration, ready);
}

leat_status_t leat_frames_complete(leat_dataflow_t* d, leat_iteration_t* iteration, uint32_t index,
                                   bool dead, leat_ready_list_t* ready) {
  if (d->parallel) leat_mutex_lock(&d->frames_mutex);
  leat_status_t status = complete(d, iteration, index, dead, ready);
  if (d->parallel) leat_mutex_unlock(&d->frames_mutex);
  return status;
}

// Frees what frames a step that failed has left, with their iterations, from the inside out.
static void abandon_children(leat_dataflow_t* d, leat_iteration_t* iteration) {
  while (iteration->children) {
    leat_frame_run_t* frame = iteration->children;
    iteration->children = frame->next_sibling;
    for (int64_t i = frame->first_iteration; i <= frame->iteration_count; ++i) {
      leat_iteration_t* left = *ring_place(frame, i);
      if (!left) continue;
      abandon_children(d, left);
      return_iteration(d, frame, left);
    }
    free_frame(d, frame);
  }
}

void leat_frames_abandon(leat_dataflow_t* d) { abandon_children(d, d->root); }
