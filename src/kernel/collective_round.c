// Members of a round stand in the order of their devices, which gives them their ranks. The checks
// fail with the codes that TensorFlow has for the same disagreement. kernel/collective.c adds each
// member under the mutex of all rounds, and starts a round when the last one was added. The object
// that holds all rounds of a session or task is made and ended here too.
#include "base/clock.h"
#include "kernel/collective_round.h"

static leat_string_view_t device_of(const leat_member_t* m) {
  return m->context->kernel->device->name;
}

// The number at the end of "/job:localhost/replica:0/task:0/device:CPU:12".
static int64_t device_number(const leat_member_t* m) {
  leat_string_view_t name = device_of(m);
  int64_t number = 0, unit = 1;
  for (size_t i = name.size; i > 0 && name.data[i - 1] >= '0' && name.data[i - 1] <= '9'; --i) {
    number += (name.data[i - 1] - '0') * unit;
    unit *= 10;
  }
  return number;
}

// Whether the device of |a| comes before that of |b|.
static bool comes_before(const leat_member_t* a, const leat_member_t* b) {
  leat_string_view_t x = device_of(a), y = device_of(b);
  if (x.size != y.size) return device_number(a) < device_number(b);
  return memcmp(x.data, y.data, x.size) < 0;
}

void leat_round_add(leat_round_t* round, leat_member_t* m) {
  leat_member_t** place = &round->members;
  while (*place && comes_before(*place, m)) place = &(*place)->next;
  m->next = *place;
  *place = m;
  m->round = round;
  m->waits = true;
  m->pending = 1;
  ++round->live;
  ++round->joined;
}

leat_status_t leat_round_check_member(const leat_round_t* round, const leat_member_t* m) {
  const leat_member_t* first = round->members;
  const leat_collective_call_t *mine = &m->call, *theirs = &first->call;
  leat_string_view_t device = device_of(m);
  if (mine->group_size != theirs->group_size) {
    return leat_make_status(
        LEAT_INTERNAL, "Device %.*s is joining a group with size %d, but that group has size %d "
        "(group_key=%d)", LEAT_SV_ARG(device), (int)mine->group_size, (int)theirs->group_size,
        (int)mine->group_key);
  }
  if (mine->kind != theirs->kind || mine->dtype != theirs->dtype) {
    return leat_make_status(
        LEAT_INTERNAL,
        "Collective instance %d expected type %d and data_type %d but got type %d and data_type %d",
        (int)mine->instance_key, theirs->kind, theirs->dtype, mine->kind, mine->dtype);
  }
  if (!leat_shape_equal(mine->shape, theirs->shape)) {
    return leat_make_status(
        LEAT_INVALID_ARGUMENT, "Shape mismatch in the collective instance %d: the shape at device "
        "%.*s is %s, but another member of the group has shape %s", (int)mine->instance_key,
        LEAT_SV_ARG(device), LEAT_SHAPE_TEXT(mine->shape), LEAT_SHAPE_TEXT(theirs->shape));
  }
  for (const leat_member_t* other = first; other; other = other->next) {
    if (leat_string_view_equal(device_of(other), device)) {
      return leat_make_status(LEAT_INTERNAL, "Device %.*s takes part twice in instance %d of group "
                              "%d", LEAT_SV_ARG(device), (int)mine->instance_key,
                              (int)mine->group_key);
    }
    if (mine->is_source && other->call.is_source) {
      return leat_make_status(LEAT_INTERNAL, "Instance %d already has a source, and device %.*s "
                              "claims to be a second one", (int)mine->instance_key,
                              LEAT_SV_ARG(device));
    }
  }
  return leat_ok_status();
}

leat_status_t leat_round_check(const leat_round_t* round) {
  bool has_source = round->members->call.kind != LEAT_COLLECTIVE_BROADCAST;
  for (const leat_member_t* m = round->members; m; m = m->next) has_source |= m->call.is_source;
  if (has_source) return leat_ok_status();
  return leat_make_status(LEAT_INTERNAL, "Instance %d has no source: there are %d members that "
                          "receive the broadcast, but none that sends it",
                          (int)round->members->call.instance_key, (int)round->joined);
}

// ---- All rounds ---------------------------------------------------------------------------------

leat_status_t leat_collectives_create(leat_allocator_t* allocator,
                                      leat_collectives_t** out_collectives) {
  return leat_collectives_create_wired(allocator, NULL, out_collectives);
}

leat_status_t leat_collectives_create_wired(leat_allocator_t* allocator,
                                            leat_collective_wire_t* wire,
                                            leat_collectives_t** out_collectives) {
  leat_collectives_t* all;
  *out_collectives = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &all));
  all->references = 1;
  all->allocator = allocator;
  all->wire = wire;
  all->timer_wakes_ns = LEAT_DEADLINE_NEVER;
  if (wire) {
    leat_status_t status = LEAT_ALLOCATE(allocator, LEAT_ENDED_STEPS, &all->ended);
    if (status) {
      leat_allocator_free(allocator, all);
      return status;
    }
  }
  leat_mutex_initialize(&all->mutex);
  leat_condition_initialize(&all->changed);
  *out_collectives = all;
  return leat_ok_status();
}

void leat_collectives_retain(leat_collectives_t* collectives) {
  leat_reference_count_retain(&collectives->references);
}

void leat_collectives_release(leat_collectives_t* collectives) {
  leat_collectives_t* all = collectives;
  if (!all || !leat_reference_count_release(&all->references)) return;
  LEAT_DCHECK(!all->rounds && !all->requests && !all->timed);
  for (size_t i = 0; all->ended && i < LEAT_ENDED_STEPS; ++i) {
    leat_status_free(all->ended[i].status);
  }
  leat_allocator_free(all->allocator, all->ended);
  if (all->has_timer) {
    leat_mutex_lock(&all->mutex);
    all->ends = true;
    leat_condition_notify_all(&all->changed);
    leat_mutex_unlock(&all->mutex);
    leat_thread_join(all->timer);
  }
  leat_condition_deinitialize(&all->changed);
  leat_mutex_deinitialize(&all->mutex);
  leat_allocator_free(all->allocator, all);
}
