// Reads descriptions of clusters and finds tasks in them. Tasks are kept in one list, ordered by
// job and index, in which a task's place is its number: all rooms of the cluster speak of tasks by
// that number. There are few, so that names are compared one after the other. Names of jobs and
// addresses come from users and peers, hence both are checked here, once, and nobody checks them
// again.
#include "cluster/cluster_spec.h"

#include <ctype.h>
#include <stdlib.h>

static bool is_job_name(leat_string_view_t name) {
  if (name.size == 0 || !isalpha((unsigned char)name.data[0])) return false;
  for (size_t i = 0; i < name.size; ++i) {
    const unsigned char c = (unsigned char)name.data[i];
    if (!isalnum(c) && c != '_' && c != '-') return false;
  }
  return true;
}

static bool has_port(leat_string_view_t address) {
  const size_t colon = leat_string_view_find_last(address, ':');
  int64_t port;
  return colon != SIZE_MAX && colon > 0 &&
         leat_string_view_to_int64(leat_string_view_from_index(address, colon + 1), &port) &&
         port >= 0 && port <= 65535;
}

static leat_status_t add_task(leat_cluster_spec_t* spec, leat_string_view_t job, int index,
                              leat_string_view_t address) {
  leat_cluster_task_t* task = &spec->tasks[spec->task_count++];
  task->index = index;
  if (index < 0 || !has_port(address)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Reading a cluster failed: task %d of job '%.*s' has the address "
                            "'%.*s', must be a number >= 0 with 'host:port'",
                            index, LEAT_SV_ARG(job), LEAT_SV_ARG(address));
  }
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&spec->arena, job, &task->job));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&spec->arena, address, &task->address));
  return leat_arena_print(&spec->arena, &task->name, "/job:%.*s/replica:0/task:%d",
                          LEAT_SV_ARG(job), index);
}

static int compare_tasks(const void* a, const void* b) {
  const leat_cluster_task_t *x = a, *y = b;
  const int order = leat_string_view_compare(x->job, y->job);
  return order ? order : (x->index > y->index) - (x->index < y->index);
}

static leat_status_t check_names(const leat_cluster_spec_t* spec) {
  for (int i = 1; i < spec->task_count; ++i) {
    if (compare_tasks(&spec->tasks[i - 1], &spec->tasks[i]) != 0) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Reading a cluster failed: '%.*s' is there twice, must be once",
                            LEAT_SV_ARG(spec->tasks[i].name));
  }
  return leat_ok_status();
}

static leat_status_t read_jobs(const leat_pb_cluster_def_t* cluster, leat_cluster_spec_t* spec) {
  size_t count = 0;
  for (size_t i = 0; i < cluster->job.count; ++i) count += cluster->job.items[i].tasks.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&spec->arena, count + 1, &spec->tasks));
  for (size_t i = 0; i < cluster->job.count; ++i) {
    const leat_pb_job_def_t* job = &cluster->job.items[i];
    if (!is_job_name(job->name)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Reading a cluster failed: a job is named '%.*s', must be a letter "
                              "and then letters, digits, '_' and '-'",
                              LEAT_SV_ARG(job->name));
    }
    for (size_t k = 0; k < job->tasks.count; ++k) {
      LEAT_RETURN_IF_ERROR(
          add_task(spec, job->name, job->tasks.items[k].key, job->tasks.items[k].value));
    }
  }
  qsort(spec->tasks, (size_t)spec->task_count, sizeof *spec->tasks, compare_tasks);
  return check_names(spec);
}

leat_status_t leat_cluster_spec_of(const leat_pb_cluster_def_t* cluster,
                                   leat_allocator_t* allocator, leat_cluster_spec_t* out_spec) {
  *out_spec = (leat_cluster_spec_t){0};
  leat_arena_initialize(allocator, 0, &out_spec->arena);
  leat_status_t status = read_jobs(cluster, out_spec);
  if (status) leat_cluster_spec_deinitialize(out_spec);
  return status;
}

void leat_cluster_spec_deinitialize(leat_cluster_spec_t* spec) {
  leat_arena_deinitialize(&spec->arena);
  *spec = (leat_cluster_spec_t){0};
}

int leat_cluster_spec_find(const leat_cluster_spec_t* spec, leat_string_view_t job, int index) {
  for (int i = 0; i < spec->task_count; ++i) {
    if (spec->tasks[i].index == index && leat_string_view_equal(spec->tasks[i].job, job)) return i;
  }
  return -1;
}

int leat_cluster_spec_find_name(const leat_cluster_spec_t* spec, leat_string_view_t name) {
  for (int i = 0; i < spec->task_count; ++i) {
    if (leat_string_view_equal(name, spec->tasks[i].name)) return i;
  }
  return -1;
}

int leat_cluster_spec_find_device(const leat_cluster_spec_t* spec, leat_string_view_t device) {
  for (int i = 0; i < spec->task_count; ++i) {
    const leat_string_view_t name = spec->tasks[i].name;
    if (device.size > name.size && device.data[name.size] == '/' &&
        leat_string_view_starts_with(device, name)) {
      return i;
    }
  }
  return -1;
}
