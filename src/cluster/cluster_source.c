// Reads the sources of clusters (cluster_source.h). A source is a text: either the cluster itself,
// "ps=a:2222;worker=b:2222,c:2222", or the name of who knows it, with options, "slurm:ps=1". The
// first '=' or ':' tells the two apart, since no job's name has a ':'.
//
//   source ─▶ who knows it ─▶ list of (job, index, address) ─▶ ClusterDef, and which of them we are
//
// Without a source this process is asked who started it. TF_CONFIG goes first, since somebody set
// it for this very program; mpirun goes before Slurm, in whose jobs it may run, and then it is
// mpirun that numbers the processes. A StatefulSet gives its pods names that are known beforehand,
// "worker-0.leat", so nobody needs to ask Kubernetes for addresses. Variables come from whoever
// started the process, and files from users; each is named in the message where it is not what it
// must be. JSON is read as it comes, and of TF_CONFIG what is not about the cluster is passed over.
#include "cluster/cluster_source.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/file_system.h"
#include "base/host.h"
#include "cluster/source_reading.h"
#include "formats/wire/json.h"
#include "formats/wire/json_scanner.h"

typedef leat_source_t reading_t;

// ---- Text ---------------------------------------------------------------------------------------

#define TEXT_RULE "be like 'ps=a:2222;worker=b:2222,c:2222'"

static int tasks_of(const reading_t* r, leat_string_view_t job) {
  int tasks = 0;
  for (size_t i = 0; i < r->count; ++i) tasks += leat_string_view_equal(r->entries[i].job, job);
  return tasks;
}

// Jobs are separated by ';' or line ends, and a '#' begins a comment. A job that comes again goes
// on.
static leat_status_t read_text(reading_t* r, leat_string_view_t text) {
  const leat_string_view_t all = text;
  leat_string_view_t line;
  while (leat_string_view_take_line(&text, &line)) {
    line = leat_source_take_part(&line, '#');
    while (line.size > 0) {
      leat_string_view_t addresses = leat_source_take_part(&line, ';');
      if (addresses.size == 0) continue;
      const leat_string_view_t whole = addresses, job = leat_source_take_part(&addresses, '=');
      int index = tasks_of(r, job);
      if (job.size == 0 || addresses.size == 0) {
        return leat_source_refuse(r, "a job", whole, TEXT_RULE);
      }
      while (addresses.size > 0) {
        const leat_string_view_t address = leat_source_take_part(&addresses, ',');
        if (address.size == 0) return leat_source_refuse(r, "a job", whole, TEXT_RULE);
        LEAT_RETURN_IF_ERROR(leat_source_add(r, job, index++, address));
      }
    }
  }
  return r->count ? leat_ok_status() : leat_source_refuse(r, "it", all, TEXT_RULE);
}

// ---- JSON ---------------------------------------------------------------------------------------

static leat_status_t read_index(reading_t* r, leat_json_scanner_t* s, int* out_index) {
  leat_string_view_t text;
  LEAT_RETURN_IF_ERROR(leat_json_take_number(s, &text));
  return leat_source_number(r, "the index of a task", text, INT32_MAX, out_index);
}

// Reads the tasks of one job: a list of addresses, or an object from indices to addresses.
static leat_status_t read_job(reading_t* r, leat_json_scanner_t* s, leat_string_view_t job) {
  const bool is_list = leat_json_take(s, '[');
  const char close = is_list ? ']' : '}';
  if (!is_list && !leat_json_take(s, '{')) {
    return leat_json_broken(s, "a list of addresses, or an object of them, is expected");
  }
  if (leat_json_take(s, close)) return leat_ok_status();
  int index = 0;
  do {
    if (!is_list) {
      LEAT_RETURN_IF_ERROR(read_index(r, s, &index));
      if (!leat_json_take(s, ':')) return leat_json_broken(s, "':' is expected");
    }
    LEAT_RETURN_IF_ERROR(leat_json_take_string(s));
    LEAT_RETURN_IF_ERROR(leat_source_add(r, job, index++, leat_string_builder_view(&s->text)));
  } while (leat_json_take(s, ','));
  return leat_json_take(s, close) ? leat_ok_status() : leat_json_broken(s, "',' is expected");
}

