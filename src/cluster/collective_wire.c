// A member's question for its group goes to the leader twice: CompleteGroup, once for each group
// and device, and CompleteInstance. The answers are kept, the group for all later collectives, and
// the source of an instance for all later steps, as TensorFlow's members keep them. Those of a
// communicator have numbers that do not come again, and ask each time.
//
//   resolve ─▶ group known? ──no──▶ CompleteGroup ─┐
//                  │yes ◀──────────────────────────┘
//                  ▼
//           instance known? ──no──▶ CompleteInstance ─▶ the member starts
#include "cluster/collective_wire.h"

#include <string.h>

#include "base/host.h"
#include "cluster/collective_chunk.h"
#include "cluster/rpc_message.h"
#include "formats/wire/decode.h"
#include "formats/wire/shape_proto.h"

typedef struct question_s question_t;

// A group as a device of this task knows it.
typedef struct known_group_s {
  struct known_group_s* next;
  leat_task_collectives_t* owner;
  int32_t key, size;
  leat_string_view_t device;
  bool is_known;
  leat_arena_t arena;  // of what follows
  leat_collective_members_t members;
  leat_word_map_t sources;  // of instances that come again: the source + 1, by key
  question_t* waiting;
} known_group_t;

struct question_s {
  question_t* next;
  known_group_t* group;
  bool comes_again;
  leat_arena_t arena;  // of the request
  leat_pb_complete_instance_request_t request;
  leat_collective_resolved_fn_t fn;
  void* data;
};

struct leat_task_collectives_s {
  leat_collective_wire_t wire;
  leat_task_t* task;
  int leader_number;
  leat_collectives_t* rounds;
  leat_collective_leader_t* leader;
  leat_step_sequences_t* sequences;
  bool has_leader;     // one was named
  leat_mutex_t mutex;  // guards what follows
  known_group_t* groups;
};

static void end_question(question_t* q, leat_status_t status, int32_t source) {
  leat_allocator_t* allocator = q->group->owner->task->allocator;
  const leat_collective_members_t* members = &q->group->members;
  leat_collective_resolved_fn_t fn = q->fn;
  void* data = q->data;
  leat_arena_deinitialize(&q->arena);
  leat_allocator_free(allocator, q);
  fn(data, status, members, source);
}

static leat_status_t ask_leader(const leat_task_collectives_t* c, const char* method,
                                const leat_message_descriptor_t* descriptor, const void* message,
                                leat_rpc_done_fn_t done, void* data) {
  leat_rpc_channel_t* channel;
  LEAT_RETURN_IF_ERROR(leat_task_channel(c->task, c->leader_number, &channel));
  const leat_rpc_call_options_t options = {
      .method = method, .deadline_ns = LEAT_DEADLINE_NEVER, .waits = true};
  leat_rpc_call_message(channel, &options, descriptor, message, done, data, NULL);
  return leat_ok_status();
}

// ---- Instances ----------------------------------------------------------------------------------

// A leat_instance_told_fn_t.
static void instance_told(void* data, leat_status_t status,
                          const leat_pb_complete_instance_response_t* response) {
  question_t* q = data;
  const int32_t source = status ? -1 : response->source_rank;
  leat_task_collectives_t* c = q->group->owner;
  if (!status && q->comes_again) {
    leat_mutex_lock(&c->mutex);
    status = leat_word_map_set(&q->group->sources, (uint32_t)q->request.instance_key,
                               (uint64_t)(source + 1));
    leat_mutex_unlock(&c->mutex);
  }
  end_question(q, status, source);
}

// A leat_rpc_done_fn_t.
static void instance_answered(void* data, leat_status_t status, leat_string_view_t details,
                              leat_rpc_bytes_t answer) {
  leat_arena_t arena;
  leat_pb_complete_instance_response_t response = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  if (!status) {
    status = leat_rpc_decode_message(answer, &arena,
                                     &leat_pb_complete_instance_response_descriptor, &response);
  }
  instance_told(data, status, &response);
  leat_arena_deinitialize(&arena);
}

static void ask_instance(question_t* q) {
  leat_task_collectives_t* c = q->group->owner;
  uint64_t known = 0;
  leat_mutex_lock(&c->mutex);
  const bool is_known =
      q->comes_again &&
      leat_word_map_get(&q->group->sources, (uint32_t)q->request.instance_key, &known);
  leat_mutex_unlock(&c->mutex);
  if (is_known) {
    end_question(q, leat_ok_status(), (int32_t)known - 1);
  } else if (c->leader_number == c->task->number) {
    leat_collective_leader_enter(c->leader, &q->request, instance_told, q);
  } else {
    leat_status_t status = ask_leader(c, "/tensorflow.WorkerService/CompleteInstance",
                                      &leat_pb_complete_instance_request_descriptor, &q->request,
                                      instance_answered, q);
    if (status) end_question(q, status, -1);
  }
}

