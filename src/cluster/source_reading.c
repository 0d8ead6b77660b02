// What the readers of sources (cluster_source.c, scheduler_source.c) have in common: the list of
// tasks that they fill, the options behind the name of a source, and the variables of the
// environment. Of Slurm and MPI a process knows its number among all and nothing of jobs, so the
// options say how many processes are of which job; they take them in the order of the numbers, and
// who is left is a worker. TensorFlow's SlurmClusterResolver does the same, so that tasks of both
// kinds which one srun started find each other. Texts are copied into the arena of the place, so
// that variables and files may change while it lives.
#include "cluster/source_reading.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/host.h"
#include "cluster/cluster_source.h"

leat_status_t leat_source_refuse(const leat_source_t* r, const char* what, leat_string_view_t value,
                                 const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading the cluster from %.*s failed: %s is '%.*s', must %s",
                          LEAT_SV_ARG(r->from), what, LEAT_SV_ARG(value), rule);
}

leat_status_t leat_source_add(leat_source_t* r, leat_string_view_t job, int index,
                              leat_string_view_t address) {
  leat_arena_t* arena = &r->place->arena;
  if (r->count == LEAT_CLUSTER_MOST_TASKS) {
    return leat_source_refuse(r, "the number of tasks", LEAT_SV("more than 65536"), "be fewer");
  }
  if (r->count == r->capacity) {
    leat_cluster_entry_t* grown;
    r->capacity = 2 * r->capacity + 16;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, r->capacity, &grown));
    for (size_t i = 0; i < r->count; ++i) grown[i] = r->entries[i];
    r->entries = grown;
  }
  leat_cluster_entry_t* entry = &r->entries[r->count++];
  entry->index = index;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, job, &entry->job));
  return leat_arena_copy_string(arena, address, &entry->address);
}

leat_string_view_t leat_source_variable(const char* name) {
  return leat_string_view_from(leat_environment_get_trusted(name));
}

// The first of the variables that is set, of which |*out_name| is the name; "" where none is.
leat_string_view_t leat_source_first_variable(const char* const* names, const char** out_name) {
  leat_string_view_t value = LEAT_SV("");
  for (*out_name = *names; *names && value.size == 0; ++names) {
    value = leat_source_variable(*names);
    if (value.size) *out_name = *names;
  }
  return value;
}

// A variable that is a number from 0 to |most|.
leat_status_t leat_source_number(const leat_source_t* r, const char* name, leat_string_view_t text,
                                 int64_t most, int* out_number) {
  int64_t number;
  char rule[64];
  snprintf(rule, sizeof rule, "be a number from 0 to %" PRId64, most);
  if (!leat_string_view_to_int64(text, &number) || number < 0 || number > most) {
    return leat_source_refuse(r, name, text, rule);
  }
  *out_number = (int)number;
  return leat_ok_status();
}

// Takes the text before the first |separator| off the front.
leat_string_view_t leat_source_take_part(leat_string_view_t* text, char separator) {
  const size_t end = leat_string_view_find(*text, separator);
  const leat_string_view_t part = {text->data, end == SIZE_MAX ? text->size : end};
  *text = leat_string_view_from_index(*text, end == SIZE_MAX ? text->size : end + 1);
  return leat_string_view_trim(part);
}

// ---- Options ------------------------------------------------------------------------------------

static leat_status_t read_option(const leat_source_t* r, leat_string_view_t name,
                                 leat_string_view_t value, leat_source_options_t* options) {
  const struct {
    const char* name;
    leat_string_view_t* text;
    int* number;
  } kNamed[] = {{"port", NULL, &options->port},       {"size", NULL, &options->size},
                {"timeout", NULL, &options->timeout_s}, {"service", &options->service, NULL},
                {"domain", &options->domain, NULL},   {"name", &options->name, NULL},
                {"folder", &options->folder, NULL},   {"run", &options->run, NULL},
                {"tasks_per_node", &options->tasks_per_node, NULL}};
  char what[64];
  snprintf(what, sizeof what, "option %.*s", LEAT_SV_ARG(name));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNamed); ++i) {
    if (!leat_string_view_equals(name, kNamed[i].name)) continue;
    if (kNamed[i].text) *kNamed[i].text = value;
    if (!kNamed[i].number) return leat_ok_status();
    return leat_source_number(r, what, value, LEAT_CLUSTER_MOST_TASKS - 1, kNamed[i].number);
  }
  if (name.size == 0 || options->count == LEAT_SOURCE_MOST_COUNTS) {
    return leat_source_refuse(r, "an option", name, "be JOB=NUMBER or NAME=VALUE");
  }
  options->counts[options->count].job = name;
  return leat_source_number(r, what, value, LEAT_CLUSTER_MOST_TASKS,
                     &options->counts[options->count++].tasks);
}

leat_status_t leat_source_options_read(const leat_source_t* r, leat_string_view_t text,
                                       leat_source_options_t* options) {
  *options = (leat_source_options_t){0};
  while (text.size > 0) {
    leat_string_view_t value = leat_source_take_part(&text, ',');
    const leat_string_view_t name = leat_source_take_part(&value, '=');
    LEAT_RETURN_IF_ERROR(read_option(r, name, value, options));
  }
  return leat_ok_status();
}

// Gives the processes at |addresses|, by number, to jobs as the options count them, and notes which
// one is process |rank|; below 0: none.
leat_status_t leat_source_deal(leat_source_t* r, const leat_source_options_t* options,
                               const leat_string_view_t* addresses, int size, int rank) {
  int next = 0;
  bool has_worker = false;
  for (int i = 0; i <= options->count; ++i) {
    const bool is_rest = i == options->count;
    const leat_string_view_t job = is_rest ? LEAT_SV("worker") : options->counts[i].job;
    int tasks = is_rest ? (has_worker ? 0 : size - next) : options->counts[i].tasks;
    has_worker |= leat_string_view_equals(job, "worker");
    if (tasks > size - next) {
      char rule[64];
      snprintf(rule, sizeof rule, "be at most %d: there are %d processes", size - next, size);
      char text[16];
      snprintf(text, sizeof text, "%d", tasks);
      return leat_source_refuse(r, "the number of tasks of a job", leat_string_view_from(text),
                                rule);
    }
    for (int k = 0; k < tasks; ++k, ++next) {
      LEAT_RETURN_IF_ERROR(leat_source_add(r, job, k, addresses[next]));
      if (next != rank) continue;
      r->place->index = k;
      LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&r->place->arena, job, &r->place->job));
    }
  }
  return leat_ok_status();
}