// What reads the value of the member |name| of an object.
typedef leat_status_t (*read_member_fn_t)(reading_t* r, leat_json_scanner_t* s,
                                          leat_string_view_t name);

static leat_status_t read_object(reading_t* r, leat_json_scanner_t* s, read_member_fn_t read) {
  if (!leat_json_take(s, '{')) return leat_json_broken(s, "'{' is expected");
  if (leat_json_take(s, '}')) return leat_ok_status();
  do {
    leat_string_view_t name;
    LEAT_RETURN_IF_ERROR(leat_json_take_string(s));
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(
        &r->place->arena, leat_string_builder_view(&s->text), &name));
    if (!leat_json_take(s, ':')) return leat_json_broken(s, "':' is expected");
    LEAT_RETURN_IF_ERROR(read(r, s, name));
  } while (leat_json_take(s, ','));
  return leat_json_take(s, '}') ? leat_ok_status() : leat_json_broken(s, "'}' is expected");
}

static leat_status_t read_job_member(reading_t* r, leat_json_scanner_t* s,
                                     leat_string_view_t name) {
  return read_job(r, s, name);
}

static leat_status_t read_task_member(reading_t* r, leat_json_scanner_t* s,
                                      leat_string_view_t name) {
  leat_cluster_place_t* place = r->place;
  if (leat_string_view_equals(name, "index")) {  // of no task of the cluster, too: a server says so
    leat_string_view_t text;
    int64_t index;
    LEAT_RETURN_IF_ERROR(leat_json_take_number(s, &text));
    if (!leat_string_view_to_int64(text, &index) || index != (int32_t)index) {
      return leat_source_refuse(r, "the index of this task", text, "be a number");
    }
    place->index = (int)index;
    return leat_ok_status();
  }
  if (!leat_string_view_equals(name, "type")) return leat_json_skip_value(s);
  LEAT_RETURN_IF_ERROR(leat_json_take_string(s));
  return leat_arena_copy_string(&place->arena, leat_string_builder_view(&s->text), &place->job);
}

static leat_status_t read_config_member(reading_t* r, leat_json_scanner_t* s,
                                        leat_string_view_t name) {
  if (leat_string_view_equals(name, "cluster")) return read_object(r, s, read_job_member);
  if (leat_string_view_equals(name, "task")) return read_object(r, s, read_task_member);
  return leat_json_skip_value(s);
}

static leat_status_t read_json(reading_t* r, leat_string_view_t text, read_member_fn_t read) {
  leat_json_scanner_t scanner;
  leat_json_scanner_initialize(text, leat_allocator_system(), &scanner);
  leat_status_t status = read_object(r, &scanner, read);
  leat_json_peek(&scanner);
  if (!status && scanner.next != scanner.end) status = leat_json_broken(&scanner, "more text");
  leat_json_scanner_deinitialize(&scanner);
  return leat_status_annotate(status, "Reading the cluster from %.*s failed",
                              LEAT_SV_ARG(r->from));
}

static leat_status_t read_tf_config(reading_t* r) {
  const leat_string_view_t text = leat_source_variable("TF_CONFIG");
  if (text.size) LEAT_RETURN_IF_ERROR(read_json(r, text, read_config_member));
  if (r->count) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND,
                          "Reading the cluster from TF_CONFIG failed: it %s, must be a JSON object "
                          "with a 'cluster'", text.size ? "has no cluster" : "is not set");
}