// ---- Groups -------------------------------------------------------------------------------------

// The description by which members know each other as Leat's, and behind it which host they are on;
// TensorFlow's CPUs have none. Leaders of both kinds pass it on, so that all members choose alike.
static const leat_string_view_t kOwnKind = LEAT_SV("leat: reduces in pairs and by hosts, on ");
#define HOST_BYTES 128

static leat_status_t describe_host(leat_arena_t* arena, leat_string_view_t* out_description) {
  char host[HOST_BYTES], *text;
  leat_host_run(host, sizeof host);
  const size_t size = strlen(host);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, kOwnKind.size + size, &text));
  memcpy(text, kOwnKind.data, kOwnKind.size);
  memcpy(text + kOwnKind.size, host, size);
  *out_description = leat_string_view_make(text, kOwnKind.size + size);
  return leat_ok_status();
}

static leat_status_t keep_members(known_group_t* g,
                                  const leat_pb_complete_group_response_t* response) {
  const leat_task_t* task = g->owner->task;
  const leat_pb_device_attributes_list_t* devices = &response->device_attributes;
  leat_string_view_t* names;
  uint64_t* incarnations;
  bool* are_remote;
  int32_t *starts, *leaders;
  int32_t task_count = 0;
  bool are_alike = true;
  int last = -1;
  if (devices->count != (size_t)g->size) {
    return leat_make_status(LEAT_INTERNAL, "the leader told %zu members of group %d, must be %d",
                            devices->count, (int)g->key, (int)g->size);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&g->arena, devices->count, &names));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&g->arena, devices->count, &incarnations));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&g->arena, devices->count, &are_remote));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&g->arena, devices->count + 1, &starts));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&g->arena, devices->count, &leaders));
  for (size_t i = 0; i < devices->count; ++i) {
    const leat_pb_device_attributes_t* device = &devices->items[i];
    const int number = leat_cluster_spec_find_device(&task->spec, device->name);
    if (number < 0) {
      return leat_make_status(LEAT_INTERNAL, "the leader told the member %.*s, which is of no task",
                              LEAT_SV_ARG(device->name));
    }
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&g->arena, device->name, &names[i]));
    incarnations[i] = device->incarnation;
    are_remote[i] = number != task->number;
    are_alike &= leat_string_view_starts_with(device->physical_device_desc, kOwnKind);
    while (!leat_string_view_equal(devices->items[leaders[i]].physical_device_desc,
                                   device->physical_device_desc)) {
      ++leaders[i];
    }
    if (number != last) starts[task_count++] = (int32_t)i;  // a task's devices stand side by side
    last = number;
  }
  starts[task_count] = g->size;
  g->members = (leat_collective_members_t){g->size, names, incarnations, are_remote, task_count,
                                           starts, are_alike, leaders};
  return leat_ok_status();
}

// A leat_group_told_fn_t: goes on with the questions that wait for the group. Where it failed, the
// next question asks again.
static void group_told(void* data, leat_status_t status,
                       const leat_pb_complete_group_response_t* response) {
  known_group_t* g = data;
  leat_mutex_lock(&g->owner->mutex);
  if (!status) status = keep_members(g, response);
  g->is_known = !status;
  question_t* waiting = g->waiting;
  g->waiting = NULL;
  leat_mutex_unlock(&g->owner->mutex);
  while (waiting) {
    question_t* q = waiting;
    waiting = q->next;
    if (status) {
      end_question(q, leat_status_clone(status), -1);
    } else {
      ask_instance(q);
    }
  }
  leat_status_free(status);
}

// A leat_rpc_done_fn_t.
static void group_answered(void* data, leat_status_t status, leat_string_view_t details,
                           leat_rpc_bytes_t answer) {
  leat_arena_t arena;
  leat_pb_complete_group_response_t response = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  if (!status) {
    status = leat_rpc_decode_message(answer, &arena, &leat_pb_complete_group_response_descriptor,
                                     &response);
  }
  group_told(data, status, &response);
  leat_arena_deinitialize(&arena);
}

