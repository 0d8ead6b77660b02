// Ranks follow the names of the tasks, as texts, and then the numbers of the devices, as in
// TensorFlow. What an instance is must be the same for all members; the first who asks says it. An
// instance is forgotten when all members have asked, so that its number may come again; but for a
// broadcast with a source, which stays. A member whose step failed may ask twice, even behind all
// others, and counts once.
#include "cluster/collective_leader.h"

#include <string.h>

#include "base/sync.h"

#define MAX_GROUP_SIZE (1 << 20)

typedef struct waiter_s {
  struct waiter_s* next;
  leat_group_told_fn_t group_fn;        // one of the two
  leat_instance_told_fn_t instance_fn;
  void* data;
} waiter_t;

typedef struct group_s {
  struct group_s* next;
  int32_t key, size;
  leat_string_view_t device_type;            // as the first member told it
  leat_pb_device_attributes_list_t devices;  // [size], by rank
  waiter_t* waiters;
} group_t;

typedef struct instance_s {
  struct instance_s* next;
  int32_t group_key, key, type, data_type;
  int64_t step_id;
  int32_t source;  // rank; -1: none so far
  waiter_t* waiters;
  int32_t asked;   // how many members have asked
  bool has_asked[];  // [size of the group]
} instance_t;

struct leat_collective_leader_s {
  leat_allocator_t* allocator;
  leat_mutex_t mutex;  // guards what follows
  leat_arena_t arena;  // of the groups
  group_t* groups;
  instance_t* instances;
};

leat_status_t leat_collective_leader_create(leat_allocator_t* allocator,
                                            leat_collective_leader_t** out_leader) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, out_leader));
  (*out_leader)->allocator = allocator;
  leat_mutex_initialize(&(*out_leader)->mutex);
  leat_arena_initialize(allocator, 0, &(*out_leader)->arena);
  return leat_ok_status();
}

static leat_status_t add_waiter(leat_collective_leader_t* leader, waiter_t waiter,
                                waiter_t** inout_list) {
  waiter_t* added;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leader->allocator, 1, &added));
  *added = waiter;
  added->next = *inout_list;
  *inout_list = added;
  return leat_ok_status();
}

static waiter_t* take_waiters(waiter_t** list) {
  waiter_t* taken = *list;
  *list = NULL;
  return taken;
}

// Tells a list of waiters, which it frees, with the mutex free. |status| is taken.
static void tell(leat_collective_leader_t* leader, waiter_t* waiters, leat_status_t status,
                 const leat_pb_complete_group_response_t* group,
                 const leat_pb_complete_instance_response_t* instance) {
  while (waiters) {
    waiter_t* w = waiters;
    waiters = w->next;
    if (w->group_fn) w->group_fn(w->data, leat_status_clone(status), group);
    if (w->instance_fn) w->instance_fn(w->data, leat_status_clone(status), instance);
    leat_allocator_free(leader->allocator, w);
  }
  leat_status_free(status);
}

// Takes |list| and puts its waiters before those of |*inout_all|.
static void move_waiters(waiter_t** list, waiter_t** inout_all) {
  for (waiter_t *w = take_waiters(list), *next; w; w = next) {
    next = w->next;
    w->next = *inout_all;
    *inout_all = w;
  }
}

void leat_collective_leader_abort(leat_collective_leader_t* leader, leat_status_t status) {
  waiter_t* all = NULL;
  leat_mutex_lock(&leader->mutex);
  for (group_t* g = leader->groups; g; g = g->next) move_waiters(&g->waiters, &all);
  for (instance_t* i = leader->instances; i; i = i->next) move_waiters(&i->waiters, &all);
  leat_mutex_unlock(&leader->mutex);
  tell(leader, all, status, NULL, NULL);
}

void leat_collective_leader_free(leat_collective_leader_t* leader) {
  if (!leader) return;
  for (instance_t *i = leader->instances, *next; i; i = next) {
    next = i->next;
    leat_allocator_free(leader->allocator, i);
  }
  leat_arena_deinitialize(&leader->arena);
  leat_mutex_deinitialize(&leader->mutex);
  leat_allocator_free(leader->allocator, leader);
}

// ---- Groups -------------------------------------------------------------------------------------

static leat_string_view_t task_of(leat_string_view_t device) {
  const size_t end = leat_string_view_find_last(device, '/');
  return leat_string_view_make(device.data, end == SIZE_MAX ? device.size : end);
}

