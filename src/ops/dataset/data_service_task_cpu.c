// The list of tasks (ops/dataset/data_service_task_cpu.h). An answer of the dispatcher may be of
// any length, and may name a task several times: its tasks are sorted by their numbers, so that
// each listed task is found among them in a few steps, and those that are new are then added in the
// answer's order, which all consumers of a coordinated read have in common.
#include "ops/dataset/data_service_task_cpu.h"

#include <string.h>

#include "base/sort.h"

void leat_service_tasks_initialize(bool is_coordinated, leat_service_tasks_t* out_tasks) {
  *out_tasks = (leat_service_tasks_t){.is_coordinated = is_coordinated, .blocked_round = -1};
}

void leat_service_task_release(leat_service_task_t* task) {
  if (--task->references > 0) return;
  leat_service_peer_release(task->worker);
  leat_allocator_free(leat_allocator_system(), task->address);
  leat_allocator_free(leat_allocator_system(), task);
}

void leat_service_tasks_deinitialize(leat_service_tasks_t* tasks) {
  for (size_t i = 0; i < tasks->count; ++i) leat_service_task_release(tasks->items[i]);
  leat_allocator_free(leat_allocator_system(), tasks->items);
  *tasks = (leat_service_tasks_t){.blocked_round = -1};
}

// ---- What the dispatcher tells ------------------------------------------------------------------

bool leat_service_word_is(leat_string_view_t text, const char* word) {
  size_t same = 0;
  for (; same < text.size && word[same]; ++same) {
    const char c = text.data[same];
    if ((c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) != word[same]) return false;
  }
  return same == text.size && !word[same];
}

static bool is_colocated(const leat_pb_task_info_t* info) {
  for (size_t i = 0; i < info->worker_tags.count; ++i) {
    if (leat_service_word_is(info->worker_tags.items[i], "COLOCATED")) return true;
  }
  return false;
}

// Where |info|'s worker gives elements by |protocol|. Workers say which they want to be read by
// gRPC where the client has no other way.
static leat_status_t find_server(const leat_pb_task_info_t* info, leat_string_view_t protocol,
                                 leat_string_view_t* out_address) {
  const bool knows_protocol = leat_string_view_equals(protocol, "grpc");
  bool falls_back = knows_protocol, is_offered = false;
  for (size_t i = 0; i < info->transfer_servers.count; ++i) {
    const leat_pb_data_transfer_server_info_t* server = &info->transfer_servers.items[i];
    if (!leat_string_view_equal(server->protocol, protocol)) continue;
    is_offered = true;
    falls_back |= server->fall_back_to_grpc_at_client_creation_time;
  }
  for (size_t i = 0; i < info->transfer_servers.count && falls_back; ++i) {
    const leat_pb_data_transfer_server_info_t* server = &info->transfer_servers.items[i];
    *out_address = server->address;
    if (leat_string_view_equals(server->protocol, "grpc")) return leat_ok_status();
  }
  if (is_offered && !knows_protocol) {
    return leat_make_status(LEAT_NOT_FOUND,
                            "No data transfer client factory has been registered for protocol "
                            "%.*s. The available types are: [ grpc ]",
                            LEAT_SV_ARG(protocol));
  }
  return leat_make_status(LEAT_NOT_FOUND, "protocol %.*s is not available for worker %.*s",
                          LEAT_SV_ARG(protocol), LEAT_SV_ARG(info->worker_address));
}

static leat_status_t create_task(const leat_pb_task_info_t* info, leat_string_view_t protocol,
                                 leat_service_task_t** out_task) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_string_view_t address;
  leat_service_task_t* task;
  LEAT_RETURN_IF_ERROR(find_server(info, protocol, &address));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &task));
  *task = (leat_service_task_t){.references = 1,
                                .id = info->task_id,
                                .starting_round = info->starting_round,
                                .is_listed = true};
  leat_status_t status = leat_allocator_clone_string(allocator, info->worker_address.data,
                                                     info->worker_address.size, &task->address);
  if (!status) status = leat_service_peer_create(address, false, &task->worker);
  if (status) {
    leat_service_task_release(task);
    return status;
  }
  *out_task = task;
  return leat_ok_status();
}

// ---- Turns --------------------------------------------------------------------------------------

static void advance(leat_service_tasks_t* tasks) {
  if (++tasks->next < tasks->count) return;
  tasks->next = 0;
  ++tasks->round;
}