static void ask_group(known_group_t* g) {
  leat_task_collectives_t* c = g->owner;
  leat_arena_t arena;
  leat_pb_device_attributes_list_t own = {0};
  leat_pb_complete_group_request_t request = {
      .group_key = g->key, .group_size = g->size, .device_type = LEAT_SV("CPU")};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_task_describe_devices(c->task, &arena, &own);
  leat_string_view_t description = kOwnKind;
  if (!status) status = describe_host(&arena, &description);
  for (size_t i = 0; i < own.count; ++i) {
    if (leat_string_view_equal(own.items[i].name, g->device)) {
      request.device_attributes = &own.items[i];
      own.items[i].physical_device_desc = description;
    }
  }
  if (!status && c->leader_number == c->task->number) {
    leat_collective_leader_join(c->leader, &request, group_told, g);
  } else if (!status) {
    status = ask_leader(c, "/tensorflow.WorkerService/CompleteGroup",
                        &leat_pb_complete_group_request_descriptor, &request, group_answered, g);
  }
  leat_arena_deinitialize(&arena);
  if (status) group_told(g, status, NULL);
}

// The group, made where there is none. The mutex is held.
static leat_status_t find_known_group(leat_task_collectives_t* c, int32_t key, int32_t size,
                                      leat_string_view_t device, known_group_t** out_group) {
  known_group_t* g = c->groups;
  while (g && (g->key != key || !leat_string_view_equal(g->device, device))) g = g->next;
  *out_group = g;
  if (g && g->size == size) return leat_ok_status();
  if (g) {
    return leat_make_status(
        LEAT_INTERNAL, "Device %.*s is joining a group with size %d, but that group has size %d "
        "(group_key=%d)", LEAT_SV_ARG(device), (int)size, (int)g->size, (int)key);
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->task->allocator, 1, &g));
  *g = (known_group_t){.next = c->groups, .owner = c, .key = key, .size = size};
  leat_arena_initialize(c->task->allocator, 0, &g->arena);
  leat_word_map_initialize(c->task->allocator, &g->sources);
  c->groups = g;
  *out_group = g;
  return leat_arena_copy_string(&g->arena, device, &g->device);
}

// ---- The wire -----------------------------------------------------------------------------------

static leat_status_t write_request(question_t* q, leat_string_view_t device,
                                   leat_string_view_t node, const leat_collective_call_t* call) {
  leat_pb_complete_instance_request_t* request = &q->request;
  *request = (leat_pb_complete_instance_request_t){
      .type = call->kind, .data_type = call->dtype, .group_key = call->group_key,
      .group_size = call->group_size, .instance_key = call->instance_key,
      .device_type = LEAT_SV("CPU"), .is_source = call->is_source};
  // A leader that runs TensorFlow takes the offsets of who asks first for those of all. To a
  // broadcast TensorFlow gives one of its own.
  const bool is_broadcast = call->kind == LEAT_COLLECTIVE_BROADCAST;
  const size_t offsets = is_broadcast ? 1 : (size_t)call->subdiv_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&q->arena, offsets + 1, &request->subdiv_offset.items));
  request->subdiv_offset.count = offsets;
  for (size_t i = 0; i < offsets && !is_broadcast; ++i) {
    request->subdiv_offset.items[i] = call->subdiv_offsets[i];
  }
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&q->arena, device, &request->device));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&q->arena, node, &request->name));
  const leat_partial_shape_t shape = {.rank = call->shape->rank,
                                      .dims = leat_shape_dims(call->shape)};
  return leat_partial_shape_to_proto(shape, &q->arena, &request->shape);
}

static void resolve(leat_collective_wire_t* self, leat_string_view_t device,
                    leat_string_view_t node, const leat_collective_call_t* call,
                    leat_collective_resolved_fn_t fn, void* data) {
  leat_task_collectives_t* c = (leat_task_collectives_t*)self;
  question_t* q = NULL;
  leat_status_t status = LEAT_ALLOCATE(c->task->allocator, 1, &q);
  if (status) {
    fn(data, status, NULL, -1);
    return;
  }
  q->comes_again = call->comes_again;
  q->fn = fn;
  q->data = data;
  leat_arena_initialize(c->task->allocator, 0, &q->arena);
  status = write_request(q, device, node, call);
  leat_mutex_lock(&c->mutex);
  if (!status) {
    status = find_known_group(c, call->group_key, call->group_size, device, &q->group);
  }
  known_group_t* g = status ? NULL : q->group;
  const bool is_known = g && g->is_known, asks = g && !is_known && !g->waiting;
  if (g && !is_known) {
    q->next = g->waiting;
    g->waiting = q;
  }
  leat_mutex_unlock(&c->mutex);
  if (status) {
    leat_arena_deinitialize(&q->arena);
    leat_allocator_free(c->task->allocator, q);
    fn(data, status, NULL, -1);
  } else if (is_known) {
    ask_instance(q);
  } else if (asks) {
    ask_group(g);
  }
}