// Names of devices of one task are ordered by their numbers: the longer one has more digits.
static bool comes_before(leat_string_view_t a, leat_string_view_t b) {
  leat_string_view_t x = task_of(a), y = task_of(b);
  int order = leat_string_view_compare(x, y);
  if (order == 0 && a.size != b.size) order = a.size < b.size ? -1 : 1;
  if (order == 0) order = leat_string_view_compare(a, b);
  return order < 0;
}

static leat_status_t find_group(leat_collective_leader_t* leader,
                                const leat_pb_complete_group_request_t* request,
                                group_t** out_group) {
  group_t* g = leader->groups;
  while (g && g->key != request->group_key) g = g->next;
  *out_group = g;
  if (g && g->size != request->group_size) {
    return leat_make_status(
        LEAT_INTERNAL, "Device %.*s is joining a group with size %d, but that group has size %d "
        "(group_key=%d)", LEAT_SV_ARG(request->device_attributes->name),
        (int)request->group_size, (int)g->size, (int)g->key);
  }
  if (g) return leat_ok_status();
  if (request->group_size <= 0 || request->group_size > MAX_GROUP_SIZE) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "group_size must be positive integer, at most %d, but got %d",
                            MAX_GROUP_SIZE, (int)request->group_size);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&leader->arena, 1, &g));
  *g = (group_t){.next = leader->groups, .key = request->group_key, .size = request->group_size};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&leader->arena, (size_t)g->size, &g->devices.items));
  LEAT_RETURN_IF_ERROR(
      leat_arena_copy_string(&leader->arena, request->device_type, &g->device_type));
  leader->groups = g;
  *out_group = g;
  return leat_ok_status();
}

// Adds the device at its place. One that has joined before must not have been restarted since.
static leat_status_t add_device(leat_collective_leader_t* leader, group_t* g,
                                const leat_pb_device_attributes_t* device) {
  size_t place = 0;
  for (size_t i = 0; i < g->devices.count; ++i) {
    const leat_pb_device_attributes_t* other = &g->devices.items[i];
    if (leat_string_view_equal(other->name, device->name)) {
      if (other->incarnation == device->incarnation) return leat_ok_status();
      return leat_make_status(LEAT_ABORTED,
                              "Device %.*s was restarted since it joined the group %d",
                              LEAT_SV_ARG(device->name), (int)g->key);
    }
    if (comes_before(other->name, device->name)) place = i + 1;
  }
  if (g->devices.count == (size_t)g->size) {
    return leat_make_status(LEAT_INTERNAL, "Device %.*s is joining group %d, which is complete",
                            LEAT_SV_ARG(device->name), (int)g->key);
  }
  leat_pb_device_attributes_t copy = {.memory_limit = device->memory_limit,
                                      .incarnation = device->incarnation,
                                      .xla_global_id = device->xla_global_id};
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&leader->arena, device->name, &copy.name));
  LEAT_RETURN_IF_ERROR(
      leat_arena_copy_string(&leader->arena, device->device_type, &copy.device_type));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&leader->arena, device->physical_device_desc,
                                              &copy.physical_device_desc));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&leader->arena, 1, &copy.locality));
  memmove(&g->devices.items[place + 1], &g->devices.items[place],
          (g->devices.count - place) * sizeof copy);
  g->devices.items[place] = copy;
  ++g->devices.count;
  return leat_ok_status();
}

static int32_t count_tasks(const group_t* g) {
  int32_t count = 0;
  for (size_t i = 0; i < g->devices.count; ++i) {
    count += i == 0 || !leat_string_view_equal(task_of(g->devices.items[i - 1].name),
                                               task_of(g->devices.items[i].name));
  }
  return count;
}

void leat_collective_leader_join(leat_collective_leader_t* leader,
                                 const leat_pb_complete_group_request_t* request,
                                 leat_group_told_fn_t fn, void* data) {
  group_t* g = NULL;
  waiter_t* waiters = NULL;
  if (!request->device_attributes) {
    fn(data, leat_make_status(LEAT_INVALID_ARGUMENT, "device_attributes is missing"), NULL);
    return;
  }
  leat_mutex_lock(&leader->mutex);
  leat_status_t status = find_group(leader, request, &g);
  if (!status) status = add_device(leader, g, request->device_attributes);
  if (!status) {
    status = add_waiter(leader, (waiter_t){.group_fn = fn, .data = data}, &g->waiters);
  }
  const bool is_complete = !status && g->devices.count == (size_t)g->size;
  if (is_complete) waiters = take_waiters(&g->waiters);
  leat_mutex_unlock(&leader->mutex);
  if (status) fn(data, status, NULL);
  if (!is_complete) return;
  // A complete group does not change any more. |request| ends with the answer to it, which may come
  // before those to the others.
  const leat_pb_complete_group_response_t response = {.group_key = g->key,
                                                      .group_size = g->size,
                                                      .device_type = g->device_type,
                                                      .num_tasks = count_tasks(g),
                                                      .device_attributes = g->devices};
  tell(leader, waiters, leat_ok_status(), &response, NULL);
}