leat_service_task_t* leat_service_tasks_choose(leat_service_tasks_t* tasks, int64_t now_ns,
                                               int64_t* out_round) {
  for (size_t i = 0; i < tasks->count; ++i) {
    leat_service_task_t* task = tasks->items[tasks->next];
    const bool is_blocked = tasks->blocked_round >= 0 && tasks->round >= tasks->blocked_round;
    if (tasks->is_coordinated && (task->in_use || is_blocked)) return NULL;
    *out_round = tasks->round;
    const bool may_be_read = tasks->round >= task->starting_round && !task->in_use &&
                             !task->at_end && !task->is_removed && now_ns >= task->resumes_ns;
    advance(tasks);
    if (may_be_read) return task;
  }
  return NULL;
}

int64_t leat_service_tasks_resume_ns(const leat_service_tasks_t* tasks) {
  int64_t first_ns = LEAT_DEADLINE_NEVER;
  for (size_t i = 0; i < tasks->count; ++i) {
    const leat_service_task_t* task = tasks->items[i];
    const bool has_failed = task->failures > 0 && !task->in_use && !task->at_end;
    if (has_failed && task->resumes_ns < first_ns) first_ns = task->resumes_ns;
  }
  return first_ns;
}

void leat_service_tasks_end(leat_service_tasks_t* tasks, leat_service_task_t* task) {
  if (task->is_listed && !task->at_end) ++tasks->ended_count;
  task->at_end = true;
}

// ---- The list -----------------------------------------------------------------------------------

static void remove_task(leat_service_tasks_t* tasks, size_t index) {
  leat_service_task_t* task = tasks->items[index];
  if (task->at_end) --tasks->ended_count;
  task->is_listed = false;
  leat_service_task_release(task);
  --tasks->count;
  memmove(&tasks->items[index], &tasks->items[index + 1],
          (tasks->count - index) * sizeof *tasks->items);
  if (index < tasks->next) --tasks->next;
  if (tasks->count && tasks->next >= tasks->count) advance(tasks);
  if (!tasks->count) tasks->next = 0;
}

static leat_status_t add_task(leat_service_tasks_t* tasks, const leat_pb_task_info_t* info,
                              leat_string_view_t protocol) {
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), tasks->count + 1, &tasks->items, &tasks->capacity));
  LEAT_RETURN_IF_ERROR(create_task(info, protocol, &tasks->items[tasks->count]));
  ++tasks->count;
  return leat_ok_status();
}

// A task of the answer: its number, and where it stands.
typedef struct told_s {
  int64_t id;
  uint32_t index;
  bool is_known;  // listed, or the same as one before it
} told_t;

static bool is_before(const void* context, const void* a, const void* b) {
  const told_t *left = a, *right = b;
  return left->id != right->id ? left->id < right->id : left->index < right->index;
}

// The first of |told| with the number |id|; NULL: there is none.
static told_t* find_told(told_t* told, size_t count, int64_t id) {
  size_t begin = 0, end = count;
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (told[middle].id < id) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin < count && told[begin].id == id ? &told[begin] : NULL;
}

static void sort_told(const leat_pb_task_info_list_t* infos, told_t* told) {
  for (size_t i = 0; i < infos->count; ++i) {
    told[i] = (told_t){.id = infos->items[i].task_id, .index = (uint32_t)i};
  }
  leat_sort(told, infos->count, sizeof *told, is_before, NULL);
  for (size_t i = 1; i < infos->count; ++i) told[i].is_known = told[i].id == told[i - 1].id;
}

leat_status_t leat_service_tasks_update(leat_service_tasks_t* tasks,
                                        const leat_pb_client_heartbeat_response_t* response,
                                        leat_string_view_t protocol, bool leaves_colocated) {
  const leat_pb_task_info_list_t* infos = &response->task_info;
  told_t* told;
  bool* is_new;
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, infos->count + 1, &told));
  leat_status_t status = LEAT_ALLOCATE(allocator, infos->count + 1, &is_new);
  if (status) {
    leat_allocator_free(allocator, told);
    return status;
  }
  sort_told(infos, told);
  for (size_t i = 0; i < tasks->count;) {
    told_t* found = find_told(told, infos->count, tasks->items[i]->id);
    if (found) {
      found->is_known = true;
      ++i;
    } else {
      remove_task(tasks, i);
    }
  }
  for (size_t i = 0; i < infos->count; ++i) is_new[told[i].index] = !told[i].is_known;
  for (size_t i = 0; i < infos->count && !status; ++i) {
    if (!is_new[i]) continue;
    if (leaves_colocated && is_colocated(&infos->items[i])) {
      tasks->leaves_some_out = true;
    } else {
      status = add_task(tasks, &infos->items[i], protocol);
    }
  }
  leat_allocator_free(allocator, is_new);
  leat_allocator_free(allocator, told);
  return status;
}
