// Prints what leat_cluster_doctor_json found: a block for each task, with its version and the
// latency, bandwidth and clock seen from here, and a table of the ways from each task to each other
// one. The library measures and this file only shows. A figure that is missing is left out, since a
// task that is TensorFlow's answers fewer questions. The exit code tells scripts whether every task
// was reached.
#include "doctor_cluster.h"

#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "command.h"
#include "json.h"
#include "leat/cluster.h"

// Prints "name value" where the member is there.
static void print_line(const json_t* way, const char* name, const char* label, const char* unit) {
  const char* text = json_text(way, name);
  if (*text) printf("  %-26s %s%s\n", label, text, unit);
}

static void print_way(const json_t* way) {
  print_line(way, "latency_min_us", "latency, least", " us");
  print_line(way, "latency_median_us", "latency, median", " us");
  print_line(way, "clock_offset_us", "clock ahead by", " us");
  print_line(way, "upload_mb_per_s", "bandwidth there", " MB/s");
  print_line(way, "download_mb_per_s", "bandwidth back", " MB/s");
}

// Returns whether the task was reached.
static bool print_task(const json_t* task) {
  const bool is_reached = json_truth(task, "reachable");
  const char* version = json_text(task, "version");
  printf("%s%s%s at %s\n", style_bold(stdout), json_text(task, "task"), style_end(stdout),
         json_text(task, "address"));
  if (!is_reached) {
    printf("  %scannot be reached%s: %s: %s\n", style_red(stdout), style_end(stdout),
           json_text(task, "code"), json_text(task, "message"));
  }
  if (is_reached || *json_text(task, "latency_min_us")) {
    printf("  %-26s %s\n", "version", *version ? version : "not Leat (TensorFlow, perhaps)");
  }
  print_line(task, "answers_as", "was started as", "");
  const json_t* incarnations = json_member(task, "incarnations");
  for (const json_t* item = incarnations ? incarnations->first : NULL; item; item = item->next) {
    printf("  %-26s %s\n", "incarnation", item->text);
  }
  print_way(task);
  return is_reached;
}

static bool print_pair(const json_t* pair) {
  const bool is_reached = json_truth(pair, "reachable");
  printf("%s%s -> %s%s\n", style_bold(stdout), json_text(pair, "from"), json_text(pair, "to"),
         style_end(stdout));
  if (!is_reached) {
    printf("  %scannot be reached%s: %s: %s\n", style_red(stdout), style_end(stdout),
           json_text(pair, "code"), json_text(pair, "message"));
  }
  print_way(pair);
  return is_reached;
}

// Prints each item of the list. Returns whether all were reached.
static bool print_list(const json_t* report, const char* name, bool (*print)(const json_t* item),
                       bool is_shown) {
  bool all_reached = true;
  const json_t* list = json_member(report, name);
  for (const json_t* item = list ? list->first : NULL; item; item = item->next) {
    const bool is_reached = is_shown ? print(item) : json_truth(item, "reachable");
    all_reached = all_reached && is_reached;
  }
  return all_reached;
}

static int show(const doctor_cluster_t* options, const TF_Buffer* text) {
  json_t* report = json_parse(text->data, text->length);
  if (!report) return complain("the report cannot be read");
  if (options->as_json) fwrite(text->data, 1, text->length, stdout);
  bool all_reached = print_list(report, "tasks", print_task, !options->as_json);
  all_reached = print_list(report, "pairs", print_pair, !options->as_json) && all_reached;
  json_free(report);
  return all_reached ? EXIT_OK : EXIT_FAILED;
}

int doctor_cluster(const doctor_cluster_t* options) {
  cluster_place_t place;
  int code = cluster_place_read("doctor", options->cluster, &place);
  if (code != EXIT_OK) return code;
  TF_Status* status = TF_NewStatus();
  TF_Buffer* text = leat_cluster_doctor_json(place.cluster_def->data, place.cluster_def->length,
                                             (int64_t)options->load_mb << 20,
                                             (int64_t)options->timeout_s * 1000,
                                             options->probes_pairs, status);
  code = text ? show(options, text) : complain_status("doctor", status);
  TF_DeleteBuffer(text);
  TF_DeleteStatus(status);
  cluster_place_free(&place);
  return code;
}