static void fetch(leat_collective_wire_t* self, const leat_collective_chunk_t* chunk,
                  leat_collective_chunk_fn_t fn, void* data, void** out_call) {
  leat_collective_chunk_fetch(((leat_task_collectives_t*)self)->task, chunk, fn, data, out_call);
}

static void expect(leat_collective_wire_t* self, leat_string_view_t device, bool begins) {
  leat_task_t* task = ((leat_task_collectives_t*)self)->task;
  leat_rpc_channel_t* channel;
  const int number = leat_cluster_spec_find_device(&task->spec, device);
  // Without memory for a channel the task is not watched.
  leat_status_t status = leat_task_channel(task, number, &channel);
  leat_status_free(status);
  leat_heartbeat_expect(task->heartbeat, number, begins ? 1 : -1);
}

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_task_collectives_create(leat_task_t* task, leat_string_view_t leader,
                                           leat_task_collectives_t** out_collectives) {
  leat_task_collectives_t* c;
  *out_collectives = NULL;
  const int number =
      leader.size ? leat_cluster_spec_find_name(&task->spec, leader) : task->number;
  if (number < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Making a server failed: collective_group_leader is '%.*s', must be a "
                            "task of the cluster", LEAT_SV_ARG(leader));
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(task->allocator, 1, &c));
  c->wire = (leat_collective_wire_t){resolve, fetch, leat_collective_chunk_cancel,
                                      leat_collective_chunk_free, expect};
  c->has_leader = leader.size > 0;
  c->task = task;
  c->leader_number = number;
  leat_mutex_initialize(&c->mutex);
  *out_collectives = c;
  LEAT_RETURN_IF_ERROR(leat_collective_leader_create(task->allocator, &c->leader));
  LEAT_RETURN_IF_ERROR(leat_step_sequences_create(task, number, &c->sequences));
  return leat_collectives_create_wired(task->allocator, &c->wire, &c->rounds);
}

void leat_task_collectives_abort(leat_task_collectives_t* c) {
  if (!c || !c->rounds) return;
  leat_status_t status = leat_make_status(LEAT_CANCELLED, "the server was stopped");
  leat_collective_leader_abort(c->leader, leat_status_clone(status));
  leat_collectives_forget(c->rounds, 0, status);
}

void leat_task_collectives_free(leat_task_collectives_t* c) {
  if (!c) return;
  leat_task_collectives_abort(c);  // rounds that have failed stay until then
  leat_collectives_release(c->rounds);
  leat_collective_leader_free(c->leader);
  leat_step_sequences_free(c->sequences);
  for (known_group_t *g = c->groups, *next; g; g = next) {
    next = g->next;
    leat_word_map_deinitialize(&g->sources);
    leat_arena_deinitialize(&g->arena);
    leat_allocator_free(c->task->allocator, g);
  }
  leat_mutex_deinitialize(&c->mutex);
  leat_allocator_free(c->task->allocator, c);
}

leat_step_numbers_t* leat_task_collectives_numbers(leat_task_collectives_t* collectives) {
  if (!collectives->has_leader) return NULL;
  return leat_step_sequences_numbers(collectives->sequences);
}

leat_step_sequences_t* leat_task_collectives_sequences(leat_task_collectives_t* collectives) {
  return collectives->sequences;
}

void leat_task_collectives_lose(leat_task_collectives_t* c, int number) {
  const leat_cluster_task_t* task = &c->task->spec.tasks[number];
  leat_collectives_lose(c->rounds, task->name,
                        leat_make_status(LEAT_UNAVAILABLE, "Task %.*s at %.*s, which takes part in "
                                         "the collective, is silent", LEAT_SV_ARG(task->name),
                                         LEAT_SV_ARG(task->address)));
}

leat_collectives_t* leat_task_collectives_rounds(leat_task_collectives_t* collectives) {
  return collectives->rounds;
}

leat_collective_leader_t* leat_task_collectives_leader(leat_task_collectives_t* collectives) {
  return collectives->leader;
}