// A file: text as above, TF_CONFIG's object, or what that has as its "cluster".
static leat_status_t read_file(reading_t* r, leat_string_view_t path) {
  char* text;
  size_t size;
  LEAT_RETURN_IF_ERROR(leat_arena_print(&r->place->arena, &r->from, "%.*s", LEAT_SV_ARG(path)));
  LEAT_RETURN_IF_ERROR(leat_file_read_all(leat_file_system_default(), r->from.data,
                                          leat_allocator_system(), &text, &size));
  const leat_string_view_t whole = leat_string_view_make(text, size);
  leat_status_t status = leat_ok_status();
  if (leat_string_view_starts_with(leat_string_view_trim(whole), LEAT_SV("{"))) {
    status = read_json(r, whole, read_config_member);
    if (!status && r->count == 0) status = read_json(r, whole, read_job_member);
    if (!status && r->count == 0) status = leat_source_refuse(r, "it", LEAT_SV("{}"), "name tasks");
  } else {
    status = read_text(r, whole);
  }
  leat_allocator_free(leat_allocator_system(), text);
  return status;
}

// ---- Kubernetes ---------------------------------------------------------------------------------

enum { KUBERNETES_PORT = 2222 };

// The pods of StatefulSets with a headless service: "worker-0.leat:2222". The name of a set is that
// of its job behind |name|; |domain| is what comes behind the service, where pods of other
// namespaces are to find it.
static leat_status_t read_kubernetes(reading_t* r, leat_string_view_t text) {
  static const char* const kPod[] = {"POD_NAME", "HOSTNAME", NULL};
  const char* pod_variable;
  leat_source_options_t options;
  LEAT_RETURN_IF_ERROR(leat_source_options_read(r, text, &options));
  const leat_string_view_t own = leat_source_first_variable(kPod, &pod_variable);
  if (options.service.size == 0 || options.count == 0) {
    return leat_source_refuse(r, "it", text, "be like 'ps=1,worker=2,service=NAME'");
  }
  for (int i = 0; i < options.count; ++i) {
    const leat_string_view_t job = options.counts[i].job;
    for (int k = 0; k < options.counts[i].tasks; ++k) {
      leat_string_view_t pod, address;
      LEAT_RETURN_IF_ERROR(leat_arena_print(&r->place->arena, &pod, "%.*s%.*s-%d",
                                            LEAT_SV_ARG(options.name), LEAT_SV_ARG(job), k));
      LEAT_RETURN_IF_ERROR(leat_arena_print(
          &r->place->arena, &address, "%.*s.%.*s%s%.*s:%d", LEAT_SV_ARG(pod),
          LEAT_SV_ARG(options.service), options.domain.size ? "." : "",
          LEAT_SV_ARG(options.domain), options.port ? options.port : KUBERNETES_PORT));
      LEAT_RETURN_IF_ERROR(leat_source_add(r, job, k, address));
      if (!leat_string_view_equal(pod, own)) continue;
      r->place->job = r->entries[r->count - 1].job;
      r->place->index = k;
    }
  }
  return leat_ok_status();
}

// ---- Sources ------------------------------------------------------------------------------------

static leat_status_t read_tf_config_source(reading_t* r, leat_string_view_t options) {
  if (options.size) return leat_source_refuse(r, "an option", options, "not be there");
  return read_tf_config(r);
}

static const struct {
  const char *name, *whose;
  leat_status_t (*read)(reading_t* r, leat_string_view_t options);
} kSources[] = {{"tf_config", "TF_CONFIG", read_tf_config_source},
                {"slurm", "Slurm", leat_source_read_slurm},
                {"mpi", "MPI", leat_source_read_mpi},
                {"kubernetes", "Kubernetes", read_kubernetes},
                {"file", "a file", read_file}};

static leat_status_t read_named(reading_t* r, leat_string_view_t name, leat_string_view_t options) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSources); ++i) {
    if (!leat_string_view_equals(name, kSources[i].name)) continue;
    r->from = leat_string_view_from(kSources[i].whose);
    return kSources[i].read(r, options);
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading a cluster failed: its source is '%.*s', must be "
                          "JOB=HOST:PORT,...;JOB=..., tf_config, slurm, mpi, kubernetes:... or "
                          "file:PATH", LEAT_SV_ARG(name));
}