// ---- Instances ----------------------------------------------------------------------------------

static leat_status_t find_member(const leat_collective_leader_t* leader,
                                 const leat_pb_complete_instance_request_t* request,
                                 const group_t** out_group, int32_t* out_rank) {
  const group_t* g = leader->groups;
  while (g && g->key != request->group_key) g = g->next;
  *out_group = g;
  for (size_t rank = 0; g && rank < g->devices.count; ++rank) {
    *out_rank = (int32_t)rank;
    if (leat_string_view_equal(g->devices.items[rank].name, request->device)) {
      return leat_ok_status();
    }
  }
  return leat_make_status(LEAT_INTERNAL, "Device %.*s is not in group %d",
                          LEAT_SV_ARG(request->device), (int)request->group_key);
}

static leat_status_t find_instance(leat_collective_leader_t* leader,
                                   const leat_pb_complete_instance_request_t* request,
                                   const group_t* group, instance_t** out_instance) {
  instance_t* i = leader->instances;
  while (i && (i->group_key != request->group_key || i->key != request->instance_key ||
               i->step_id != request->step_id)) {
    i = i->next;
  }
  *out_instance = i;
  if (i && (i->type != request->type || i->data_type != request->data_type)) {
    return leat_make_status(
        LEAT_INTERNAL,
        "Collective instance %d expected type %d and data_type %d but got type %d and data_type %d",
        (int)i->key, (int)i->type, (int)i->data_type, (int)request->type, (int)request->data_type);
  }
  if (i) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leader->allocator, sizeof *i + (size_t)group->size * sizeof *i->has_asked, (void**)&i));
  i->next = leader->instances;
  i->group_key = request->group_key;
  i->key = request->instance_key;
  i->type = request->type;
  i->data_type = request->data_type;
  i->step_id = request->step_id;
  i->source = -1;
  leader->instances = i;
  *out_instance = i;
  return leat_ok_status();
}

static leat_status_t claim_source(instance_t* i, int32_t rank, leat_string_view_t device) {
  if (i->source >= 0 && i->source != rank) {
    return leat_make_status(LEAT_INTERNAL, "Instance %d already has a source, and device %.*s "
                            "claims to be a second one", (int)i->key, LEAT_SV_ARG(device));
  }
  i->source = rank;
  return leat_ok_status();
}

static void remove_instance(leat_collective_leader_t* leader, instance_t* instance) {
  instance_t** place = &leader->instances;
  while (*place != instance) place = &(*place)->next;
  *place = instance->next;
  leat_allocator_free(leader->allocator, instance);
}

#define BROADCAST 1  // of the types of collectives

void leat_collective_leader_enter(leat_collective_leader_t* leader,
                                  const leat_pb_complete_instance_request_t* request,
                                  leat_instance_told_fn_t fn, void* data) {
  instance_t* i = NULL;
  const group_t* group;
  int32_t rank;
  waiter_t* waiters = NULL;
  leat_pb_complete_instance_response_t response = {.instance_key = request->instance_key,
                                                   .source_rank = -1};
  leat_mutex_lock(&leader->mutex);
  leat_status_t status = find_member(leader, request, &group, &rank);
  if (!status) status = find_instance(leader, request, group, &i);
  if (!status && request->is_source) status = claim_source(i, rank, request->device);
  if (!status) {
    status = add_waiter(leader, (waiter_t){.instance_fn = fn, .data = data}, &i->waiters);
  }
  if (!status) {
    i->asked += !i->has_asked[rank];
    i->has_asked[rank] = true;
    const bool is_last = i->asked == group->size;
    response.source_rank = i->source;
    if (i->type != BROADCAST || i->source >= 0 || is_last) waiters = take_waiters(&i->waiters);
    if (is_last && i->source < 0) remove_instance(leader, i);
  }
  leat_mutex_unlock(&leader->mutex);
  if (status) {
    fn(data, status, NULL);
  } else if (request->type == BROADCAST && response.source_rank < 0) {
    tell(leader, waiters, leat_make_status(LEAT_INTERNAL, "Instance %d has no source: there are %d "
                                           "members that receive the broadcast, but none that "
                                           "sends it", (int)request->instance_key,
                                           (int)request->group_size), NULL, NULL);
  } else {
    tell(leader, waiters, leat_ok_status(), NULL, &response);
  }
}