static leat_status_t read_source(reading_t* r, leat_string_view_t source) {
  if (source.size == 0) {
    const char* found = leat_source_variable("TF_CONFIG").size ? "tf_config"
                        : leat_source_is_mpirun()              ? "mpi"
                        : leat_source_is_slurm()               ? "slurm"
                                                               : NULL;
    if (found) return read_named(r, leat_string_view_from(found), LEAT_SV(""));
    return leat_make_status(LEAT_NOT_FOUND,
                            "Reading a cluster failed: nobody names one: TF_CONFIG is not set, and "
                            "neither mpirun nor Slurm started this process");
  }
  size_t end = 0;
  while (end < source.size && source.data[end] != '=' && source.data[end] != ':') ++end;
  if (end < source.size && source.data[end] == '=') {
    r->from = LEAT_SV("its text");
    return read_text(r, source);
  }
  return read_named(r, leat_string_view_make(source.data, end),
                    leat_string_view_from_index(source, end + 1));
}

// Makes the ClusterDef; jobs come in the order in which they were first named.
static leat_status_t make_cluster(const reading_t* r, leat_cluster_place_t* place) {
  leat_pb_job_def_t* jobs;
  size_t count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&place->arena, r->count + 1, &jobs));
  for (size_t i = 0; i < r->count; ++i) {
    const leat_cluster_entry_t* entry = &r->entries[i];
    size_t k = 0;
    while (k < count && !leat_string_view_equal(jobs[k].name, entry->job)) ++k;
    if (k == count) {
      jobs[count++].name = entry->job;
      LEAT_RETURN_IF_ERROR(LEAT_NEW(&place->arena, (size_t)tasks_of(r, entry->job),
                                    &jobs[k].tasks.items));
    }
    jobs[k].tasks.items[jobs[k].tasks.count++] =
        (leat_pb_job_def_tasks_entry_t){.key = entry->index, .value = entry->address};
  }
  place->cluster = (leat_pb_cluster_def_t){.job = {jobs, count}};
  return leat_ok_status();
}

leat_status_t leat_cluster_place_initialize(leat_string_view_t source,
                                            leat_cluster_place_t* out_place) {
  *out_place = (leat_cluster_place_t){.job = LEAT_SV("")};
  leat_arena_initialize(leat_allocator_system(), 0, &out_place->arena);
  reading_t reading = {.place = out_place};
  leat_status_t status = read_source(&reading, source);
  if (!status) status = make_cluster(&reading, out_place);
  if (status) leat_cluster_place_deinitialize(out_place);
  return status;
}

void leat_cluster_place_deinitialize(leat_cluster_place_t* place) {
  leat_arena_deinitialize(&place->arena);
  *place = (leat_cluster_place_t){0};
}

void leat_cluster_print_config(const leat_pb_cluster_def_t* cluster, leat_string_view_t job,
                               int index, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV("{\"cluster\": {"));
  for (size_t i = 0; i < cluster->job.count; ++i) {
    const leat_pb_job_def_t* one = &cluster->job.items[i];
    bool is_list = true;  // the indices are 0, 1, 2
    for (size_t k = 0; k < one->tasks.count; ++k) is_list &= one->tasks.items[k].key == (int)k;
    if (i > 0) leat_string_builder_append(out, LEAT_SV(", "));
    leat_json_append_string(out, one->name);
    leat_string_builder_append(out, is_list ? LEAT_SV(": [") : LEAT_SV(": {"));
    for (size_t k = 0; k < one->tasks.count; ++k) {
      if (k > 0) leat_string_builder_append(out, LEAT_SV(", "));
      if (!is_list) leat_string_builder_print(out, "\"%d\": ", one->tasks.items[k].key);
      leat_json_append_string(out, one->tasks.items[k].value);
    }
    leat_string_builder_append_char(out, is_list ? ']' : '}');
  }
  leat_string_builder_append_char(out, '}');
  if (job.size) {
    leat_string_builder_append(out, LEAT_SV(", \"task\": {\"type\": "));
    leat_json_append_string(out, job);
    leat_string_builder_print(out, ", \"index\": %d}", index);
  }
  leat_string_builder_append_char(out, '}');
}
